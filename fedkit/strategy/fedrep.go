package strategy

import (
	"cmp"
	"fmt"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"github.com/gomlx/gomlx/core/graph"
)

// FedRep is federated representation learning (Collins et al., arXiv 2102.07078, Algorithm 1): clients share
// a body φ, and each has its own head h_i. A client of S first trains its head on the body it receives, then the body
// under that head, and returns only the body,
//
//	h_i ← epochs on f_i(φ, h_i),  φ fixed
//	φ_i ← epochs on f_i(φ, h_i),  h_i fixed
//	φ   ← Σ_{i∈S} (n_i/N) φ_i.
//
// A client that never took part has the initial head. X is [1, d]; W [M, d] has every client's model after its last
// round, of which only the head is used. Only the body travels. Identities: with an empty head it is FedAvg. If the head
// is the whole model, the default for a model of one layer, nothing is shared, which is LocalOnly.
type FedRep struct {
	Head       []string          // its layers, as in Task.Mask; default that of the last parameter, []string{} for none
	HeadEpochs int               `range:"[1,inf)" default:"those of Local"` // of the head per round
	Local      fedkit.Local      // B, η, and E of the body
	Fraction   float64           // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector   // who takes part; default uniformly at random
	Aggregator fedkit.Aggregator // of the bodies; default aggregate.Mean
	State      struct{ X, W *fedkit.Matrix }
}

// Check implements fedkit.Checker.
func (s *FedRep) Check(fed *fedkit.Federation, _ int) error {
	if err := fed.Fits("clients", fed.Size(), float64(fed.Size())); err != nil {
		return err
	}
	if _, err := s.mask(fed.Task); err != nil {
		return fmt.Errorf("option Head: %w", err)
	}
	return nil
}

// mask returns 1 for the parameters of the head and 0 for those of the body, [d].
func (s *FedRep) mask(t *fedkit.Task) ([]float32, error) {
	if s.Head != nil {
		return t.Mask(s.Head...)
	}
	last := t.Params[len(t.Params)-1].Name
	if slash := strings.LastIndex(last, "/"); slash > 0 {
		last = last[:slash]
	}
	return t.Mask(last)
}

// split returns the masks of head and body, [1, d], and the head's share of the parameters.
func (s *FedRep) split(r *fedkit.Round) (head, body *fedkit.Matrix, share float64) {
	h, err := s.mask(r.Fed.Task)
	r.Fail(err)
	b := make([]float32, len(h))
	for i, v := range h {
		b[i] = 1 - v
		share += float64(v) / float64(len(h))
	}
	return fedkit.NewMatrix(h, 1, len(h)), fedkit.NewMatrix(b, 1, len(h)), share
}

// Start draws one model and gives its head to every client.
func (s *FedRep) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	s.State.W = s.State.X.Take(make([]int, r.Clients())...)
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedRep) Round(r *fedkit.Round) error {
	aggregator := cmp.Or[fedkit.Aggregator](s.Aggregator, aggregate.Mean{})
	S := r.Select(s.Selector, s.Fraction)
	head, body, share := s.split(r)
	start := s.State.X.Apply(withHead, s.State.W.Take(S...), head)
	if share > 0 {
		local := s.Local.WithDefaults()
		if s.HeadEpochs > 0 {
			local.Epochs, local.Steps = s.HeadEpochs, 0
		}
		h := r.Train(fedkit.Job{Clients: S, Start: start, Local: local, Mask: head})
		r.Traffic(-float64(len(S)), -float64(len(S))) // heads stay with the clients
		S, start = h.Clients(), h.Models
	}
	u := r.Train(fedkit.Job{Clients: S, Start: start, Local: s.Local, Mask: body})
	r.Traffic(-share*float64(len(S)), -share*float64(len(S))) // only bodies travel
	s.State.W = s.State.W.Put(u.Clients(), u.Models)
	// The server sees no heads: an aggregator that compares clients sees the same one everywhere.
	s.State.X = aggregator.Aggregate(u.Models.Apply(withHead, s.State.X, head), u.Examples())
	return r.Err()
}

// withHead gives the bodies of a, [n, d] or [1, d], the heads of b, [1, d] or [n, d], where the mask [1, d] is 1.
var withHead = fedkit.NewProgram("with head", func(a []*graph.Node) *graph.Node {
	n, d := max(a[0].Shape().Dim(0), a[1].Shape().Dim(0)), a[0].Shape().Dim(1)
	for i := range a {
		a[i] = graph.BroadcastToDims(a[i], n, d)
	}
	return graph.Where(graph.GreaterThan(a[2], graph.ZerosLike(a[2])), a[1], a[0])
})

// Serve gives every client the body with its own head.
func (s *FedRep) Serve(r *fedkit.Round) fedkit.Serving {
	head, _, _ := s.split(r)
	return fedkit.Serving{Models: s.State.X.Apply(withHead, s.State.W, head), Assign: r.Everyone()}
}

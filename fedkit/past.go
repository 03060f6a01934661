package fedkit

import (
	"slices"

	"github.com/gomlx/gomlx/core/graph"
)

// ClientHistory is what the server knows of one client from the rounds so far (seed 004 §4): how selectors rank clients
// and how μ adapts to them. The lists have an entry for every round the client took part in, oldest first. It is made
// from the History, so it survives a resume.
type ClientHistory struct {
	Examples   int       // n_i, training examples
	Rounds     []int     // in which it took part
	Divergence []float64 // ‖w_i − start‖₂
	Loss       []float64 // mean training loss over the local steps
	Mu         []float64 // effective μ_i, 0 where the objective had no proximal term
	Similarity []float64 // cosine of Δ_i and the round's mean Δ, 0 where no selector used it
}

// Times returns how often the client took part.
func (h *ClientHistory) Times() int { return len(h.Rounds) }

// SimilarityUser is a selector that may use ClientHistory.Similarity, which is worked out only where it is used.
type SimilarityUser interface {
	UsesSimilarity() bool
}

// past is the history of every client, grown round by round.
type past struct {
	clients []ClientHistory
	assign  []int // the last known clusters
}

func newPast(fed *Federation) *past {
	p := &past{clients: make([]ClientHistory, fed.Size())}
	for i := range p.clients {
		p.clients[i].Examples = len(fed.Clients[i].Train)
	}
	return p
}

func (p *past) add(r *Record) {
	for j, c := range r.Selected {
		if slices.Contains(r.Skipped, c) {
			continue
		}
		entry := func(list []Float) float64 {
			if list == nil {
				return 0
			}
			return float64(list[j])
		}
		h := &p.clients[c]
		h.Rounds = append(h.Rounds, r.Round)
		h.Divergence = append(h.Divergence, entry(r.Divergence))
		h.Loss = append(h.Loss, entry(r.TrainLoss))
		h.Mu = append(h.Mu, entry(r.Mu))
		h.Similarity = append(h.Similarity, entry(r.Similarity))
	}
	if r.Assign != nil {
		p.assign = r.Assign
	}
}

// Past returns what is known of a client from the rounds before this one; it must not be changed.
func (r *Round) Past(client int) *ClientHistory { return &r.past.clients[client] }

// Clusters returns the cluster of each client, [M], as the strategy last served them (Serving.Clusters at the last
// evaluation); nil where it does not cluster or was not evaluated yet. It must not be changed.
func (r *Round) Clusters() []int { return r.past.assign }

// likeMean is the cosine of every row and the mean of the rows; 0 for a row or a mean of zeros.
var likeMean = NewProgram("like mean", func(a []*graph.Node) *graph.Node {
	mean := graph.ReduceAndKeep(a[0], graph.ReduceMean, 0)
	inner := graph.ReduceSum(graph.Mul(a[0], mean), 1)
	lengths := graph.Sqrt(graph.Mul(graph.ReduceSum(graph.Square(a[0]), 1), graph.ReduceAllSum(graph.Square(mean))))
	tiny := graph.Scalar(lengths.Graph(), lengths.DType(), 1e-30)
	return graph.Div(inner, graph.Max(lengths, tiny))
})

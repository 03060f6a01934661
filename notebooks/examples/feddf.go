package examples

import (
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
	. "github.com/gomlx/gomlx/core/graph"
)

// FedDF fuses the clients' models by distillation at the server (Lin et al., arXiv 2006.07242, Algorithm 1): their mean is a
// student of their ensemble, on inputs without labels that the server holds,
//
//	x ← Σ_{i∈S} (n_i/N) w_i, then steps on KL(softmax(mean over i∈S of the logits of w_i) ‖ softmax(logits of x)).
//
// The federation must be made by fedkit.Federation.WithServer. x is [1, d]. In the paper, the server takes up to 10⁴ steps of Adam
// with η = 10⁻³. Identity: with one client per round and SGD, it is FedAvg, since the student is the teacher.
type FedDF struct {
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η
	Distill  fedkit.Local // the server's solver
	strategy.State
}

// Check implements fedkit.Checker.
func (s *FedDF) Check(fed *fedkit.Federation, _ int) error {
	if fed != nil && fed.Server == nil {
		return fedkit.Invalid("Federation.Server", "nil", "set by fedkit.Federation.WithServer")
	}
	return labeled(fed, "a teacher's outputs are logits")
}

// Round implements fedkit.Strategy.
func (s *FedDF) Round(r *fedkit.Round) error {
	u := r.Train(fedkit.Job{Clients: r.Select(nil, s.Fraction), Start: s.X, Local: s.Local})
	rows := r.Fed.Server.Clients[0].Train
	teacher := make([]float32, len(rows)*r.Fed.Data.Classes) // mean logits of each example
	for _, p := range r.Predict(u.Models, datasets.TrainPart, rows) {
		for i, v := range slices.Concat(p.Outputs...) {
			teacher[i] += v / float32(len(u.Results))
		}
	}
	s.X = r.TrainServer(fedkit.Job{Start: u.Models.Mean(u.Examples()), Local: s.Distill, Objective: ensemble{},
		PerExample: map[string][][]float32{"teacher": {teacher}}}).Models
	return r.Err()
}

type ensemble struct{}

// Loss implements fedkit.Objective.
func (ensemble) Loss(b *fedkit.Batch) *Node {
	teacher, student := LogSoftmax(b.PerExample("teacher"), -1), LogSoftmax(b.Out, -1)
	return ReduceSum(Mul(Exp(teacher), Sub(teacher, student)), -1)
}

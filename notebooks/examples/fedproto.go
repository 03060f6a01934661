package examples

import (
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
)

// FedProto shares each class's mean features, instead of models (Tan et al., arXiv 2105.00243, Algorithm 1). With f features z:
//
//	w_i ← epochs on task's loss + λ/f ‖z − c_y‖²,  c_y ← mean of z over all examples of class y in S, under their clients' w_i
//
// A class that S lacks keeps its c_y; without one, the second term is 0. Identity: with λ = 0 it is LocalOnly.
type FedProto struct {
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η
	Lambda   float64      `range:"[0,inf)" default:"1"` // λ, weight of the distance to the prototype
	Layer    string       // whose outputs are the features; default: Task.Features, the input of the last layer
	State    struct {
		W *fedkit.Matrix // w_i, [M, d]
		C []float32      // by class, c_y and 1, or zeros if it has none yet, [classes · (f+1)]
	}
}

// Check implements fedkit.Checker.
func (s *FedProto) Check(fed *fedkit.Federation, _ int) error {
	return labeled(fed, "prototypes are means by class")
}

// Start draws one model for all.
func (s *FedProto) Start(r *fedkit.Round) error {
	s.State.W = r.Models(1).Repeat(r.Clients())
	for _, p := range r.Features(s.State.W.Take(0), s.Layer, datasets.TrainPart, []int{0}) {
		s.State.C = make([]float32, r.Fed.Data.Classes*(len(p.Outputs[0])+1))
	}
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedProto) Round(r *fedkit.Round) error {
	S, classes := r.Select(nil, s.Fraction), r.Fed.Data.Classes
	r.Send([]int{fedkit.Cloud}, S, float64(len(s.State.C))/float64(s.State.W.Cols()))
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.W.Take(S...), Local: s.Local, StayLocal: true, Objective: prototypes{s.Lambda, s.Layer},
		Extra: map[string]*fedkit.Matrix{"prototypes": fedkit.NewMatrix(s.State.C, 1, len(s.State.C))}})
	s.State.W, s.State.C = s.State.W.Put(u.Clients(), u.Models), slices.Clone(s.State.C)
	sums, width := make([]float64, len(s.State.C)), len(s.State.C)/classes
	for _, p := range r.Features(u.Models, s.Layer, datasets.TrainPart, u.Clients()) {
		means, n := p.ClassMeans(classes)
		for y := range means {
			floats.AddScaled(sums[y*width:(y+1)*width], n[y], append(means[y], 1))
		}
	}
	for i, sum := range sums {
		if n := sums[(i/width+1)*width-1]; n > 0 {
			s.State.C[i] = float32(sum / n)
		}
	}
	r.Send(u.Clients(), []int{fedkit.Cloud}, float64(len(sums))/float64(s.State.W.Cols()))
	return r.Err()
}

// Serve gives every client its own model.
func (s *FedProto) Serve(r *fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.State.W, Assign: r.AllClients()}
}

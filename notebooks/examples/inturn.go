package examples

import (
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/selection"
)

// InTurn is strategy.AdaptiveClustering as it was published, in forms that the log of its program may come from:
//
//	w_i ← local training from x,  i = 1 … M;  Chain: from w_{i−1}, with w_0 = x;  then Merge: x ← (1/M) Σ w_i or, with Chain, w_M
//	x ← x + w'_i/p,  w'_i ← local training from x;  AtOnce: from x before the first;  i the first client of each of p clusters of w_i
//
// Each round notes the mean loss of the first M trainings as "loss". Identity: with none of the three it is as published, if p falls likewise.
type InTurn struct {
	Chain, Merge, AtOnce bool         // the forms above
	P                    []int        // p by round; the last one holds from then on
	Local                fedkit.Local // of both trainings
	State                struct {
		X        *fedkit.Matrix // x, [1, d]
		Clusters cluster.Groups // each client's cluster in the last round, [M]
	}
}

// Check implements fedkit.Checker.
func (s *InTurn) Check(fed *fedkit.Federation, _ int) error {
	if len(s.P) > 0 && slices.Min(s.P) > 0 && (fed == nil || slices.Max(s.P) <= fed.Size()) {
		return fed.AllTrained("strategy", "InTurn")
	}
	return fedkit.Invalid("P", s.P, "a number of clusters for each round, from 1 to the number of clients")
}

// Start draws x. Before the first round all clients are in one cluster.
func (s *InTurn) Start(r *fedkit.Round) error {
	s.State.X, s.State.Clusters = r.Models(1), make(cluster.Groups, r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *InTurn) Round(r *fedkit.Round) error {
	w, sum, all, trained, together := s.State.X, 0.0, []*fedkit.Matrix{}, []int{}, map[bool]int{true: r.Clients(), false: 1}
	for clients := range slices.Chunk(r.AllClients(), together[!s.Chain]) {
		u := r.Train(fedkit.Job{Clients: clients, Start: w, Local: s.Local})
		all, trained, w = append(all, u.Models), append(trained, u.Clients()...), u.Models.Mean(nil)
		for _, c := range u.Results {
			sum += float64(c.Loss)
		}
	}
	r.Note("loss", sum/float64(len(trained)))
	s.State.X = map[bool]*fedkit.Matrix{true: w, false: s.State.X}[s.Merge]
	p := s.P[min(r.T, len(s.P))-1]
	s.State.Clusters = cluster.Ungrouped(r.Clients())
	labels := r.Cluster(cluster.Agglomerative{}, r.Points(fedkit.StackRows(all...)), p)
	s.State.Clusters.Set(trained[:len(labels)], labels) // none after an error
	for clients := range slices.Chunk(selection.PerCluster(s.State.Clusters, p, nil), together[s.AtOnce]) {
		u := r.Train(fedkit.Job{Clients: clients, Start: s.State.X, Local: s.Local})
		s.State.X = s.State.X.Add(u.Models.Mean(nil).Scale(float64(len(clients)) / float64(p)))
	}
	return r.Err()
}

// Serve gives every client x.
func (s *InTurn) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Global: s.State.X, Clusters: s.State.Clusters}
}

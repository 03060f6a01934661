package fedkit

import "fedkit.example/fedkit/internal/rows"

// Updates is what came back from a job: a row for each of its clients, without any that were skipped.
type Updates struct {
	Solves  []Solve // [n]
	At      []int   // where each stands in the job's Clients, [n]
	Models  *Matrix // w_i as they arrived, [n, d]
	Trained *Matrix // w_i as the clients have them, [n, d]: the same, unless somebody stands in between (see Interceptor)
	Start   *Matrix // what they started from, [1, d] or [n, d]
}

// Delta returns Δ_i = w_i − what client i started from, [n, d].
func (u *Updates) Delta() *Matrix { return rows.Less(u.Models, u.Start) }

// Clients returns who sent the rows, [n].
func (u *Updates) Clients() []int {
	clients := make([]int, len(u.Solves))
	for i, s := range u.Solves {
		clients[i] = s.Client
	}
	return clients
}

// Examples returns n_i, the usual weights of the rows, [n].
func (u *Updates) Examples() []float64 {
	n := make([]float64, len(u.Solves))
	for i, s := range u.Solves {
		n[i] = float64(s.Examples)
	}
	return n
}

// without returns the updates without those that were skipped.
func (u *Updates) without(skipped int) *Updates {
	if skipped == 0 {
		return u
	}
	v := &Updates{Start: u.Start}
	var keep []int
	for i, s := range u.Solves {
		if !s.Skipped {
			keep = append(keep, i)
			v.Solves, v.At = append(v.Solves, s), append(v.At, u.At[i])
		}
	}
	v.Models, v.Trained = u.Models.Take(keep...), u.Trained.Take(keep...)
	if u.Start.Rows() > 1 {
		v.Start = u.Start.Take(keep...)
	}
	return v
}

package fedkit

import "fedkit.example/fedkit/internal/rows"

// Updates is the result of a job: a row for each of its clients, without skipped ones.
type Updates struct {
	Solves  []Solve // [n]
	At      []int   // position of each in the job's Clients, [n]
	Models  *Matrix // w_i as received by the server, [n, d]
	Trained *Matrix // w_i as trained by the clients, [n, d]: the same, unless there are interceptors
	Start   *Matrix // initial models, [1, d] or [n, d]
}

// Delta returns the updates Δ_i = w_i − the start of client i, [n, d].
func (u *Updates) Delta() *Matrix { return rows.Less(u.Models, u.Start) }

// Clients returns the client of each row, [n].
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

// without returns the updates without skipped clients.
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

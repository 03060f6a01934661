package examples

import (
	"slices"

	"fedkit.example/fedkit"
)

// Ranks are r_i by client, from 1 to the model's r: how many columns of each A and rows of each B a client trains, sends and receives.
// nil: r for all.
type Ranks []int

// train has clients train and send their first r_i columns of each A and rows of each B, from those of x; the rest of theirs is 0. down
// says that they receive these.
func (ranks Ranks) train(r *fedkit.Round, x *fedkit.Matrix, fraction float64, local fedkit.Local, down bool) *fedkit.Updates {
	job := fedkit.Job{Clients: r.Select(nil, fraction), Start: x, Local: local}
	if ranks == nil {
		if !down {
			job.Down = fedkit.Zero
		}
		return r.Train(job)
	}
	d := r.Fed.Task.Dim()
	kept := slices.Repeat([]float32{1}, len(job.Clients)*d)
	for i, c := range job.Clients {
		for _, m := range adapters(r.Fed.Task) {
			row := kept[i*d : (i+1)*d]
			for k := ranks[c]; k < m.r; k++ {
				clear(row[m.b+k*m.out : m.b+(k+1)*m.out])
				for j := range m.in {
					row[m.a+j*m.r+k] = 0
				}
			}
		}
	}
	job.Mask = fedkit.NewMatrix(kept, len(job.Clients), d)
	job.Start, job.Relayed = x.Repeat(len(job.Clients)).Mul(job.Mask), true
	if down {
		for _, c := range job.Clients {
			r.Send([]int{fedkit.Cloud}, []int{c}, ranks.share(r, c))
		}
	}
	u := r.Train(job)
	for _, c := range u.Clients() {
		r.Send([]int{c}, []int{fedkit.Cloud}, ranks.share(r, c))
	}
	return u
}

// share is the part r_i/r of a model that a client trains.
func (ranks Ranks) share(r *fedkit.Round, client int) float64 {
	if ranks == nil {
		return 1
	}
	return float64(ranks[client]) / float64(adapters(r.Fed.Task)[0].r)
}

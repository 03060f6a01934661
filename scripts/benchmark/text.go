package main

import (
	"encoding/json"
	"os"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"github.com/janpfeifer/must"
)

// text makes 2,000 texts of T tokens for training and 200 for testing, each with the token that follows every one: peers/tasks.py has the
// same.
func text(T, vocabulary int) func() (*datasets.Dataset, error) {
	return func() (*datasets.Dataset, error) {
		d := &datasets.Dataset{Name: "made text", Shape: []int{T}, Classes: vocabulary}
		token := 0
		for i, n := range []int{2000, 200} {
			s := []*datasets.Split{&d.Train, &d.Test}[i]
			s.Width = T
			for j := range n * T {
				s.Floats = append(s.Floats, float32(token))
				token = (3*token + j*j%7) % vocabulary
				s.Labels = append(s.Labels, int32(token))
			}
		}
		return d, nil
	}
}

// rows times the set-up of a federation of 3,500 clients with 800,000 images of 28×28 bytes, and a round of nothing.
func rows() {
	const clients, n, size = 3500, 800_000, 28 * 28
	d := &datasets.Dataset{Name: "made images", Shape: []int{28, 28, 1}, Classes: 62}
	for i, n := range []int{n, n / 10} {
		s := []*datasets.Split{&d.Train, &d.Test}[i]
		s.Scale = 1. / 255
		s.Bytes, s.Labels, s.Owner = make([]uint8, n*size), make([]int32, n), make([]int32, n)
		for j := range n {
			s.Bytes[j*size+j%size] = uint8(j)
			s.Labels[j], s.Owner[j] = int32(j%62), int32(j%clients)
		}
	}
	begin := time.Now()
	fed := must.M1(fedkit.New(d, partition.Natural{}, model.EMNISTCNN()))
	must.M(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"peer": "fedkit", "task": "rows", "clients": len(fed.Clients), "set_up_ms": float64(time.Since(begin).Microseconds()) / 1000, "data_mb": n * size / 1e6, "peak_mb": peak(),
	}))
}

package compare

import (
	"fmt"
	"testing"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/history"
)

// store returns n light histories of 30 rounds, with 5 seeds of each configuration.
func store(n int) (all []*history.History) {
	for i := range n {
		s := FedAvg{Selector: Softmax{By: i / 100, Seed: uint64(i % 5)}}
		s.Local.LR = float64(1 + i/5)
		h := &history.History{Name: "FedAvg", Config: config.Of(s), Data: "digits", Seed: uint64(i % 5), Clients: 20, Params: 1000,
			Partition: fmt.Sprintf("20 clients, Dirichlet α = 0.1, seed %d", i%5),
			Manifest:  &partition.Manifest{Config: config.Of(partition.Dirichlet{Clients: 20, Alpha: 0.1, Seed: uint64(i % 5)}), Data: "d", Clients: fmt.Sprint(i % 5)}}
		for r := range 30 {
			h.Rounds = append(h.Rounds, history.Record{Round: r + 1, Seconds: 0.1, BytesUp: 1000, BytesDown: 1000,
				Global: &history.Score{Accuracy: history.Float(0.5 + float64(r*i%17)/100), Loss: 1, Examples: 1000}})
		}
		all = append(all, h)
	}
	return all
}

// A table over 10,000 runs should take less than 2 s.
func BenchmarkTable(b *testing.B) {
	all := store(10_000)
	for b.Loop() {
		t := Comparison{Target: 0.6, Baseline: "FedAvg, Local.LR 1"}.Table(all...)
		if len(t.Lines) != 2001 {
			b.Fatal(len(t.Lines), t.Err())
		}
	}
}

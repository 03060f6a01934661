package strategy_test

import (
	"encoding/json"
	"math"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
)

// groups is a federation of eight clients in two true groups with permuted labels. Two are held out.
func groups(t testing.TB, m fedkit.Model) *fedkit.Federation {
	t.Helper()
	deal, err := partition.Relabel{Of: partition.IID{Clients: 8, Seed: 1}, Groups: 2}.Deal(datasets.Digits())
	if err != nil {
		t.Fatal(err)
	}
	for i := range deal.Clients {
		deal.Clients[i].Train = deal.Clients[i].Train[:60]
	}
	fed, err := fedkit.New(deal.Data, partition.Given(deal.Clients), m)
	if err == nil {
		fed, err = fed.HoldOut(2, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fed
}

// Every strategy serves unseen clients, with the same results for any number of workers.
func TestNewcomers(t *testing.T) {
	if testing.Short() {
		t.Skip("one run after the other")
	}
	fed := groups(t, model.MLP())
	for name, s := range all() {
		var first []byte
		for _, workers := range []int{1, 4} {
			last := run(t, on(fed, s), s, fedkit.Options{Rounds: 2, EvalEvery: 2, Seed: 4, Workers: workers}).Last()
			for i, score := range last.Unseen {
				if loss := float64(score.Loss); math.IsNaN(loss) || math.IsInf(loss, 0) {
					t.Errorf("%s: newcomer %d has a loss of %v", name, i, loss)
				}
			}
			if len(last.Unseen) != 2 {
				t.Errorf("%s: %d newcomers have scores", name, len(last.Unseen))
			}
			last.Seconds, last.EvalTime = 0, 0
			b, err := json.Marshal(last)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = b
			}
			if string(b) != string(first) {
				t.Errorf("%s: other bytes with 4 workers:\n%s\n%s", name, b, first)
			}
		}
	}
}

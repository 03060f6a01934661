package strategy_test

import (
	"strings"
	"testing"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
)

// Strategies that compare all pairs of clients are rejected before they run if the pairs do not fit into memory: a million
// clients take 13 TB.
func TestTooManyClientsToCompareAreRefused(t *testing.T) {
	const n = 1 << 20
	small, _ := logistic(t)
	many := *small
	many.Clients = make([]partition.Client, n)
	for field, all := range map[string][]fedkit.Strategy{
		"clients per round": {&strategy.FedClust{K: 2}, &strategy.FeSEM{}, &strategy.FedPRISM{}},
		"clients":           {&strategy.FedClust{K: 2, Once: true}, &strategy.OneShot{}, &strategy.LCFL{}, &strategy.AdaptiveClustering{}, &strategy.FedSC{Updates: true}},
	} {
		for _, s := range all {
			want := field + " = 1048576: must be at most "
			if err := s.(fedkit.Checker).Check(&many, n); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ": the products of each two take 13 TB, and ") {
				t.Errorf("%T: error %v, want %q", s, err, want)
			}
			if err := s.(fedkit.Checker).Check(small, small.Size()); err != nil {
				t.Errorf("%T: error %v for %d clients", s, err, small.Size())
			}
		}
	}
}

package strategy_test

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/strategy"
)

// Robust rules within FedAvg, as in any strategy that has an Aggregator.
func init() {
	for name, by := range map[string]fedkit.Aggregator{
		"FedAvg, trimmed mean":     aggregate.TrimmedMean{Share: 0.34},
		"FedAvg, Krum":             aggregate.Krum{},
		"FedAvg, Multi-Krum":       aggregate.MultiKrum{F: 1},
		"FedAvg, geometric median": aggregate.GeometricMedian{},
		"FedAvg, nearest mix":      aggregate.NearestMix{F: 1},
	} {
		more[name] = func() fedkit.Strategy { return &strategy.FedAvg{Aggregator: by, Local: standard} }
	}
	with := func(by fedkit.Aggregator) *strategy.FedAvg { return &strategy.FedAvg{Aggregator: by, Local: standard} }
	mean := &strategy.FedAvg{Local: standard}
	moreIdentities = append(moreIdentities,
		identity{"the trimmed mean that trims none = FedAvg", even, with(aggregate.TrimmedMean{Share: fedkit.Zero}), mean},
		identity{"the trimmed mean that trims most = FedMedian", uneven, with(aggregate.TrimmedMean{Share: 0.49}), &strategy.FedMedian{Local: standard}},
		identity{"Multi-Krum that keeps all = FedAvg", even, with(aggregate.MultiKrum{M: 6}), mean},
		identity{"Multi-Krum that keeps one = Krum", uneven, with(aggregate.MultiKrum{F: 1, M: 1}), with(aggregate.Krum{F: 1})},
		identity{"the trimmed mean of one client = FedAvg", []int{30}, with(aggregate.TrimmedMean{}), mean},
		identity{"the nearest mix of one client = FedAvg", []int{30}, with(aggregate.NearestMix{}), mean},
		identity{"the geometric median of one client = FedAvg", []int{30}, with(aggregate.GeometricMedian{}), mean},
	)
	moreRefused["FedAvg: invalid: TrimmedMean.Share = 0.5: must be in (0, 0.5), 0 for the default of 0.2, or fedkit.Zero"] = with(aggregate.TrimmedMean{Share: 0.5})
	moreRefused["FedAvg: invalid: Krum.F = 0: must be such that n ≥ 2f+3, and a round has n = 2 clients"] = with(aggregate.Krum{})
	moreRefused["FedAvg: invalid: MultiKrum.F = 5: must be such that n ≥ 2f+3, and a round has n = 2 clients"] = with(aggregate.MultiKrum{F: 5})
	moreRefused["FedAvg: invalid: NearestMix.F = 1: must be such that n ≥ 2f+1, and a round has n = 2 clients"] = with(aggregate.NearestMix{F: 1})
	moreRefused["FedAvg: invalid: GeometricMedian.Smooth = -1: must be > 0, or 0 for the default of 1e-6"] = with(aggregate.GeometricMedian{Smooth: -1})
}

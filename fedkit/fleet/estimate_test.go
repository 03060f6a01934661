package fleet_test

import (
	"context"
	"math"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fleet"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// If one term dominates, the estimate is that term.
func TestEstimate(t *testing.T) {
	const tiny, huge = 1e-12, 1e18 // so that overheads vanish
	free := fleet.Estimate{Calls: 64, Seconds: 1, Params: 1e6, PerRound: tiny, PerCall: tiny, Throughput: huge}
	with := func(change func(*fleet.Estimate)) fleet.Estimate {
		e := free
		change(&e)
		return e
	}
	for _, test := range []struct {
		name    string
		e       fleet.Estimate
		workers int
		want    float64 // seconds per round
	}{
		{"calls one after the other", free, 1, 64},
		{"calls do not divide evenly", free, 3, 22},
		{"a worker for each call", free, 64, 1},
		{"more workers than calls", free, 1000, 1},
		{"slots", with(func(e *fleet.Estimate) { e.Slots = 4 }), 4, 4},
		{"ten runs fill the gaps of one", with(func(e *fleet.Estimate) { e.Runs = 10 }), 3, 640. / 3},
		{"ten runs on as many workers as calls", with(func(e *fleet.Estimate) { e.Runs = 10 }), 640, 1},
		{"latency", with(func(e *fleet.Estimate) { e.Seconds, e.Latency = tiny, 0.2 }), 2, 1},
		{"overhead", with(func(e *fleet.Estimate) { e.Seconds, e.PerRound, e.PerCall = tiny, 1, 0.5 }), 2, 33},
		{"the notebook has no time left", with(func(e *fleet.Estimate) { e.Seconds, e.Runs, e.PerCall = tiny, 10, 0.5 }), 2, 320},
		// 4 MB to each of 2 workers and 64 × 4 MB back, and 64 × 1.3 and 0.55 kB beside
		{"link", with(func(e *fleet.Estimate) { e.Seconds, e.Rate = tiny, 1e6 }), 2, 2*4 + 64*4 + 64*0.00185},
		{"link, ten runs", with(func(e *fleet.Estimate) { e.Seconds, e.Rate, e.Runs = tiny, 1e6, 10 }), 2, 10 * 64 * 4.00055},
		{"passing on", with(func(e *fleet.Estimate) { e.Seconds, e.Throughput = tiny, 1e6 }), 2, 4 + 64*4 + 64*0.00185},
	} {
		if got := test.e.Round(test.workers); math.Abs(got/test.want-1) > 1e-6 {
			t.Errorf("%s: %v s, want %v", test.name, got, test.want)
		}
	}
	if got := free.Speedup(16); math.Abs(got/16-1) > 1e-6 {
		t.Errorf("16 workers are %v times as fast, want 16", got)
	}
}

// The bytes per round follow the formulas.
func TestBytes(t *testing.T) {
	mix, err := datasets.GaussianMixture{Clients: 64, Rows: 100, TestRows: 1, Features: 100}.Make()
	if err != nil {
		t.Fatal(err)
	}
	fed, err := fedkit.New(mix, partition.Natural{}, model.MLP(500))
	if err != nil {
		t.Fatal(err)
	}
	f := local(t, 2)
	e := fleet.Estimate{Calls: 4, Params: fed.Task.Dim(), Arguments: 4 * 16 * 100}
	avg := &strategy.FedAvg{Local: fedkit.Local{Batch: 20, LR: 0.1}}
	var in, out uint64
	counted := 0
	for h, err := range fedkit.Rounds(context.Background(), fed, avg, fedkit.Options{Rounds: 8, EvalEvery: 8, Fleet: f}) {
		if err != nil {
			t.Fatal(err)
		}
		received, sent := f.Bytes()
		n := len(h.Rounds)
		quick := n > 1 && n < 8 && h.Last().Seconds < 1 // calls that take longer go to a second worker too
		if quick {
			counted++
		}
		for _, part := range []struct {
			name         string
			got, formula float64
		}{{"sent", float64(sent - out), e.Sent()}, {"received", float64(received - in), e.Received()}} {
			if quick && math.Abs(part.got/part.formula-1) > 0.1 {
				t.Errorf("round %d: %.0f bytes %s, by the formula %.0f", n, part.got, part.name, part.formula)
			}
		}
		in, out = received, sent
	}
	if counted == 0 {
		t.Error("no round took less than a second")
	}
}

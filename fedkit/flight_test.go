package fedkit_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/flight"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
)

// lowest chooses the first of those that can be chosen.
var lowest = fedkit.SelectorFunc(func(r *fedkit.Round, n int) []int { return r.Candidates()[:n] })

// Who arrives when, and how stale, computed by hand: clients take 4, 5, 6 and 7 s. Of the same moment, older work is first.
func TestArrivals(t *testing.T) {
	type arrival struct {
		client, staleness int
		begin, arrived    float64
	}
	rarely := func(i int, d *sim.Device) { // clients 2 and 3 are on from 100 s on
		if i >= 2 {
			d.On = sim.Hours{Intervals: []sim.Interval{{From: 100, To: 200}}}
		}
	}
	for _, c := range []struct {
		name   string
		change func(i int, d *sim.Device)
		s      fedkit.Strategy
		want   []arrival
		clock  []float64
	}{
		{"two at work", nil, &strategy.FedBuff{Concurrency: 2, K: 1, Selector: lowest, Local: hundred},
			[]arrival{{0, 0, 0, 4}, {1, 1, 0, 5}, {0, 1, 4, 8}, {1, 1, 5, 10}, {0, 1, 8, 12}}, []float64{4, 5, 8, 10, 12}},
		{"a buffer of two", nil, &strategy.FedBuff{Concurrency: 3, K: 2, Selector: lowest, Local: hundred}, // at 4 s client 3 takes the place of client 0
			[]arrival{{0, 0, 0, 4}, {1, 0, 0, 5}, {2, 1, 0, 6}, {0, 0, 5, 9}, {3, 2, 4, 11}, {1, 1, 6, 11}}, []float64{5, 9, 11}},
		{"those who are off", rarely, &strategy.FedBuff{Concurrency: 4, K: 3, Selector: lowest, Local: hundred}, // nobody is at work from 5 to 100 s
			[]arrival{{0, 0, 0, 4}, {1, 0, 0, 5}, {2, 0, 100, 106}, {3, 1, 100, 107}, {0, 0, 106, 110}, {1, 0, 106, 111}}, []float64{106, 111}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := timed(t, fourSpeeds(t, c.change), c.s, fedkit.Options{Rounds: len(c.clock)})
			var got []arrival
			for i := range h.Rounds {
				if end := float64(h.Rounds[i].Clock); !near([]float64{end}, []float64{c.clock[i]}) {
					t.Errorf("round %d ended at %v s, want %v", i+1, end, c.clock[i])
				}
				for _, s := range h.Rounds[i].Results {
					got = append(got, arrival{s.Client, s.Staleness, math.Round(float64(s.Begin)*1e6) / 1e6, math.Round(float64(s.Arrived)*1e6) / 1e6})
				}
			}
			expect.That(t, slices.Equal(got, c.want), "arrivals\n%v, want\n%v", got, c.want)
		})
	}
}

// Whatever the devices: time never runs back, nobody does two things at a time, and no work is lost or handed in twice.
func TestWorkIsDoneOnce(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		atWork := 1 + rng.IntN(8)
		s := &strategy.FedBuff{Concurrency: atWork, K: 1 + rng.IntN(atWork), Local: fedkit.Local{Steps: 1, Batch: 10, LR: 0.1}}
		fed := expect.Value(relabeled(t).WithDevices(sim.Devices{PerExample: sim.LogNormal{Median: 0.01, Sigma: 2}, Up: sim.Uniform{Low: 1e3, High: 1e6}, Drop: sim.Constant(0.3 * rng.Float64()),
			OnFor: sim.Uniform{Low: 5, High: 50}, OffFor: sim.Uniform{Low: 1, High: 50}, Seed: seed}))(t)
		h := timed(t, fed, s, fedkit.Options{Rounds: 80, EvalEvery: 80, Seed: seed})
		free, now, ended := make([]float64, fed.Size()), 0.0, 0
		took := func(client int, begin, end fedkit.Float) {
			expect.Must(t, float64(begin) >= free[client] && end >= begin,
				"seed %d: client %d works from %v to %v s, and before until %v", seed, client, begin, end, free[client])
			free[client] = float64(end)
			ended++
		}
		clock := []float64{0}
		for _, r := range h.Rounds {
			expect.Must(t, len(r.Results) == s.K, "seed %d, round %d: %d results, want %d", seed, r.Round, len(r.Results), s.K)
			for _, m := range r.Absences {
				took(m.Client, m.Begin, m.End)
			}
			for _, v := range r.Results {
				took(v.Client, v.Begin, v.Arrived)
				from := r.Round - v.Staleness // the round in which it began
				if float64(v.Arrived) < now || v.Arrived > r.Clock || float64(v.Begin) < clock[from-1] || from < r.Round && float64(v.Begin) > clock[from] {
					t.Fatalf("seed %d, round %d: %+v, after %v s, of rounds that ended at %v", seed, r.Round, v, now, clock)
				}
				now = float64(v.Arrived)
			}
			clock = append(clock, float64(r.Clock))
		}
		f := &s.State.InFlight
		expect.That(t, f.Begun == ended+len(f.Jobs) && len(f.Jobs) < max(2, atWork+1),
			"seed %d: %d pieces of work began, %d ended, %d are under way", seed, f.Begun, ended, len(f.Jobs))
		for _, w := range f.Jobs {
			expect.That(t, slices.ContainsFunc(f.Versions, func(v flight.Version) bool { return v.Round == w.Round }) && len(f.Versions) <= atWork+1,
				"seed %d: %d models are kept for %d pieces of work", seed, len(f.Versions), len(f.Jobs))
		}
	}
}

// spoiled spoils what some clients send.
type spoiled struct{ clients []int }

func (spoiled) String() string { return "spoiled" }

func (s spoiled) Intercept(u *fedkit.Updates, _ *rand.Rand) *fedkit.Matrix {
	factors := slices.Repeat([]float32{1}, u.Models.Rows()*u.Models.Cols())
	for i, solve := range u.Results {
		if slices.Contains(s.clients, solve.Client) {
			factors[i*u.Models.Cols()] = float32(math.Inf(1))
		}
	}
	return u.Models.Mul(fedkit.NewMatrix(factors, u.Models.Rows(), u.Models.Cols()))
}

// A result that is not finite ends an asynchronous run, or its round goes by without it.
func TestNotFiniteWhenItArrives(t *testing.T) {
	fed := fourSpeeds(t, nil).Intercept(spoiled{[]int{1}})
	s := func() fedkit.Strategy { return &strategy.FedAsync{Concurrency: 2, Selector: lowest, Local: hundred} }
	_, err := fedkit.Run(context.Background(), fed, s(), fedkit.Options{Rounds: 5})
	expect.That(t, errors.Is(err, fedkit.ErrNotFinite), "error %v", err)
	expect.Error(t, "round 2", "client 1 ")(err)
	h := timed(t, fed, s(), fedkit.Options{Rounds: 5, NotFinite: fedkit.Skip})
	for i, want := range []bool{false, true, false, true, false} {
		r := h.Rounds[i]
		expect.That(t, len(r.Results) == 1 && r.Results[0].Skipped == want, "round %d: %+v, want Skipped %v", i+1, r.Results, want)
		if i > 0 && want == (r.Global.Loss != h.Rounds[i-1].Global.Loss) {
			t.Errorf("round %d: loss %v after %v", i+1, r.Global.Loss, h.Rounds[i-1].Global.Loss)
		}
	}
	if got := []fedkit.Float{h.Rounds[0].Clock, h.Rounds[1].Clock, h.Rounds[2].Clock}; got[0] != 4 || got[1] != 5 || got[2] != 8 {
		t.Errorf("the rounds ended at %v s, want 4, 5 and 8", got)
	}
}

// letting is an asynchronous strategy that asks for something else.
type letting struct {
	strategy.FedAsync
	work func(x *fedkit.Matrix) fedkit.Async
}

func (s *letting) Round(r *fedkit.Round) error {
	r.TrainAsync(&s.State.InFlight, s.work(s.State.Global.X))
	return r.Err()
}

// A round may have two arrivals, of one model. Who is in the first can begin again before the second.
func TestArriveTwice(t *testing.T) {
	fed, ends := fourSpeeds(t, nil), []float64{5, 8}
	s := &letting{}
	s.work = func(x *fedkit.Matrix) fedkit.Async {
		return fedkit.Async{Concurrency: 3, Selector: lowest, Job: fedkit.Job{Start: x, Local: hundred}}
	}
	h := timed(t, fed, &arrivingTwice{letting: s}, fedkit.Options{Rounds: 2})
	for i, end := range ends {
		if r := h.Rounds[i]; len(r.Results) != 2 || !near([]float64{float64(r.Clock)}, []float64{end}) {
			t.Errorf("round %d: %d results after %v s, want 2 after %v", i+1, len(r.Results), r.Clock, end)
		}
	}
	_, err := fedkit.Run(context.Background(), fed, &arrivingTwice{letting: s, change: true}, fedkit.Options{Rounds: 2})
	expect.Invalid(t, "Async.Job.Start = another model")(err)
}

type arrivingTwice struct {
	*letting
	change bool
}

func (s *arrivingTwice) Round(r *fedkit.Round) error {
	x := s.State.Global.X
	for range 2 {
		r.TrainAsync(&s.State.InFlight, s.work(x))
		if s.change {
			x = x.Scale(2)
		}
	}
	return r.Err()
}

func TestWorkThatIsRefused(t *testing.T) {
	fed := relabeled(t)
	two := func(x *fedkit.Matrix) *fedkit.Matrix { return fedkit.StackRows(x, x) }
	for _, c := range []struct {
		field  string
		change func(a *fedkit.Async)
	}{
		{"Async.Concurrency", func(a *fedkit.Async) { a.Concurrency = 13 }},
		{"Async.Concurrency", func(a *fedkit.Async) { a.Concurrency = 0 }},
		{"Async.BufferSize", func(a *fedkit.Async) { a.BufferSize = 4 }},
		{"Async.BufferSize", func(a *fedkit.Async) { a.BufferSize = -1 }},
		{"Async.Steps", func(a *fedkit.Async) { a.Steps = func(int, *rand.Rand) int { return 0 } }},
		{"Selector", func(a *fedkit.Async) {
			a.Selector = fedkit.SelectorFunc(func(*fedkit.Round, int) []int { return []int{0} })
			a.Concurrency, a.BufferSize = 2, 2
		}},
		{"Async.Job.Start", func(a *fedkit.Async) { a.Job.Start = two(a.Job.Start) }},
		{"Async.Job.Start", func(a *fedkit.Async) { a.Job.Start = nil }},
		{"Async.Job.Shift", func(a *fedkit.Async) { a.Job.Shift = a.Job.Start }},
		{"Async.Job.Clients", func(a *fedkit.Async) { a.Job.Clients = []int{1} }},
		{"Async.Job.StayLocal", func(a *fedkit.Async) { a.Job.StayLocal = true }},
		{"Local.Batch", func(a *fedkit.Async) { a.Job.Local.Batch = -7 }},
		{"Job.Communicated", func(a *fedkit.Async) { a.Job.Communicated = two(a.Job.Start) }},
	} {
		s := &letting{work: func(x *fedkit.Matrix) fedkit.Async {
			a := fedkit.Async{Concurrency: 3, Job: fedkit.Job{Start: x, Local: hundred}}
			c.change(&a)
			return a
		}}
		expect.Invalid(t, c.field+" = ")(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 2}))
	}
	never := expect.Value(fed.WithDevices(sim.Devices{PerExample: sim.Constant(1e308)}))(t)
	expect.Invalid(t, "Federation.Devices = one with which client ")(fedkit.Run(context.Background(), never, &strategy.FedAsync{Concurrency: 2, Local: hundred}, fedkit.Options{Rounds: 2}))
}

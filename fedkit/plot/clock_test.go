package plot

import (
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

// atWork returns a run of four clients in which client 1 takes two rounds, 2 is late in the first and 3 drops out in the second.
func atWork() *fedkit.History {
	h := timed(historyOf("FedBuff", 0.5, 0.6), 10, 16)
	h.Clients = 4
	a, b := &h.Rounds[0], &h.Rounds[1]
	a.Results = []fedkit.ClientResult{{Client: 0, Received: 1, Finished: 5, Arrived: 8}}
	a.Absences = []history.Absence{{Client: 2, End: 20}}
	b.Results = []fedkit.ClientResult{{Client: 1, Staleness: 1, Begin: 2, Received: 4, Finished: 12, Arrived: 16}, {Client: 0, Begin: 10, Received: 10, Finished: 13, Arrived: 14}}
	b.Absences = []history.Absence{{Client: 3, Begin: 6, End: 13, DroppedOut: true}}
	return h
}

// bars returns, by series, the ends and the row of each bar.
func bars(f *chart.Figure) map[string][][3]float64 {
	all := map[string][][3]float64{}
	for _, s := range f.Series {
		for i := range s.X {
			to := s.X[i]
			if s.X2 != nil {
				to = s.X2[i]
			}
			row := s.Y[i]
			if s.Mark == chart.Cells {
				row += 0.4
			}
			all[s.Name] = append(all[s.Name], [3]float64{s.X[i], to, row})
		}
	}
	return all
}

func TestGantt(t *testing.T) {
	f := Gantt(atWork())
	expect.OK(t, f.Err())
	got := bars(f)
	for name, want := range map[string][][3]float64{
		"end of a round": {{10, 10, -0.5}, {16, 16, -0.5}},
		"download":       {{0, 1, 3}, {2, 4, 2}},
		"training":       {{1, 5, 3}, {4, 12, 2}, {10, 13, 3}},
		"upload":         {{5, 8, 3}, {12, 16, 2}, {13, 14, 3}},
		"no result":      {{0, 10, 1}, {6, 13, 0}},
		"dropped out":    {{13, 13, 0}},
	} {
		expect.That(t, slices.Equal(got[name], want), "%s: %v, want %v", name, got[name], want)
	}
	expect.That(t, slices.Equal(f.Y.Names, []string{"3", "2", "1", "0"}) && f.X.Title == "simulated time (s)" && f.Series[1].Tip[1] == "2: 8 s",
		"rows %q, axis %q, tip %q", f.Y.Names, f.X.Title, f.Series[1].Tip)
}

// Work is cut off at the ends of the rounds shown.
func TestGanttOfSome(t *testing.T) {
	f := Schedule{Clients: []int{1, 0, 3}, First: 2}.Gantt(atWork())
	got := bars(f)["training"]
	expect.That(t, f.Err() == nil && slices.Equal(got, [][3]float64{{0, 2, 2}, {0, 3, 1}}) && slices.Equal(f.Y.Names, []string{"3", "0", "1"}),
		"training %v, rows %q, %v", got, f.Y.Names, f.Err())
	want := "simulated time since the end of round 1 (s)"
	expect.That(t, f.X.Title == want, "axis %q, want %q", f.X.Title, want)
	f = Schedule{Last: 1}.Gantt(atWork())
	cut := bars(f)
	expect.That(t, f.Err() == nil && len(cut["dropped out"]) == 0 && slices.Equal(cut["no result"], [][3]float64{{0, 10, 1}, {6, 10, 0}}),
		"%v, %v", cut, f.Err())
}

// working returns a run in which all clients work in all rounds.
func working(name string, rounds, clients int) *fedkit.History {
	h := timed(&fedkit.History{Name: name, Clients: clients, Rounds: make([]fedkit.Record, rounds)})
	for i := range h.Rounds {
		r, begin := &h.Rounds[i], fedkit.Float(3600*i)
		r.Round, r.Clock = i+1, begin+3600
		for c := range clients {
			r.Results = append(r.Results, fedkit.ClientResult{Client: c, Staleness: (i + c) % 90, Begin: begin, Received: begin + 60.5, Finished: begin + 1000, Arrived: begin + 1000 + fedkit.Float(c)})
		}
	}
	return h
}

// However long a run, its figures are small, and say what they leave out.
func TestLongRunsOnAClock(t *testing.T) {
	h := working("large", 60, 200)
	all := make([]int, 200)
	for i := range all {
		all[i] = i
	}
	for says, f := range map[string]*chart.Figure{
		"; the first 6 of 60 rounds; the 30 of 200 clients who work for the longest": Gantt(h),
		"; the first 2 of 60 rounds; the first 100 of 200 clients":                   Schedule{Clients: all}.Gantt(h),
		"a bar is 5 rounds of staleness":                                             Staleness(h),
		"":                                                                           Over(compare.RoundTime, h),
	} {
		expect.That(t, f.Err() == nil && strings.HasSuffix(f.Note, says) && f.Fits(), "%s: note %q, all drawn: %v, %v", f.Name, f.Note, f.Fits(), f.Err())
		charttest.Spec(t, f)
	}
	if f := Gantt(working("large", 61, 2)); strings.Contains(f.Note, "line") || f.X.Title != "simulated time (h)" || len(f.Series) != 5 {
		t.Errorf("many ends: note %q, axis %q", f.Note, f.X.Title)
	}
}

// Of FedBuff's results, one of three has staleness 1, and those of FedAvg have 0. Their bars stand side by side.
func TestStaleness(t *testing.T) {
	f := Staleness(atWork(), attended("FedAvg", 3, []int{0, 1}, []int{2}))
	expect.OK(t, f.Err())
	a, b := f.Series[0], f.Series[1]
	expect.That(t, near(a.X, []float64{-0.44, 0.56}) && near(a.X2, []float64{0, 1}) && near(a.Y2, []float64{2. / 3, 1. / 3}) && near(b.X, []float64{0}) && near(b.Y2, []float64{1}),
		"%+v", f.Series)
	want := []string{"0: 66.7 %", "1: 33.3 %"}
	expect.That(t, slices.Equal(a.Tip, want) && near(f.X.Include, []float64{-0.5, 1.5}), "%q, want %q; axis over %v", a.Tip, want, f.X.Include)
}

// In round 1 client 0 waits for 2 s of 10, and 2 works for all of the 10; in round 2 only client 0 waits, for 2 of 6 s, while 1
// works for 14 s and 3 for 7.
func TestIdleAndRoundTimes(t *testing.T) {
	h := atWork()
	if f := Over(compare.Idle, h); f.Err() != nil || !near(f.Series[0].Y, []float64{2. / 20, 2. / 27}) || !f.Y.Percent {
		t.Errorf("%+v, %v", f.Series, f.Err())
	}
	if f := Over(compare.RoundTime, h); f.Err() != nil || !near(f.Series[0].Y, []float64{10, 6}) || f.Y.Title != "time (s)" {
		t.Errorf("%+v, %q, %v", f.Series, f.Y.Title, f.Err())
	}
	runs := []*fedkit.History{h}
	for seed, first := range []float64{10, 10, 10, 1200} {
		runs = append(runs, timed(seeded(uint64(seed+1), historyOf("FedBuff", 0.5, 0.6)), first, first+6))
		runs[seed+1].Clients = 4
	}
	f := Over(compare.RoundTime, runs...)
	expect.OK(t, f.Err())
	lo, _ := band(t, f)
	s := f.Series[0]
	expect.That(t, near(s.Y, []float64{248. / 60, 0.1}) && lo[0] == 0 && f.Y.Title == "time (min)", "%+v, %q", s, f.Y.Title)
}

func FuzzClock(f *testing.F) {
	f.Add(3, 2, 1, 0.5, 8.0)
	f.Add(-1, 1<<40, -5, 1e308, -1.0)
	f.Fuzz(func(t *testing.T, client, round, age int, a, b float64) {
		x, y := fedkit.Float(a), fedkit.Float(b)
		h := timed(&fedkit.History{Clients: 3, Rounds: []fedkit.Record{
			{Round: round, Clock: y, Results: []fedkit.ClientResult{{Client: client, Staleness: age, Begin: x, Arrived: y}, {Client: 1, Received: y, Finished: y, Arrived: y}}},
			{Round: round + 1, Clock: x, Absences: []history.Absence{{Client: client, Begin: y, End: x, DroppedOut: true}}},
		}})
		for _, f := range []*chart.Figure{Gantt(h), Schedule{First: round + 1}.Gantt(h), Staleness(h, h), Over(compare.Idle, h), Over(compare.RoundTime, h)} {
			fuzzed(t, f)
		}
	})
}

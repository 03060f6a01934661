package compare

import (
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/table"
)

// fourSpeeds returns a run of four clients that receive a model in 1 s, train for 1, 2, 3 and 4 s, and send it in 2 s.
func fourSpeeds(t *testing.T, s fedkit.Strategy, pace fedkit.Pace) *history.History {
	t.Helper()
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 4, Seed: 1}, model.MLP()))(t)
	model, devices := float64(4*fed.Task.Dim()), make(sim.Given, 4)
	for i := range devices {
		devices[i] = sim.Device{PerExample: 0.01 * float64(i+1), Down: model, Up: model / 2}
	}
	fed = expect.Value(fed.WithDevices(devices))(t)
	return expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 2, Pace: pace}))(t)
}

// Without a deadline, the clients wait for 3, 2, 1 and 0 of the 7 s of a round. With one of 5.5 s, two of them wait for 1.5 and
// 0.5 s and the work of the other two is lost; if two of four suffice, they arrive after 4 and 5 s.
//
// With clients that restart at once, FedBuff with two results per step has those of clients 0 and 1 after 5 s; in the second
// round, that of client 2, which began with the first, after 6 s, and that of 3 after 7.
func TestSimulatedTime(t *testing.T) {
	hundred := fedkit.Local{Steps: 10, Batch: 10, LR: 0.1}
	for _, c := range []struct {
		name                               string
		s                                  fedkit.Strategy
		pace                               fedkit.Pace
		simulated, idle, wasted, staleness float64
	}{
		{"everyone", &strategy.FedAvg{Local: hundred}, fedkit.Pace{}, 14, 6. / 28, 0, 0},
		{"a deadline", &strategy.FedAvg{Local: hundred}, fedkit.Pace{Deadline: 5.5}, 11, 2. / 22, 11. / 20, 0},
		{"over", &strategy.FedAvg{Fraction: 0.5, Local: hundred}, fedkit.Pace{OverSelection: 1}, 10, 1. / 20, 10. / 19, 0},
		{"asynchronous", &strategy.FedBuff{Concurrency: 4, K: 2, Local: hundred}, fedkit.Pace{}, 7, 2. / 24, 0, 0.5},
	} {
		h := fourSpeeds(t, c.s, c.pace)
		for q, want := range map[*Quantity]float64{&Simulated: c.simulated, &Idle: c.idle, &Wasted: c.wasted, &Staleness: c.staleness} {
			if got := q.Of(h); !near(got, []float64{want}) {
				t.Errorf("%s: %s %v, want %v", c.name, q.Name, got, want)
			}
		}
	}
}

// timed sets the ends of a run's rounds.
func timed(h *history.History, clock ...history.Float) *history.History {
	h.Devices = config.Of(sim.Constant(1))
	for i, c := range clock {
		h.Rounds[i].Clock = c
	}
	return h
}

func TestSimulatedTo(t *testing.T) {
	a, none := timed(ran("A", 0.5, nan, 0.9), 60, 7200, 400_000), ran("B", 0.9)
	if got := SimulatedTo(0.6).Of(a, a, none); !near(got[:2], []float64{400_000, 400_000}) || !near(SimulatedTo(0.4).Of(a), []float64{60}) || got[2] == got[2] {
		t.Errorf("%v", got)
	}
	if got := SimulatedTo(0.95).Of(a); got[0] == got[0] {
		t.Errorf("not reached: %v", got)
	}
	for _, q := range []Quantity{Simulated, Idle, Wasted} {
		if got := q.Of(none); got[0] == got[0] {
			t.Errorf("%s of a run without a clock: %v", q.Name, got)
		}
	}
	tab := Comparison{Target: 0.9}.Table(a, none)
	if got := append(cells(t, tab, "A", "simulated", "simulated to 90 %"), cells(t, tab, "B", "simulated", "simulated to 90 %")...); !slices.Equal(got, []string{"4.63 d", "4.63 d", "–", "–"}) {
		t.Errorf("%q", got)
	}
	if heads := (Comparison{Target: 0.9}).Table(none).Lines[0]; slices.Contains(heads, "simulated") || slices.Contains(heads, "simulated to 90 %") || slices.Contains(heads, "idle") {
		t.Errorf("without a clock: %q", heads)
	}
}

// Without Results, the clients' times are unknown. A client that sits out waits for the whole round.
func TestIdleOfSomeRounds(t *testing.T) {
	some, out := timed(ran("A", 0.5, 0.5, 0.5), 10, 20, 30), timed(ran("A", 0.5), 10)
	some.Rounds[0].Results = []history.ClientResult{{Client: 1, Arrived: 4}}
	some.Rounds[1].Summary, some.Rounds[1].Absences = &history.Summary{Training: &history.Training{Clients: 1}}, []history.Absence{{Begin: 10, End: 90}}
	some.Rounds[2].Absences = []history.Absence{{Begin: 20, End: 26, DroppedOut: true}}
	out.Rounds[0].Results, out.Rounds[0].Absences = []history.ClientResult{{Client: 1, Arrived: 4}}, []history.Absence{{Excluded: true}}
	if idle, wasted := Idle.Of(some, out), Wasted.Of(some, out); !near(idle, []float64{6. / 16, 16. / 20}) || !near(wasted, []float64{6. / 10, 0}) {
		t.Errorf("idle %v, want 6 of 16 s and 16 of 20 s; wasted %v, want 6 of 10 s and none", idle, wasted)
	}
}

// A table says which runs lack those quantities.
func TestIdleOfLightRuns(t *testing.T) {
	whole, light := timed(ran("A", 0.5), 10), timed(ran("B", 0.5), 10)
	whole.Rounds[0].Results = []history.ClientResult{{Client: 1, Arrived: 4}}
	light.Rounds[0].Summary = &history.Summary{Training: &history.Training{Clients: 1}}
	const says = ": of runs whose history has what each client did"
	for want, tab := range map[string]*table.Table{
		"idle, wasted, staleness" + says: Table(light, whole),
		"idle" + says:                    Comparison{Columns: []string{"idle", "time"}}.Table(light),
		"":                               Comparison{Columns: []string{"time"}}.Table(light),
		"idle" + says + ":":              Pivot{By: Idle}.Table(Panel{"x", []*history.History{light, whole}}),
	} {
		if err := tab.Err(); err != nil || !strings.Contains(tab.Note, want) || want == "" && strings.Contains(tab.Note, says) {
			t.Errorf("%q is not in %q (%v)", want, tab.Note, err)
		}
	}
	if got := cells(t, Table(light, whole), "B", "idle", "simulated"); !slices.Equal(got, []string{"–", "10 s"}) {
		t.Errorf("%q", got)
	}
}

// Runs with another pace are of another configuration, even if their scores are the same.
func TestPacesAreConfigurations(t *testing.T) {
	paced := func(seed uint64, p fedkit.Pace) *history.History {
		h := timed(with(seed, 0.1), 10)
		h.Settings = config.Of(struct {
			Rounds int
			Pace   fedkit.Pace
		}{1 + int(seed), p})
		return h
	}
	gs, err := Groups(paced(0, fedkit.Pace{}), paced(1, fedkit.Pace{}), paced(0, fedkit.Pace{Deadline: 5}), paced(1, fedkit.Pace{Deadline: 9}))
	expect.OK(t, err)
	names := each(gs, func(g *Group) string { return g.Name })
	if want := []string{"FedAvg", "FedAvg, Pace {Deadline: 5}", "FedAvg, Pace {Deadline: 9}"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

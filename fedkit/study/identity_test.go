package study_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/loss"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/janpfeifer/must"
)

// by holds a number in an unexported field of every kind.
type by struct {
	number  float64
	slice   []float64
	mapped  map[string]float64
	pointer *float64
	array   [1]float64
	held    any
	inner   struct{ number float64 }
	of      func() float64
}

func (b by) factor() float64 {
	sum := b.number + b.mapped["by"] + b.array[0] + b.inner.number
	for _, v := range b.slice {
		sum += v
	}
	if b.pointer != nil {
		sum += *b.pointer
	}
	if v, is := b.held.(float64); is {
		sum += v
	}
	if b.of != nil {
		sum += b.of()
	}
	return sum
}

// named holds a function beside a name.
type named struct {
	Name string
	By   func() float64
}

func (n named) Intercept(u *fedkit.Updates, _ *rand.Rand) *fedkit.Matrix {
	return u.Models.Scale(n.By())
}
func (n named) String() string { return n.Name }

var factor = 0.5

func varied() float64 { return factor }
func vary()           { factor = 0.25 }

func half() float64    { return 0.5 }
func quarter() float64 { return 0.25 }

// Parts with options in an unexported field.
type (
	scaled struct {
		strategy.FedAvg
		by by
	}
	shift    struct{ by by }
	selector struct{ by by }
	measure  struct{ by by }
	pull     struct{ by float64 }
	descent  struct{ by float64 }
	pulled   struct {
		strategy.FedAvg
		Objective fedkit.Objective
	}
)

func (s *scaled) Round(r *fedkit.Round) error { return s.round(r, &s.FedAvg) }

func (s *scaled) round(r *fedkit.Round, of *strategy.FedAvg) error {
	x := of.X
	if err := of.Round(r); err != nil {
		return err
	}
	of.X = x.Add(of.X.Sub(x).Scale(s.by.factor()))
	return nil
}
func (s shift) Intercept(u *fedkit.Updates, _ *rand.Rand) *fedkit.Matrix {
	return u.Models.Scale(s.by.factor())
}
func (shift) String() string { return "shift" }
func (s selector) Select(r *fedkit.Round, n int) []int {
	return r.AllClients()[:int(8*s.by.factor())]
}
func (measure) String() string                        { return "measure" }
func (m measure) Measure(*fedkit.Predictions) float64 { return m.by.factor() }
func (p pull) Loss(b *fedkit.Batch) *graph.Node       { return graph.MulScalar(b.Loss(b.Out), p.by) }
func (descent) Slots() int                            { return 0 }
func (d descent) Direction(_, g []*graph.Node, _ [][]*graph.Node, _ *graph.Node) ([]*graph.Node, [][]*graph.Node) {
	out := make([]*graph.Node, len(g))
	for i := range g {
		out[i] = graph.MulScalar(g[i], d.by)
	}
	return out, nil
}
func (s *pulled) Round(r *fedkit.Round) error {
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.X, Local: s.Local, Objective: s.Objective})
	s.X = s.X.Add(u.Delta().Mean(nil))
	return r.Err()
}

// tuned hides a field of what it embeds; paired has two of one name.
type (
	tuned struct {
		strategy.FedAvg
		Local fedkit.Local
	}
	first  struct{ By float64 }
	second struct{ By float64 }
	paired struct {
		strategy.FedAvg
		first
		second
	}
)

func (s *paired) Round(r *fedkit.Round) error {
	return (&scaled{s.FedAvg, by{number: s.second.By}}).round(r, &s.FedAvg)
}

// byState has an option that is called State; byNames one that is a long list.
type (
	byState struct{ State string }
	byNames struct{ Names []string }
)

func (s byState) Select(r *fedkit.Round, _ int) []int { return r.AllClients()[:len(s.State)] }
func (s byNames) Select(r *fedkit.Round, _ int) []int {
	return r.AllClients()[:1+int(s.Names[64][0])%7]
}

// Two types of one name that differ in what they embed.
func slow() fedkit.Strategy {
	type local struct{ strategy.FedAvg }
	return &local{*avg(0.1)}
}

func fast() fedkit.Strategy {
	type local struct{ scaled }
	return &local{scaled{*avg(0.1), by{of: half}}}
}

// unlike is a run with a number or, in the second of a pair, another one.
type unlike func(number float64) (*fedkit.Federation, fedkit.Strategy, []fedkit.Metric)

// everyUnlike are pairs of runs with equal names everywhere, and different results.
func everyUnlike(t *testing.T) map[string]unlike {
	fed := ten()
	on := func(of func(v float64) fedkit.Strategy) unlike {
		return func(v float64) (*fedkit.Federation, fedkit.Strategy, []fedkit.Metric) { return fed, of(v), nil }
	}
	scale := func(of func(v float64) by) unlike {
		return on(func(v float64) fedkit.Strategy { return &scaled{*avg(0.1), of(v)} })
	}
	selected := func(of func(second bool) fedkit.Selector) unlike {
		return on(func(v float64) fedkit.Strategy {
			return &strategy.FedAvg{Fraction: 0.5, Local: avg(0.1).Local, Selector: of(v == 0.25)}
		})
	}
	return map[string]unlike{
		"strategy, number":    scale(func(v float64) by { return by{number: v} }),
		"strategy, slice":     scale(func(v float64) by { return by{slice: []float64{v}} }),
		"strategy, map":       scale(func(v float64) by { return by{mapped: map[string]float64{"by": v}} }),
		"strategy, pointer":   scale(func(v float64) by { return by{pointer: &v} }),
		"strategy, array":     scale(func(v float64) by { return by{array: [1]float64{v}} }),
		"strategy, interface": scale(func(v float64) by { return by{held: v} }),
		"strategy, struct":    scale(func(v float64) by { return by{inner: struct{ number float64 }{v}} }),
		"strategy, function":  scale(func(v float64) by { return by{of: map[float64]func() float64{0.5: half, 0.25: quarter}[v]} }),
		"interceptor": func(v float64) (*fedkit.Federation, fedkit.Strategy, []fedkit.Metric) {
			return fed.Intercept(shift{by{number: v}}), avg(0.1), nil
		},
		"metric": func(v float64) (*fedkit.Federation, fedkit.Strategy, []fedkit.Metric) {
			return fed, avg(0.1), []fedkit.Metric{measure{by{number: v}}}
		},
		"a model at the size of batches": func(v float64) (*fedkit.Federation, fedkit.Strategy, []fedkit.Metric) {
			return onlyAt(t, 16, v), avg(0.1), nil
		},
		"objective": on(func(v float64) fedkit.Strategy { return &pulled{*avg(0.1), pull{v}} }),
		"optimizer": on(func(v float64) fedkit.Strategy {
			s := avg(0.1)
			s.Local.Optimizer = descent{v}
			return s
		}),
		"a hidden field":         on(func(v float64) fedkit.Strategy { return &tuned{FedAvg: *avg(v)} }),
		"two fields of one name": on(func(v float64) fedkit.Strategy { return &paired{*avg(0.1), first{1}, second{v}} }),
		"types of two functions": on(func(v float64) fedkit.Strategy { return map[float64]func() fedkit.Strategy{0.5: slow, 0.25: fast}[v]() }),
		"selector": selected(func(second bool) fedkit.Selector {
			return selector{by{slice: []float64{map[bool]float64{false: 0.5, true: 0.25}[second]}}}
		}),
		"an option called State": selected(func(second bool) fedkit.Selector {
			return byState{map[bool]string{false: "CA", true: "Ohio"}[second]}
		}),
		"bytes that are not UTF-8": selected(func(second bool) fedkit.Selector {
			return byNames{append(make([]string, 64), map[bool]string{false: "\xfe", true: "\xff"}[second])}
		}),
	}
}

// onlyAt is a federation whose model computes something else with one batch size.
func onlyAt(t *testing.T, batch int, by float64) *fedkit.Federation {
	fed, err := fedkit.New(datasets.Digits(), partition.IID{Clients: 10, Seed: 1}, func(d *datasets.Dataset) (*fedkit.Task, error) {
		task, err := model.MLP(8)(d)
		forward := task.Forward
		task.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			out := forward(p, x)
			if x.Shape().Dim(1) == batch {
				out = graph.MulScalar(out, by)
			}
			return out
		}
		return task, err
	})
	expect.OK(t, err)
	return fed
}

// A run that differs in anything is neither served a stored result nor resumed from another's checkpoint.
func TestWhatChangesResultsIsInTheKey(t *testing.T) {
	for name, of := range everyUnlike(t) {
		t.Run(name, func(t *testing.T) {
			dir, losses := t.TempDir(), []string{}
			for _, number := range []float64{0.5, 0.25, 0.5} {
				fed, s, metrics := of(number)
				st := study.New(filepath.Join(dir, "runs"))
				st.Add(fed, s, fedkit.Options{Rounds: 2, Metrics: metrics})
				runs, said := run(t, st)
				if want := len(losses) == 2; strings.Contains(said, "1 stored") != want {
					t.Errorf("%v: %s", number, said)
				}
				if runs[0].Err() != nil {
					t.Fatal(runs[0].Err())
				}
				h := must.M1(runs[0].History())
				h.Types, h.Code, h.Task, h.Config, h.Interceptors, h.Settings = "", "", "", nil, nil, nil
				losses = append(losses, withoutTimes(h))
			}
			if losses[0] == losses[1] || losses[0] != losses[2] {
				t.Errorf("the runs do not differ as they should: %v, %v", losses[0] == losses[1], losses[0] == losses[2])
			}
			fed, s, metrics := of(0.5)
			o := fedkit.Options{Rounds: 1, Checkpoint: filepath.Join(dir, "checkpoint"), Metrics: metrics}
			expect.Value(fedkit.Run(ctx, fed, s, o))(t)
			fed, s, o.Metrics = of(0.25)
			o.Rounds = 2
			if _, err := fedkit.Run(ctx, fed, s, o); !errors.Is(err, fedkit.ErrInvalid) || !strings.Contains(err.Error(), "it belongs to another run") {
				t.Errorf("the checkpoint was continued: %v", err)
			}
		})
	}
}

// What cannot be serialized for the key is not stored, and the error says what to do.
func TestWhatCannotBeInTheKey(t *testing.T) {
	vary()
	k := 0.5
	fed := ten()
	for _, p := range []struct {
		fed   *fedkit.Federation
		s     fedkit.Strategy
		words string
	}{
		{fed.Intercept(named{"half", func() float64 { return k }}), avg(0.1), "Interceptors[0].By = a function that captures k, whose value cannot be seen: must be a method of a type that has it in a field"},
		{fed.Intercept(named{"half", varied}), avg(0.1), "Interceptors[0].By = code that uses variable factor, which vary sets, which cannot be seen: must be made of constants, and of fields"},
		{fed, &scaled{*avg(0.1), by{of: func() float64 { return k }}}, "by.of = a function without a name: must be one that is declared with func at the top level"},
		{fed, &scaled{*avg(0.1), by{held: make(chan int)}}, "by.held = chan int(chan): must be what a configuration can tell from others, or in a field that is tagged"},
		{fed.Intercept(shift{by{of: func() float64 { return k }}}), avg(0.1), "interceptors[0].by.of = a function without a name"},
	} {
		st := quiet(t)
		st.Add(p.fed, p.s, fedkit.Options{Rounds: 1})
		expect.Invalid(t, p.words)(st.Run(ctx))
		expect.Invalid(t, p.words)(fedkit.Run(ctx, p.fed, p.s, fedkit.Options{Rounds: 1, Checkpoint: filepath.Join(t.TempDir(), "c")}))
	}
}

// Runs are as they were added: a change of what they share is detected before anything is stored.
func TestChangedAfterAdd(t *testing.T) {
	weight, adam := 1.0, &server.Adam{LR: 0.1}
	own := func() *fedkit.Federation {
		d := *datasets.Digits()
		d.Train.Labels, d.Test.Bytes = slices.Clone(d.Train.Labels), slices.Clone(d.Test.Bytes)
		return must.M1(fedkit.New(&d, partition.IID{Clients: 10, Seed: 1}, func(d *datasets.Dataset) (*fedkit.Task, error) {
			task, err := model.MLP(8)(d)
			task.Loss = func(out, y *graph.Node) *graph.Node { return graph.MulScalar(loss.CrossEntropy(out, y), weight) }
			return task, err
		}))
	}
	for name, c := range map[string]struct {
		change func(fed *fedkit.Federation)
		words  string // "" if the added run runs
	}{
		"labels":       {func(fed *fedkit.Federation) { fed.Data.Train.Labels[0]++ }, "Federation.Data.Train = changed"},
		"test rows":    {func(fed *fedkit.Federation) { fed.Data.Test.Bytes[3] = 5 }, "Federation.Data.Test = changed"},
		"rows":         {func(fed *fedkit.Federation) { fed.Clients[2].Train = fed.Clients[2].Train[:5] }, "Federation.Clients = changed"},
		"fewer":        {func(fed *fedkit.Federation) { fed.Clients = fed.Clients[:6] }, ""},
		"other data":   {func(fed *fedkit.Federation) { fed.Data = datasets.Digits() }, ""},
		"loss":         {func(fed *fedkit.Federation) { fed.Task.Loss = loss.SquaredError }, "Federation.Task = changed"},
		"loss's value": {func(*fedkit.Federation) { weight = 2 }, "Federation.Task = changed"},
		"a part":       {func(*fedkit.Federation) { adam.LR = 0.2 }, "a part was changed after Add, which does not copy what a pointer holds: Server.LR: 0.2, was 0.1"},
	} {
		fed, st := own(), quiet(t)
		st.Add(fed, &strategy.FedOpt{Server: adam}, fedkit.Options{Rounds: 1})
		c.change(fed)
		runs, err := st.Run(ctx)
		if c.words == "" {
			if err != nil || runs[0].About.Clients != 10 || len(runs[0].About.Manifest.Data) == 0 {
				t.Errorf("%s: %v, %v", name, runs, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.words) || len(runs) > 0 {
			t.Errorf("%s: %v, %v, want %s", name, runs, err, c.words)
		}
		// The changed run is refused as well.
		if c.words != "" && name != "a part" || name == "fewer" {
			expect.Invalid(t)(fedkit.Run(ctx, fed, avg(0.1), fedkit.Options{Rounds: 1}))
		}
	}
}

// XLA's flags and the backend's options are part of the key.
func TestFlagsAreInTheKey(t *testing.T) {
	expect.Long(t, "a process after the other")
	dir := t.TempDir()
	for _, c := range []struct {
		env  string
		want string
	}{
		{"", "0 stored, 1 to run\n"},
		{"XLA_FLAGS=--xla_cpu_enable_fast_math=true", "0 stored, 1 to run: device: cpu --xla_cpu_enable_fast_math=true, was cpu\n"},
		{"GOMLX_BACKEND=xla:cpu,tf32=true", "0 stored, 1 to run: model: other content, though it is called MLP-8 as before, device: cpu tf32=true, was cpu\n"},
		{"GOMLX_BACKEND=xla:cpu,tf32=false", "1 stored, 0 to run\n"},
		{"XLA_FLAGS=--xla_dump_to=" + dir + "/dump", "1 stored, 0 to run\n"},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "XLA_FLAGS=") }), "FEDKIT_STUDY_ONE="+filepath.Join(dir, "runs"), c.env)
		said, err := cmd.Output()
		if err != nil || string(said) != c.want {
			t.Errorf("%s: %q, %v, want %q", c.env, said, err, c.want)
		}
	}
}

// one runs a study of one run.
func one(dir string) {
	st := study.New(dir)
	st.Watch, st.Log = &counter{}, os.Stdout
	st.Add(ten(), avg(0.1), fedkit.Options{Rounds: 1})
	must.M1(st.Run(ctx))
}

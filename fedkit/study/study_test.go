package study_test

import (
	"time"

	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"github.com/janpfeifer/must"
)

// Under the race detector the plugin's destructors abort when the process exits normally.
func TestMain(m *testing.M) {
	study.Hurry()
	if dir := os.Getenv("FEDKIT_STUDY"); dir != "" {
		child(dir)
		syscall.Exit(0)
	}
	if dir := os.Getenv("FEDKIT_STUDY_ONE"); dir != "" {
		one(dir)
		syscall.Exit(0)
	}
	syscall.Exit(m.Run())
}

var ctx = context.Background()

// ten are ten clients with the small digits.
func ten() *fedkit.Federation {
	return must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10, Seed: 1}, model.MLP(8)))
}

func avg(lr float64) *strategy.FedAvg {
	return &strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Batch: 16, LR: lr}}
}

// three adds runs with three seeds.
func three(st *study.Study, fed *fedkit.Federation, s fedkit.Strategy, rounds int, labels ...any) {
	for seed := range uint64(3) {
		st.Add(fed, s, fedkit.Options{Rounds: rounds, Seed: seed}, labels...)
	}
}

// quiet is a study in a folder of its own, which shows nothing.
func quiet(t testing.TB) *study.Study {
	st := study.New(filepath.Join(t.TempDir(), "runs"))
	st.Watch, st.Log = &counter{}, io.Discard
	return st
}

// run runs a study, and returns what it printed.
func run(t testing.TB, st *study.Study) (study.Runs, string) {
	t.Helper()
	var log strings.Builder
	st.Log = &log
	if st.Watch == nil {
		st.Watch = &counter{}
	}
	runs, err := st.Run(ctx)
	if err != nil {
		t.Fatal(err, log.String())
	}
	return runs, log.String()
}

// times are the fields that differ between repetitions.
func withoutTimes(h *fedkit.History) string {
	c := *h
	c.Rounds = slices.Clone(h.Rounds)
	for i := range c.Rounds {
		c.Rounds[i].Seconds, c.Rounds[i].EvalTime = 0, 0
	}
	b, _ := json.Marshal(c)
	return string(b)
}

// Nothing is computed twice, and the reason for each computation is printed.
func TestOnlyWhatIsMissingIsComputed(t *testing.T) {
	fed, dir := ten(), filepath.Join(t.TempDir(), "runs")
	count := &counter{}
	make := func(add func(*study.Study)) (study.Runs, string) {
		st := study.New(dir)
		st.Watch = count
		add(st)
		return run(t, st)
	}
	both := func(second float64) func(*study.Study) {
		return func(st *study.Study) {
			three(st, fed, avg(0.1), 3, "η", 0.1)
			three(st, fed, avg(second), 3, "η", "other")
		}
	}
	for _, c := range []struct {
		add   func(*study.Study)
		runs  int // in the study
		ran   int
		words string
	}{
		{both(0.3), 6, 6, "0 stored, 6 to run\n"},
		{both(0.3), 6, 0, "6 stored, 0 to run\n"},
		{both(0.2), 6, 3, "3 stored, 3 to run: Local.LR: 0.2, was 0.3\n"},
		{both(0.3), 6, 0, "6 stored, 0 to run\n"},
		{func(st *study.Study) { three(st, fed, avg(0.1), 3, "α", 1) }, 3, 0, "3 stored, 0 to run\n"}, // labels are for people
		{func(st *study.Study) { three(st, fed, avg(0.1), 4, "η", 0.1) }, 3, 3, "0 stored, 3 to run: Options.Rounds: 4, was 3\n"},
		{func(st *study.Study) { three(st, fed, avg(0.1), 3); three(st, fed, avg(0.1), 3) }, 6, 0, "3 stored, 0 to run\n"},
		{func(st *study.Study) { st.Recompute = true; three(st, fed, avg(0.1), 3) }, 3, 3, "0 stored, 3 to run: all again\n"},
	} {
		count.done = 0
		runs, words := make(c.add)
		if len(runs) != c.runs || count.done != c.ran || words != c.words {
			t.Errorf("%d runs, %d computed, %q; want %d, %d, %q", len(runs), count.done, words, c.runs, c.ran, c.words)
		}
	}
}

// Runs on other devices are other runs, also if the rule that draws them reads the same.
func TestDevicesIdentifyRuns(t *testing.T) {
	plain, dir := ten(), t.TempDir()
	trace := filepath.Join(dir, "devices.csv")
	on := func(rule sim.Rule) *fedkit.Federation {
		return must.M1(plain.WithDevices(rule))
	}
	rows := func(speed string) sim.Rule {
		must.M(os.WriteFile(trace, []byte("per_example\n"+strings.Repeat(speed+"\n", plain.Size())), 0o600))
		return sim.Trace{File: trace}
	}
	given := func(speed float64) sim.Rule {
		return sim.Given(slices.Repeat([]sim.Device{{PerExample: speed}}, plain.Size()))
	}
	for _, c := range []struct {
		fed   *fedkit.Federation
		words string
	}{
		{plain, "0 stored, 1 to run\n"},
		{on(sim.Devices{PerExample: sim.Constant(0.1)}), "0 stored, 1 to run: devices: sim.Devices{PerExample: sim.Constant(0.1)}, was none\n"},
		{on(sim.Devices{PerExample: sim.Constant(0.2)}), "0 stored, 1 to run: devices: sim.Devices{PerExample: sim.Constant(0.2)}, was none\n"},
		{on(given(0.3)), ""},
		{on(given(0.4)), ""},
		{on(given(0.3)), "1 stored, 0 to run\n"},
		{on(rows("0.3")), "1 stored, 0 to run\n"}, // the same devices
		{on(rows("0.5")), ""},
		{plain, "1 stored, 0 to run\n"},
	} {
		st := study.New(filepath.Join(dir, "runs"))
		st.Add(c.fed, avg(0.1), fedkit.Options{Rounds: 1})
		if _, words := run(t, st); words != c.words && (c.words != "" || !strings.Contains(words, "1 to run: devices: ")) {
			t.Errorf("%v: %q, want %q", c.fed, words, c.words)
		}
	}
}

// counter counts the runs that were computed here, and those that other processes finished.
type counter struct {
	sync.Mutex
	begun, done, others int
	here                map[*fedkit.History]bool
}

func (c *counter) Start(h *fedkit.History, _ int) {
	c.Lock()
	defer c.Unlock()
	if c.begun++; c.here == nil {
		c.here = map[*fedkit.History]bool{}
	}
	c.here[h] = true
}

func (c *counter) Round(*fedkit.History, int) {}
func (c *counter) Done(h *fedkit.History, err error) {
	c.Lock()
	defer c.Unlock()
	if c.here[h] || err != nil {
		c.done++
	} else if len(h.Rounds) > 0 {
		c.others++
	}
}

// holds wraps a strategy, without Unwrap.
type holds struct{ Inner *strategy.FedAvg }

func (h *holds) Start(r *fedkit.Round) error          { return h.Inner.Start(r) }
func (h *holds) Round(r *fedkit.Round) error          { return h.Inner.Round(r) }
func (h *holds) Serve(r *fedkit.Round) fedkit.Serving { return h.Inner.Serve(r) }

// A stored run equals the run alone, whatever runs concurrently, and however a strategy wraps another.
func TestStoredRunsAreRuns(t *testing.T) {
	fed := ten()
	strategies := []fedkit.Strategy{avg(0.1), &strategy.SCAFFOLD{Fraction: 0.5, Local: fedkit.Local{Batch: 16, LR: 0.1}}, &strategy.IFCA{K: 2, Fraction: 0.5}, &holds{avg(0.1)}}
	if c, err := fedkit.Clone(strategies[3]); err != nil || c.(*holds).Inner == strategies[3].(*holds).Inner || c.(*holds).Inner.Local.LR != 0.1 {
		t.Error(c, err)
	}
	var stored [2][]string
	for i, parallel := range []int{1, 4} {
		st := study.New(t.TempDir())
		st.Parallel = parallel
		for _, s := range strategies {
			three(st, fed, s, 3)
		}
		runs, _ := run(t, st)
		for _, h := range runs.Histories() {
			stored[i] = append(stored[i], withoutTimes(h))
		}
	}
	var alone []string
	for _, s := range strategies {
		for seed := range uint64(3) {
			h := must.M1(fedkit.Run(ctx, fed, s, fedkit.Options{Rounds: 3, Seed: seed}))
			alone = append(alone, withoutTimes(h))
		}
	}
	for i, want := range alone {
		if stored[0][i] != want || stored[1][i] != want {
			t.Errorf("run %d: one at a time\n%s\nside by side\n%s\nwant\n%s", i, stored[0][i], stored[1][i], want)
		}
	}
}

// What is part of the key, and what is not.
func TestWhatIdentifiesARun(t *testing.T) {
	fed, st := ten(), study.New(t.TempDir())
	wider := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10, Seed: 1}, func(d *datasets.Dataset) (*fedkit.Task, error) {
		task, err := model.MLP(9)(d)
		if err == nil {
			task.Name = fed.Task.Name
		}
		return task, err
	}))
	attacked := func(scale float64, seed uint64) *fedkit.Federation {
		return must.M1(attack.Apply(fed, 0.2, attack.SignFlip{Scale: scale}, seed))
	}
	timed := func(s float64) *fedkit.Federation {
		return must.M1(fed.WithDevices(sim.Devices{PerExample: sim.Constant(s)}))
	}
	o, local := fedkit.Options{Rounds: 1, Seed: 1}, fedkit.Local{Batch: 16, LR: 0.1}
	for _, f := range []*fedkit.Federation{
		fed, must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10, Seed: 2}, model.MLP(8))), wider, attacked(2, 1), attacked(3, 1), attacked(2, 2),
		must.M1(fed.HoldOut(2, 1)), must.M1(fed.HoldOut(2, 2)), timed(1), timed(2),
	} {
		st.Add(f, avg(0.1), o)
	}
	for _, s := range []fedkit.Strategy{
		avg(0.2), &strategy.FedAvg{Fraction: 0.5, Local: local, Aggregator: aggregate.Median{}}, &strategy.FedMedian{Fraction: 0.5, Local: local},
	} {
		st.Add(fed, s, o)
	}
	for _, o := range []fedkit.Options{
		{Rounds: 2, Seed: 1}, {Rounds: 1, Seed: 2}, {Rounds: 1, Seed: 1, NotFinite: fedkit.Skip},
		{Rounds: 1, Seed: 1, Metrics: []fedkit.Metric{metric.Func("examples", examples)}}, {Rounds: 1, Seed: 1, Metrics: []fedkit.Metric{metric.Func("n", examples)}},
		{Rounds: 1, Seed: 1, EvalEvery: 1}, {Rounds: 1, Seed: 1, Concurrency: 2}, {Rounds: 1, Seed: 1, Name: "name"}, // the last three are not
	} {
		st.Add(fed, avg(0.1), o)
	}
	runs, _ := run(t, st)
	ids := map[string]int{}
	for i, r := range runs {
		if first, known := ids[r.Key]; known != (i >= len(runs)-3) || first != 0 {
			t.Errorf("runs %d and %d: one key: %v", first, i, known)
		} else if !known {
			ids[r.Key] = i
		}
	}
}

// examples is a user's metric.
func examples(p *fedkit.Predictions) float64 { return float64(len(p.Outputs)) }

// Mistakes are reported before anything runs.
func TestStudiesThatCannotRun(t *testing.T) {
	fed, dir := ten(), t.TempDir()
	closure := fedkit.SelectorFunc(func(r *fedkit.Round, n int) []int { return r.AllClients()[:n] })
	o := fedkit.Options{Rounds: 1}
	file := filepath.Join(dir, "file")
	must.M(os.WriteFile(file, nil, 0o666))
	for _, c := range []struct {
		words string
		add   func(st *study.Study)
	}{
		{"no run was added", func(*study.Study) {}},
		{`Study.Dir = "": must be the folder`, func(st *study.Study) { st.Dir = ""; st.Add(fed, avg(0.1), o) }},
		{"Study.Parallel = -1: must be", func(st *study.Study) { st.Parallel = -1; st.Add(fed, avg(0.1), o) }},
		{"run 2: fedkit: FedAvg: invalid: Fraction = 2: must be in (0, 1]", func(st *study.Study) { st.Add(fed, avg(0.1), o); st.Add(fed, &strategy.FedAvg{Fraction: 2}, o) }},
		{"run 1: FedAvg: invalid: Selector = a function without a name: must be one that is declared", func(st *study.Study) { st.Add(fed, &strategy.FedAvg{Selector: closure}, o) }},
		{"run 1: invalid: Options.Checkpoint = x: must be left out", func(st *study.Study) { st.Add(fed, avg(0.1), fedkit.Options{Rounds: 1, Checkpoint: "x"}) }},
		{"run 1: invalid: Options.History = x: must be left out", func(st *study.Study) { st.Add(fed, avg(0.1), fedkit.Options{Rounds: 1, History: "x"}) }},
		{"run 1: invalid: strategy = nil", func(st *study.Study) { st.Add(fed, nil, o) }},
		{"run 1: fedkit: invalid: federation = nil", func(st *study.Study) { st.Add(nil, avg(0.1), o) }},
		{"run 1: invalid: labels = α: must be pairs", func(st *study.Study) { st.Add(fed, avg(0.1), o, "α") }},
		{"run 1: invalid: label = 1: must be a key", func(st *study.Study) { st.Add(fed, avg(0.1), o, 1, "α") }},
		{`run 1: invalid: label = "α" given twice`, func(st *study.Study) { st.Add(fed, avg(0.1), o, "α", 1, "α", 2) }},
		{`run 2: invalid: another run is called "FedAvg, α 1, seed 0" too: it differs in Local.LR: 0.2, was 0.1`,
			func(st *study.Study) { st.Add(fed, avg(0.1), o, "α", 1); st.Add(fed, avg(0.2), o, "α", 1) }},
		{"Study.Watch = nil *study_test.counter: must be", func(st *study.Study) { st.Watch = (*counter)(nil); st.Add(fed, avg(0.1), o) }},
		{"run 1: invalid: Options.Watch = *study_test.counter: must be left out", func(st *study.Study) {
			st.Add(fed, avg(0.1), fedkit.Options{Rounds: 1, Watch: &counter{}})
		}},
		{"run 1: strategy: panic: lost", func(st *study.Study) { st.Add(fed, &panicking{}, o) }},
		{"run 1: invalid: strategy.inner = unexported: must be exported", func(st *study.Study) { st.Add(fed, &hides{inner: avg(0.1)}, o) }},
		{"Study.Dir = " + file + ": must be a folder that can be written to", func(st *study.Study) { st.Dir = file; st.Add(fed, avg(0.1), o) }},
	} {
		st := study.New(filepath.Join(dir, "runs"))
		st.Watch, st.Log = &counter{}, io.Discard
		c.add(st)
		expect.Error(t, c.words)(st.Run(ctx))
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was written:", err)
	}
	st := study.New(filepath.Join(dir, "runs"))
	st.Add(fed, avg(0.1), o) // distinguished by their options
	st.Add(fed, avg(0.2), o)
	if runs, _ := run(t, st); len(runs) != 2 {
		t.Error(runs)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	st = quiet(t)
	st.Add(fed, avg(0.1), o)
	if runs, err := st.Run(canceled); !errors.Is(err, context.Canceled) || len(runs) != 0 {
		t.Error(runs, err)
	}
}

// panicking panics when it is unwrapped; hides wraps a strategy that is neither copied nor part of the key.
type (
	panicking struct{ strategy.FedAvg }
	hides     struct {
		strategy.FedAvg
		inner *strategy.FedAvg
	}
)

func (*panicking) Unwrap() fedkit.Strategy { panic("lost") }

// A failed run is an entry, and the others go on. It is not retried if its training failed.
func TestFailedRuns(t *testing.T) {
	fed, dir := ten(), t.TempDir()
	count := &counter{}
	make := func() (study.Runs, string) {
		st := study.New(dir)
		st.Watch = count
		count.done = 0
		st.Add(fed, avg(1e30), fedkit.Options{Rounds: 3}, "η", "huge")
		st.Add(fed, &panics{}, fedkit.Options{Rounds: 3})
		st.Add(fed, avg(0.1), fedkit.Options{Rounds: 3})
		return run(t, st)
	}
	runs, _ := make()
	failed := runs.Failed()
	if len(runs) != 3 || len(failed) != 2 || len(runs.Histories()) != 1 {
		t.Fatal(runs, failed)
	}
	if err := failed[0].Err(); !strings.Contains(fmt.Sprint(err), "FedAvg, η huge: ") || !strings.Contains(fmt.Sprint(err), "client") {
		t.Error(err)
	}
	if err := failed[1].Err(); !strings.Contains(fmt.Sprint(err), "round 2: ") {
		t.Error(err)
	}
	if h, err := failed[1].History(); err != nil || len(h.Rounds) != 1 {
		t.Error(h, err)
	}
	if again, words := make(); len(again.Failed()) != 2 || count.done != 1 || !strings.HasPrefix(words, "2 stored, 1 to run: failed before: ") {
		t.Error(len(again), count.done, words)
	}
}

// panics in its second round.
type panics struct{ strategy.FedAvg }

func (p *panics) Round(r *fedkit.Round) error {
	if r.T == 2 {
		panic("lost")
	}
	return p.FedAvg.Round(r)
}

func TestListing(t *testing.T) {
	fed, dir := ten(), t.TempDir()
	st := study.New(dir)
	three(st, fed, avg(0.1), 2, "α", 0.5)
	three(st, fed, &strategy.FedProx{Mu: 0.1}, 2, "α", 1)
	runs, _ := run(t, st)
	listed, none := study.List(dir)
	if none != nil || len(listed) != 6 {
		t.Fatal(listed, none)
	}
	byID := func(a, b *study.Run) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(runs, byID)
	for i := range runs {
		a, b := *listed[i], *runs[i]
		x, _ := json.Marshal(a.About)
		y, _ := json.Marshal(b.About)
		if a.About, b.About = nil, nil; !reflect.DeepEqual(a, b) || !bytes.Equal(x, y) {
			t.Errorf("%+v, want %+v\n%s\n%s", a, b, x, y)
		}
	}
	for _, c := range []struct {
		some study.Runs
		want int
	}{
		{listed.Where("α", 0.5), 3}, {listed.Where("α", 0.5, "seed", 1), 1}, {listed.Where("strategy", "FedProx"), 3}, {listed.Where("Mu", 0.1), 3},
		{listed.Where("Local.LR", 0.1), 3}, {listed.Where("Rounds", 2), 6}, {listed.Where("α", 2), 0}, {listed.Where("data", "digits"), 6}, {listed.Where("name", "FedAvg"), 3},
	} {
		if len(c.some) != c.want {
			t.Errorf("%d runs, want %d", len(c.some), c.want)
		}
	}
	if got := listed.Values("α"); !slices.Equal(got, []string{"0.5", "1"}) {
		t.Error(got)
	}
	var names []string
	for _, h := range slices.Concat(listed.Histories()[2:4], listed.Where("α", 1).Light()[:1]) {
		names = append(names, h.Name)
	}
	if want := []string{"FedAvg, α 0.5", "FedProx, α 1", "FedProx"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}

	// An entry of a newer fedkit is left alone.
	must.M(alter(listed[0].Path("entry.json"), `"schema": 2`, `"schema": 3`))
	if _, err := st.Run(ctx); !errors.Is(err, history.ErrNewer) || !strings.Contains(err.Error(), "schema 3") {
		t.Error(err)
	}
	left, damaged := study.List(dir)
	if len(left) != 5 || len(damaged) != 1 || !errors.Is(damaged[0], history.ErrNewer) {
		t.Error(left, damaged)
	}

	size := left.Size()
	if err := left.Where("strategy", "FedProx").Remove(); err != nil {
		t.Error(err)
	}
	if left, _ = study.List(dir); len(left) != 2 || left.Size() >= size || left.Size() == 0 {
		t.Error(left, left.Size(), size)
	}
	if none, damaged := study.List(filepath.Join(dir, "nowhere")); none != nil || damaged != nil {
		t.Error(none, damaged)
	}
}

// alter replaces a text in a file.
func alter(path, old, by string) error {
	b, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(b, []byte(old)) {
		err = fmt.Errorf("no %s in %s", old, b)
	}
	if err == nil {
		err = os.WriteFile(path, bytes.Replace(b, []byte(old), []byte(by), 1), 0o666)
	}
	return err
}

// Final models are kept on request, also of runs that were stored without.
func TestFinalModels(t *testing.T) {
	fed, dir := ten(), t.TempDir()
	for _, words := range []string{"0 stored, 2 to run\n", "0 stored, 2 to run: models were not kept\n", "2 stored, 0 to run\n"} {
		st := study.New(dir)
		st.Models = !strings.HasPrefix(words, "0 stored, 2 to run\n")
		st.Add(fed, avg(0.1), fedkit.Options{Rounds: 2})
		st.Add(fed, &strategy.IFCA{K: 2}, fedkit.Options{Rounds: 2})
		runs, said := run(t, st)
		if said != words || runs[0].Models != st.Models {
			t.Errorf("%q, want %q", said, words)
		}
		if !st.Models {
			continue
		}
		one, err := runs[0].Final(fed.Task)
		if err != nil || one.Global.Rows() != 1 || one.Models != nil {
			t.Error(one, err)
		}
		if two, err := runs[1].Final(fed.Task); err != nil || two.Models.Rows() != 2 || len(two.Assign) != 10 {
			t.Error(two, err)
		}
	}
}

// A stored run of other code is served, with a warning.
func TestOtherCode(t *testing.T) {
	fed, dir := ten(), t.TempDir()
	make := func() (study.Runs, string) {
		st := study.New(dir)
		st.Add(fed, avg(0.1), fedkit.Options{Rounds: 1})
		return run(t, st)
	}
	runs, _ := make()
	code := runs[0].About.Code
	must.M(study.AlterEntry(runs[0].Path("entry.json"), code, "fedkit older"))
	want := "1 stored, 0 to run\n1 of the stored runs were computed by other code (fedkit older; this is " + code + "): Study.Recompute computes them again\n"
	if runs, words := make(); words != want || runs[0].About.Code != "fedkit older" {
		t.Errorf("%q, want %q", words, want)
	}
}

// A run of more rounds goes on from that of fewer, and ends as if it had not.
func TestMoreRounds(t *testing.T) {
	fed, computed, ends := ten(), []int(nil), []string(nil)
	for _, lengths := range [][]int{{2, 4, 6}, {6}} {
		st := study.New(t.TempDir())
		st.Parallel, st.Watch = 1, rounds(func(h *fedkit.History) { computed = append(computed, h.Last().Round) })
		for _, n := range lengths {
			st.Add(fed, avg(0.1), fedkit.Options{Rounds: n, Seed: 3, EvalEvery: 3, Keep: fedkit.Keep{Results: 5}})
		}
		runs, _ := run(t, st)
		for _, r := range runs {
			if r.Rounds == 6 {
				ends = append(ends, withoutTimes(expect.Value(r.History())(t)))
			}
			if left, _ := filepath.Glob(r.Path("checkpoint*")); left != nil {
				t.Errorf("a run of %d rounds left %v", r.Rounds, left)
			}
		}
	}
	if want := []int{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}; !slices.Equal(computed, want) {
		t.Errorf("computed %v, want %v", computed, want)
	}
	if ends[0] != ends[1] {
		t.Errorf("a run of 6 rounds ended with %s, alone with %s", ends[0], ends[1])
	}
}

// A run that StopAt ends is complete: it is stored, says why it ended, here and in an extract, and is not computed again. One of more
// rounds ends where it did.
func TestRunsThatEndEarly(t *testing.T) {
	fed, dir, computed := ten(), t.TempDir(), 0
	for i, lengths := range [][]int{{8}, {8}, {8, 20}, {20, 30, 40}} {
		st := study.New(dir)
		st.Parallel, st.Models, st.Watch = 1, true, rounds(func(*fedkit.History) { computed++ })
		for _, n := range lengths {
			st.Add(fed, avg(0.1), fedkit.Options{Rounds: n, EvalEvery: 2, StopAt: fedkit.StopAt{Quantity: "loss", Value: 100}})
		}
		runs, _ := run(t, st)
		for _, r := range append(runs, extracted(runs, t.TempDir())...) {
			h := expect.Value(r.History())(t)
			if r.Rounds != 2 || h.Stopped || !strings.Contains(h.Early, "in round 2 reached 100") || r.About.Early != h.Early {
				t.Errorf("study %d: %d rounds, stopped %v, early %q and %q", i, r.Rounds, h.Stopped, h.Early, r.About.Early)
			}
			if left, _ := filepath.Glob(r.Path("checkpoint*")); left != nil {
				t.Errorf("it left %v", left)
			}
		}
	}
	if computed != 6 {
		t.Errorf("%d rounds were computed, want 2 of the first run, 2 of the one of 20 rounds, and 2 of those of 30 and 40", computed)
	}
}

// rounds observes rounds.
type rounds func(h *fedkit.History)

func (r rounds) Round(h *fedkit.History, _ int) { r(h) }
func (rounds) Done(*fedkit.History, error)      {}

// Two studies of one program may share a folder.
func TestTwoStudiesOfOneProgram(t *testing.T) {
	fed, dir := ten(), t.TempDir()
	var count [2]counter
	var both sync.WaitGroup
	for i := range count {
		both.Go(func() {
			st := study.New(dir)
			st.Watch, st.Log = &count[i], io.Discard
			three(st, fed, avg(0.1), 10)
			if runs, err := st.Run(ctx); err != nil || len(runs) != 3 || len(runs.Failed()) > 0 {
				t.Error(runs, err)
			}
		})
	}
	both.Wait()
	for i := range count {
		if n := count[i].done + count[i].others; n != 3 || count[0].begun+count[1].begun != 3 || count[0].done+count[1].done != 3 {
			t.Errorf("study %d: %d runs were begun, %d computed, %d by the other", i, count[i].begun, count[i].done, count[i].others)
		}
	}
}

// A run whose lock another process has ends at once, and writes nothing more. The other runs go on.
func TestRunTakenOver(t *testing.T) {
	study.Renew(time.Millisecond)
	defer study.Renew(5 * time.Second)
	st, theirs := study.New(t.TempDir()), ""
	put := func(path string) {
		must.M(errors.Join(os.WriteFile(path+"~", []byte("theirs"), 0o600), os.Rename(path+"~", path)))
	}
	st.Parallel, st.Log, st.Watch = 1, io.Discard, rounds(func(h *fedkit.History) {
		if h.Last().Round == 3 {
			locks, _ := filepath.Glob(filepath.Join(st.Dir, ".locks", "*"))
			theirs = filepath.Join(st.Dir, filepath.Base(locks[0]))
			for _, path := range []string{locks[0], filepath.Join(theirs, "checkpoint"), filepath.Join(theirs, "checkpoint.rounds")} {
				put(path)
			}
		}
	})
	st.Add(ten(), avg(0.1), fedkit.Options{Rounds: 1_000_000})
	st.Add(ten(), avg(0.1), fedkit.Options{Rounds: 2})
	runs, err := st.Run(ctx)
	if len(runs) != 1 || runs[0].Rounds != 2 || err == nil || !strings.HasPrefix(err.Error(), "study: 1 of 2 runs are left: study: FedAvg: another process took the run over") {
		t.Error(runs, err)
	}
	for _, e := range must.M1(os.ReadDir(theirs)) {
		if b := must.M1(os.ReadFile(filepath.Join(theirs, e.Name()))); string(b) != "theirs" || !strings.HasPrefix(e.Name(), "checkpoint") {
			t.Errorf("%s: %.20q", e.Name(), b)
		}
	}
	if runs, _ := study.List(st.Dir); len(runs.Failed()) > 0 || len(study.Computing(st.Dir)) != 1 {
		t.Error(runs.Failed())
	}
}

// The folder is that of when Run begins, and may have any name.
func TestFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	var st study.Study
	st.Add(ten(), avg(0.1), fedkit.Options{Rounds: 1}, "label\n/", "\x00")
	st.Dir = "runs [α] *"
	runs, _ := run(t, &st)
	expect.Value(runs[0].History())(t)
	files, all := expect.Value(os.ReadDir(runs[0].Path(".")))(t), expect.Value(os.ReadDir("."))(t)
	if listed, damaged := study.List(st.Dir); len(listed) != 1 || damaged != nil || len(files) != 2 || len(all) != 1 {
		t.Error(listed, damaged, files, all)
	}
}

// A run that is recomputed does not resume from a checkpoint. One that cannot begin keeps it, and one whose checkpoint is damaged starts
// over, and says so.
func TestCheckpoints(t *testing.T) {
	fed, st := ten(), study.New(t.TempDir())
	st.Add(fed, avg(0.1), fedkit.Options{Rounds: 3})
	runs, _ := run(t, st)
	path, accuracy := runs[0].Path("checkpoint"), runs[0].Accuracy
	begin := func() {
		for range fedkit.Rounds(ctx, fed, avg(0.1), fedkit.Options{Rounds: 3, Checkpoint: path}) {
			break
		}
	}
	goesOn := func(from int, says string) {
		t.Helper()
		computed := 0
		st.Watch = rounds(func(*fedkit.History) { computed++ })
		if again, words := run(t, st); again[0].Rounds != 3 || computed != 4-from || again[0].Accuracy != accuracy || !strings.Contains(words, says) {
			t.Errorf("%d rounds of %v computed: %s, want %s", computed, again[0], words, says)
		}
	}
	begin()
	st.Recompute = true
	goesOn(1, "all again")
	st.Recompute = false
	expect.OK(t, runs.Remove())
	begin()
	expect.OK(t, os.Mkdir(path+".new", 0o700)) // where the next one is written
	if failed, _ := run(t, st); len(failed.Failed()) != 1 || !failed[0].Retry {
		t.Error(failed)
	}
	expect.OK(t, os.Remove(path+".new"))
	goesOn(2, "1 to run: failed before: ")
	expect.OK(t, errors.Join(runs.Remove(), os.MkdirAll(runs[0].Path("."), 0o700), os.WriteFile(path, []byte("altered"), 0o600)))
	goesOn(1, "FedAvg starts over: fedkit: FedAvg: checkpoint ")
}

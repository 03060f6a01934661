package fedkit

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/checkpoint"
	"fedkit.example/fedkit/sim"
)

// forgetful keeps its model, but not in State.
type forgetful struct {
	mean
	State *struct{ lost int }
}

type stateless struct{ x *Matrix }

func (s *stateless) Start(r *Round) error   { s.x = r.Models(1); return r.Err() }
func (s *stateless) Round(r *Round) error   { return r.Err() }
func (s *stateless) Serve(r *Round) Serving { return Serving{Global: s.x} }

// wrapper counts the rounds of the strategy in it.
type wrapper struct {
	Strategy
	Loud  bool
	State struct{ Rounds int }
}

func (s *wrapper) Round(r *Round) error {
	s.State.Rounds++
	r.Note("rounds", float64(s.State.Rounds))
	return s.Strategy.Round(r)
}

func (s *wrapper) Unwrap() Strategy { return s.Strategy }

// closed hides that it wraps a strategy.
type closed struct{ Strategy }

type secret struct {
	stateless
	inner Strategy
	State struct{}
}

func (s *secret) Unwrap() Strategy { return s.inner }

type ensemble struct {
	mean
	All []Strategy
}

type inside struct {
	Inner mean
	stateless
	State struct{}
}

type hidden[S Strategy] struct {
	stateless
	inner S
	State struct{}
}

// keeps is a strategy whose State is of any type.
type keeps[T any] struct {
	stateless
	Any   any
	State T
}

func TestCheckpointsThatCannotWork(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	type twice struct {
		Deep map[string][]struct{ Do func() }
	}
	for _, c := range []struct {
		s    Strategy
		want string // "" if the run is fine
	}{
		{&stateless{}, "State = missing: must be an exported field with all that outlives a round (struct{} if nothing does)"},
		{&forgetful{}, "State.lost = unexported: must be exported, or encoding/gob leaves it out"},
		{&keeps[twice]{}, "State.Deep[…][…].Do = func(): must be of a type that encoding/gob saves whole"},
		{&keeps[chan int]{}, "State = chan int: must be"},
		{&keeps[map[any]int]{}, "State[key] = interface {}: must be"},
		{&keeps[[]*struct{ error }]{}, "State[…].error = unexported: must be"},
		{&closed{&mean{}}, "Strategy = *fedkit.mean: must be returned by a method Unwrap() fedkit.Strategy"},
		{&wrapper{Strategy: &closed{&mean{}}}, "Strategy.Strategy = *fedkit.mean: must be returned by a method Unwrap()"},
		{&wrapper{Strategy: &forgetful{}}, "Strategy.State.lost = unexported"},
		{&ensemble{All: []Strategy{nil, &mean{}}}, "All[1] = *fedkit.mean: must be returned by"},
		{&inside{}, "Inner = fedkit.mean: must be returned by"},
		{&hidden[Strategy]{inner: &mean{}}, "inner = unexported: must be exported and returned by a method Unwrap()"},
		{&hidden[*mean]{inner: &mean{}}, "inner = unexported: must be exported"},
		{&keeps[*int]{}, "State = *int: must be no pointer"},
		{&keeps[struct{}]{}, ""},
		{&keeps[struct {
			X    *Matrix
			Y    map[string][]*Matrix
			At   time.Time
			None struct{}
			_    int
		}]{}, ""},
		{&wrapper{Strategy: &wrapper{Strategy: &mean{}}}, ""},
	} {
		o := Options{Rounds: 1, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
		if c.want != "" {
			expect.Refused(t, c.want)(Run(context.Background(), fed, c.s, o))
			o.Checkpoint = ""
		}
		if _, err := Run(context.Background(), fed, c.s, o); err != nil {
			t.Errorf("%T with the checkpoint %q: %v", c.s, o.Checkpoint, err)
		}
	}
}

// What a wrapper wraps must be a strategy that is seen.
func TestWrappersThatCannotRun(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	loop := &wrapper{}
	loop.Strategy = loop
	for _, c := range []struct {
		s    Strategy
		want string
	}{
		{&wrapper{}, "strategy.Unwrap() = nil: must be a strategy"},
		{&wrapper{Strategy: (*mean)(nil)}, "strategy.Unwrap() = nil: must be a strategy"},
		{loop, "strategy.Unwrap() = *fedkit.wrapper: must be a strategy that does not wrap itself"},
		{&secret{inner: &mean{}}, "strategy.Unwrap() = *fedkit.mean: must be a pointer that an exported field of *fedkit.secret holds"},
		{&wrapper{Strategy: &mean{Local: Local{Batch: -2, LR: 1}}}, "Strategy.Local.Batch = -2"},
		{&wrapper{Strategy: &partial{Fraction: 2}}, "Fraction = 2"},
	} {
		expect.Refused(t, c.want)(Run(context.Background(), fed, c.s, Options{Rounds: 1}))
	}
}

// partial asks two of four clients.
type partial struct {
	mean
	Fraction float64
	Part     perRound
}

// perRound is a part that expects two clients.
type perRound struct{ N int }

func (p perRound) Check(_ *Federation, n int) error {
	if n != p.N {
		return Invalid("N", p.N, fmt.Sprint(n))
	}
	return nil
}

// A wrapped strategy resumes as it would alone, and so does what the wrapper keeps.
func TestWrappedStrategyResumes(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2, 5)
	make := func() *wrapper {
		inner := &partial{mean{Local: Local{Batch: 4, LR: 0.1}}, 0.5, perRound{2}}
		return &wrapper{Strategy: &wrapper{Strategy: inner}, Loud: true}
	}
	want := expect.Value(Run(context.Background(), fed, make(), Options{Rounds: 6}))(t)
	expect.That(t, want.Name == "partial" && want.Config.String() == "fedkit.wrapper{Loud: true, Strategy: fedkit.wrapper{Strategy: fedkit.partial{Fraction: 0.5, Local: {Batch: 4, LR: 0.1}, Part: {N: 2}}}}",
		"%s, %s", want.Name, want.Config)
	o := Options{Rounds: 6, Checkpoint: filepath.Join(t.TempDir(), "new", "checkpoint")}
	s := make()
	for h, err := range Rounds(context.Background(), fed, s, o) {
		expect.OK(t, err)
		if inner := s.Unwrap(); len(h.Rounds) == 1 {
			expect.Invalid(t)(Run(context.Background(), fed, inner, Options{Rounds: 1}))
		}
		if len(h.Rounds) == 4 {
			break
		}
	}
	got := expect.Value(Run(context.Background(), fed, make(), o))(t)
	for i := range want.Rounds {
		if a, b := want.Rounds[i], got.Rounds[i]; !reflect.DeepEqual(a.Scores, b.Scores) || !reflect.DeepEqual(a.Notes, b.Notes) {
			t.Errorf("round %d: %+v; without interruption %+v", i+1, b, a)
		}
	}
}

// shrinking starts with more than it keeps.
type shrinking struct {
	mean
	State struct {
		X    *Matrix
		Left int
		More map[string]int
	}
}

func (s *shrinking) Start(r *Round) error {
	s.State.X, s.State.Left, s.State.More = r.Models(1), 3, map[string]int{"a": 1}
	return r.Err()
}

func (s *shrinking) Round(r *Round) error { s.State.Left, s.State.More = 0, nil; return r.Err() }
func (s *shrinking) Serve(*Round) Serving { return Serving{Global: s.State.X} }

// What became zero is zero after a resume, whatever Start sets.
func TestResumeForgetsStart(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	o := Options{Rounds: 1, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	for range 2 {
		s := &shrinking{}
		if _, err := Run(context.Background(), fed, s, o); err != nil || s.State.Left != 0 || s.State.More != nil || s.State.X == nil {
			t.Errorf("%+v, %v", s.State, err)
		}
	}
}

func unexpected(*Round, *Job) { panic("a round was run") }

// A checkpoint that cannot be written is found before the first round, and leaves nothing behind.
func TestCheckpointsThatCannotBeWritten(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	expect.OK(t, os.WriteFile(file, nil, 0o644))
	paths := []string{dir, dir + "/new/", file + "/checkpoint"}
	if os.Getuid() != 0 { // whom no mode stops
		closed := filepath.Join(dir, "closed")
		expect.OK(t, os.Mkdir(closed, 0o555))
		paths = append(paths, closed+"/checkpoint", closed+"/new/checkpoint")
	}
	for _, path := range paths {
		expect.Refused(t, "Options.Checkpoint = "+path+": must be a file that can be written")(
			Run(context.Background(), fed, &mean{Before: unexpected}, Options{Rounds: 2, Checkpoint: path}))
	}
	path := filepath.Join(dir, "good", "checkpoint")
	expect.Error(t)(Run(context.Background(), fed, &mean{Before: unexpected}, Options{Rounds: 2, Checkpoint: path}))
	left, err := os.ReadDir(filepath.Dir(path))
	expect.That(t, err == nil && len(left) <= 0, "%v, %v without a round", left, err)
}

// A checkpoint goes on for more rounds, and under no other options that change results.
func TestCheckpointsKeepTheirSettings(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	for words, change := range map[string]func(*Options){
		"Options.EvalEvery: 2, was 1":                  func(o *Options) { o.EvalEvery = 2 },
		"Options.NotFinite: 1, was not set":            func(o *Options) { o.NotFinite = Skip },
		"Options.Keep: {Results: 2}, was not set":      func(o *Options) { o.Keep.Results = 2 },
		"must be another file than Options.Checkpoint": func(o *Options) { o.History = o.Checkpoint },
		"": func(o *Options) { o.Rounds = 5 },
	} {
		o := Options{Rounds: 4, Checkpoint: filepath.Join(t.TempDir(), "c")}
		upTo(t, fed, trained(), o, 2)
		change(&o)
		if h, err := Run(context.Background(), fed, trained(), o); words != "" {
			expect.Invalid(t, words)(err)
		} else if err != nil || len(h.Rounds) != 5 {
			t.Errorf("%v, %v", h, err)
		}
	}
}

// bytesOf is a State, and the rounds of a history without times.
func bytesOf(t testing.TB, state any, h *History) []byte {
	var b bytes.Buffer
	expect.OK(t, gob.NewEncoder(&b).Encode(state))
	own := *h
	own.Rounds = slices.Clone(h.Rounds)
	for i := range own.Rounds {
		own.Rounds[i].Seconds, own.Rounds[i].EvalTime = 0, 0
	}
	path := filepath.Join(t.TempDir(), "h")
	expect.OK(t, own.Save(path))
	file := expect.Value(os.ReadFile(path))(t)
	return append(b.Bytes(), file...)
}

// warnings collects what is logged.
func warnings(t *testing.T) *strings.Builder {
	b, before := &strings.Builder{}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(b, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return b
}

// upTo runs a strategy with a checkpoint, up to a round.
func upTo(t testing.TB, fed *Federation, s Strategy, o Options, round int) *History {
	t.Helper()
	for h, err := range Rounds(context.Background(), fed, s, o) {
		expect.OK(t, err)
		if len(h.Rounds) == round {
			return h
		}
	}
	t.Fatalf("round %d was not reached", round)
	return nil
}

func trained() *mean { return &mean{Local: Local{Batch: 4, LR: 0.1}} }

// contents are the files of a folder.
func contents(t testing.TB, dir string) map[string]string {
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		b := expect.Value(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		all[e.Name()] = string(b)
	}
	expect.OK(t, err)
	return all
}

func restore(t testing.TB, dir string, files map[string]string) {
	for name := range contents(t, dir) {
		expect.OK(t, os.Remove(filepath.Join(dir, name)))
	}
	for name, text := range files {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

// Whichever byte of a checkpoint or of its rounds is altered, and wherever they are cut off: the run goes on from the
// checkpoint before, says so, and ends with the same bytes; or it is refused, and nothing is lost.
func TestDamagedCheckpoints(t *testing.T) {
	expect.Long(t, "one run after the other")
	fed, _ := toy(t, 4, 9)
	s := trained()
	h := expect.Value(Run(context.Background(), fed, s, Options{Rounds: 4}))(t)
	want := bytesOf(t, s.State, h)
	dir := t.TempDir()
	path := filepath.Join(dir, "c")
	o := Options{Rounds: 4, Checkpoint: path}
	upTo(t, fed, trained(), o, 2)
	upTo(t, fed, trained(), o, 3)
	good := contents(t, dir)
	expect.Must(t, len(good) == 3 && good["c"] != "" && good["c.before"] != "" && good["c.rounds"] != "",
		"%d files beside a checkpoint", len(good))
	log := warnings(t)
	try := func(what string, files map[string]string) (err error) {
		t.Helper()
		restore(t, dir, files)
		log.Reset()
		s := trained()
		h, err := Run(context.Background(), fed, s, o)
		expect.Must(t, err != nil || bytes.Equal(want, bytesOf(t, s.State, h)), "%s: it goes on to other bytes", what)
		if left := contents(t, dir); err != nil && !reflect.DeepEqual(left, files) {
			t.Errorf("%s: refused with %v, but the files are not as they were", what, err)
		} else if err == nil && log.Len() > 0 && left["c.damaged"] != files["c"] {
			t.Errorf("%s: the damaged one is lost", what)
		}
		return err
	}
	with := func(name, text string) map[string]string {
		files := map[string]string{"c": good["c"], "c.before": good["c.before"], "c.rounds": good["c.rounds"]}
		if files[name] = text; text == "" {
			delete(files, name)
		}
		return files
	}
	flip := func(text string, i int) string { return text[:i] + string([]byte{text[i] ^ 0x20}) + text[i+1:] }
	for i := 0; i < len(good["c"]); i += 47 {
		if err := try("altered", with("c", flip(good["c"], i))); err != nil || !strings.Contains(log.String(), "from the checkpoint before") || !strings.Contains(log.String(), "round=2") {
			t.Errorf("with another byte %d of the checkpoint: %v, log %s", i, err, log)
		}
		err := try("cut", with("c", good["c"][:i]))
		expect.That(t, i <= 0 || err == nil && log.Len() != 0, "with %d bytes of the checkpoint: %v", i, err)
	}
	third := strings.LastIndex(good["c.rounds"], `{"round":3`)
	for i := 0; i < len(good["c.rounds"]); i += 47 {
		for what, text := range map[string]string{"altered": flip(good["c.rounds"], i), "cut": good["c.rounds"][:i]} {
			if text == "" {
				continue
			}
			err := try("rounds "+what, with("c.rounds", text))
			expect.That(t, (i < third || err == nil && log.Len() != 0) && (i >= third || err != nil && strings.Contains(err.Error(), path+": ") && strings.Contains(err.Error(), path+".before: ")),
				"with rounds %s at byte %d (the third begins at %d): %v", what, i, third, err)
		}
	}
	for _, files := range []map[string]string{with("c", ""), with("c.before", ""), {"c": good["c"], "c.rounds": good["c.rounds"] + "half a line", "c.new": "half a checkpoint"}} {
		if err := try("less", files); err != nil || log.Len() > 0 {
			t.Errorf("with %d files: %v, log %s", len(files), err, log)
		}
		if _, err := os.Lstat(path + ".new"); err == nil {
			t.Error("what a killed write left is still there")
		}
	}
	newer := []byte(good["c"])
	newer[len("fedkit checkpoint\n")] = 7
	err := try("newer", with("c", string(newer)))
	expect.That(t, err == nil && strings.Contains(log.String(), "a newer fedkit wrote it: format 7"), "a newer one: %v, log %s", err, log)
	files := with("c", string(newer))
	delete(files, "c.before")
	expect.Error(t, path+": a newer fedkit wrote it: format 7, this one reads 1")(try("newer", files))
	var older bytes.Buffer
	expect.OK(t, gob.NewEncoder(&older).Encode(struct {
		History, State []byte
		Layout         string
	}{[]byte("{}"), nil, "{}"}))
	expect.Error(t, "an older version of fedkit wrote it")(try("older", map[string]string{"c": older.String()}))
}

// What is beside a checkpoint is not used without it, so that removing it starts over; also if it is of another run, or damaged. A
// run that was killed when the old checkpoint had left its place and the new one had not taken it goes on.
func TestRemovedCheckpoints(t *testing.T) {
	fed, _ := toy(t, 4, 9)
	dir := t.TempDir()
	path := filepath.Join(dir, "c")
	o := Options{Rounds: 4, Checkpoint: path}
	upTo(t, fed, trained(), o, 2)
	upTo(t, fed, trained(), o, 3)
	good := contents(t, dir)
	for what, c := range map[string]struct {
		files map[string]string
		seed  uint64
		first int // round that is run
	}{
		"removed":                 {map[string]string{"c.before": good["c.before"], "c.rounds": good["c.rounds"]}, 0, 1},
		"of another run":          {map[string]string{"c.before": good["c.before"], "c.rounds": good["c.rounds"]}, 1, 1},
		"damaged beside":          {map[string]string{"c.before": "damaged", "c.rounds": "damaged"}, 0, 1},
		"removed after a kill":    {map[string]string{"c.before": good["c.before"], "c.rounds": good["c.rounds"], "c.new": good["c"][:99]}, 0, 1},
		"killed when it was free": {map[string]string{"c.before": good["c.before"], "c.rounds": good["c.rounds"], "c.new": good["c"]}, 0, 4},
		"damaged":                 {map[string]string{"c": "damaged", "c.before": good["c.before"], "c.rounds": good["c.rounds"]}, 0, 3},
	} {
		restore(t, dir, c.files)
		first := 0
		o.Seed, o.Watch = c.seed, watching(func(h *History) {
			if first == 0 {
				first = len(h.Rounds)
			}
		})
		h, err := Run(context.Background(), fed, trained(), o)
		expect.That(t, err == nil && len(h.Rounds) == 4 && first == c.first,
			"%s: it begins with round %d, error %v, want round %d", what, first, err, c.first)
	}
	// The one that was before a damaged one is the checkpoint now: killed at once, the run goes on from it.
	restore(t, dir, map[string]string{"c": "damaged", "c.before": good["c.before"], "c.rounds": good["c.rounds"]})
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	o.Seed = 0
	if _, err := Run(canceled, fed, trained(), o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	left := contents(t, dir)
	expect.That(t, left["c"] == good["c.before"] && left["c.damaged"] == "damaged", "%d files are left", len(left))
}

// watching is told of rounds.
type watching func(*History)

func (w watching) Round(h *History, _ int) { w(h) }
func (watching) Done(*History, error)      {}

// A checkpoint that is whole but says what cannot be is refused.
func TestCraftedCheckpoints(t *testing.T) {
	fed, _ := toy(t, 4, 9)
	dir := t.TempDir()
	path := filepath.Join(dir, "c")
	for want, rounds := range map[string][]Record{
		"client -1 of 2":         {{Round: 1, Results: []ClientResult{{Client: -1}}}},
		"client 99 of 2":         {{Round: 1, Results: []ClientResult{{Client: 99}}}},
		"round 1 after round 1":  {{Round: 1}, {Round: 1}},
		"1 of 2 rounds":          {{Round: 2}},
		"cluster 10000000000000": {{Round: 1, Clusters: []int{0, 1e18}}},
	} {
		s := trained()
		files, err := describedRun(fed, s, path)
		for i := range rounds {
			if err == nil {
				err = files.Add(&rounds[i])
			}
		}
		expect.OK(t, cmp.Or(err, files.Finish(nil)))
		files.Release()
		h, err := Run(context.Background(), fed, s, Options{Rounds: 4, Checkpoint: path})
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%v, error %v\nwant %s", h, err, want)
	}
}

// describedRun returns new files of a checkpoint that a run of a strategy would begin with.
func describedRun(fed *Federation, s *mean, path string) (*checkpoint.Files, error) {
	u, err := begin(fed, s, Options{Rounds: 4})
	if err != nil {
		return nil, err
	}
	u.release()
	_ = os.Remove(path)
	f, err := checkpoint.Open(checkpoint.Config{Checkpoint: path, Thin: func(*Record) {}}, u.h, u.states)
	if err == nil {
		_, err = f.Resume(nil)
	}
	return f, err
}

// A history that is streamed is the one that Run returns, whatever happens to the run.
func TestStreamedHistory(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	dir := t.TempDir()
	o := Options{Rounds: 6, EvalEvery: 2, History: filepath.Join(dir, "new", "h"), Checkpoint: filepath.Join(dir, "c"), Keep: Keep{Scores: 2, Results: 3, Clusters: Never}}
	same := func(h *History) {
		t.Helper()
		back, err := Load(o.History)
		expect.That(t, err == nil && reflect.DeepEqual(h, back), "the file has %+v, error %v\nwant %+v", back, err, h)
	}
	for h, err := range Rounds(context.Background(), fed, trained(), o) {
		expect.OK(t, err)
		going := *h
		going.Stopped = true
		same(&going)
		if len(h.Rounds) == 3 {
			break
		}
	}
	again := trained()
	h := expect.Value(Run(context.Background(), fed, again, o))(t)
	same(h)
	o.Checkpoint = ""
	straight := trained()
	whole, err := Run(context.Background(), fed, straight, o)
	expect.That(t, err == nil && bytes.Equal(bytesOf(t, straight.State, whole), bytesOf(t, again.State, h)),
		"%v: the run that was resumed ends with other bytes", err)
	same(whole)
	bad := trained()
	bad.Before = func(r *Round, _ *Job) {
		if r.T == 3 {
			r.Fail(errors.New("no"))
		}
	}
	failed, err := Run(context.Background(), fed, bad, o)
	expect.Must(t, err != nil && len(failed.Rounds) == 2, "%v", err)
	failed.Stopped = true
	same(failed)
	expect.Invalid(t, "Options.History = "+dir+": must be a file that can be written")(Run(context.Background(), fed, trained(), Options{Rounds: 1, History: dir}))
}

// What is kept changes neither the run, nor what it knows of the clients, nor what it says of all of them together.
func TestKeep(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	run := func(k Keep) (*History, [][]ClientResult) {
		var seen [][]ClientResult
		o := Options{Rounds: 7, EvalEvery: 2, Keep: k, Checkpoint: filepath.Join(t.TempDir(), "c")}
		upTo(t, fed, &picky{seen: &seen}, o, 5)
		h := expect.Value(Run(context.Background(), fed, &picky{seen: &seen}, o))(t)
		return h, seen
	}
	all, past := run(Keep{})
	kept := func(h *History, has func(*Record) bool) (rounds []int) {
		for i := range h.Rounds {
			if has(&h.Rounds[i]) {
				rounds = append(rounds, h.Rounds[i].Round)
			}
		}
		return rounds
	}
	scores, solves := func(r *Record) bool { return r.Scores != nil }, func(r *Record) bool { return r.Results != nil }
	for _, c := range []struct {
		keep           Keep
		scores, solves []int
	}{
		{Keep{}, []int{2, 4, 6, 7}, []int{1, 2, 3, 4, 5, 6, 7}},
		{Keep{Scores: 2, Results: 3}, []int{4, 7}, []int{3, 6, 7}},
		{Keep{Scores: Never, Results: Never, Clusters: Never}, nil, nil},
	} {
		h, seen := run(c.keep)
		if got := kept(h, scores); !slices.Equal(got, c.scores) {
			t.Errorf("%+v: scores of rounds %v, want %v", c.keep, got, c.scores)
		}
		if got := kept(h, solves); !slices.Equal(got, c.solves) {
			t.Errorf("%+v: solves of rounds %v, want %v", c.keep, got, c.solves)
		}
		expect.That(t, reflect.DeepEqual(seen, past), "%+v: the past is %v, want %v", c.keep, seen, past)
		for i := range h.Rounds {
			if got, want := sums(&h.Rounds[i]), sums(&all.Rounds[i]); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, round %d: %+v, want %+v", c.keep, i+1, got, want)
			}
		}
		path := filepath.Join(t.TempDir(), "h")
		expect.OK(t, h.Save(path))
		back, err := Load(path)
		expect.That(t, err == nil && reflect.DeepEqual(back, h), "%+v: %v, error %v", c.keep, back, err)
	}
	r := Record{Round: 1, Absences: []history.Absence{{Client: 1}}}
	if (Keep{Absences: Never}).thin(&r, Options{Rounds: 2}); r.Absences != nil {
		t.Errorf("%+v", r.Absences)
	}
	expect.Invalid(t, "Options.Keep.Results = -2: must be at least 1, 0 for every round, or fedkit.Never")(Run(context.Background(), fed, trained(), Options{Rounds: 1, Keep: Keep{Results: -2}}))
}

// When checkpoints are written, and that the last finished round always is.
func TestWhenCheckpointsAreWritten(t *testing.T) {
	if c := (Options{EvalEvery: 3}).files(); c.Every != 3 {
		t.Errorf("by default every %d rounds, want those that are evaluated", c.Every)
	}
	c := (Options{EvalEvery: 3, CheckpointAfter: time.Minute}).files()
	expect.That(t, c.Every == 0 && c.After == time.Minute, "every minute: %+v", c)
	fed, _ := toy(t, 4, 9)
	path := filepath.Join(t.TempDir(), "c")
	ctx, cancel := context.WithCancel(context.Background())
	inRound5 <- cancel
	s := trained()
	s.Before = cancels
	o := Options{Rounds: 7, EvalEvery: 7, Checkpoint: path}
	if _, err := Run(ctx, fed, s, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b := expect.Value(os.ReadFile(path))(t)
	expect.That(t, bytes.Contains(b, []byte(`"round":4,`)), "%.500q; want a checkpoint of round 4", b)
	again, straight := trained(), trained()
	again.Before, straight.Before = cancels, cancels
	h := expect.Value(Run(context.Background(), fed, again, o))(t)
	o.Checkpoint = ""
	whole, err := Run(context.Background(), fed, straight, o)
	expect.That(t, err == nil && bytes.Equal(bytesOf(t, straight.State, whole), bytesOf(t, again.State, h)),
		"%v: the run that was canceled in a round goes on to other bytes", err)
}

var inRound5 = make(chan context.CancelFunc, 1)

// cancels is a hook that cancels half-way through round 5, once.
func cancels(r *Round, _ *Job) {
	if r.T == 5 && len(inRound5) > 0 {
		(<-inRound5)()
	}
}

// A further process may not have the files of a run.
func TestFilesOfAnotherProcess(t *testing.T) {
	if path := os.Getenv("FEDKIT_TEST_LOCKED"); path != "" {
		fed, _ := toy(t, 4)
		for _, o := range []Options{{Checkpoint: path}, {History: path + ".rounds"}} {
			o.Rounds = 1
			if _, err := Run(context.Background(), fed, trained(), o); err != nil {
				os.Stdout.WriteString(err.Error() + "\n")
			}
		}
		return
	}
	fed, _ := toy(t, 4)
	path := filepath.Join(t.TempDir(), "c")
	for _, err := range Rounds(context.Background(), fed, trained(), Options{Rounds: 2, Checkpoint: path}) {
		expect.OK(t, err)
		p := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFilesOfAnotherProcess$")
		p.Env = append(os.Environ(), "FEDKIT_TEST_LOCKED="+path)
		out, err := p.CombinedOutput()
		for _, want := range []string{"Options.Checkpoint = " + path, "Options.History = " + path + ".rounds"} {
			expect.That(t, strings.Contains(string(out), want+": must be a file of its own: another process writes this one"),
				"%s, %v\nwant %s", out, err, want)
		}
		break
	}
}

// sums is what sums up a record.
func sums(r *Record) history.Summary {
	return history.Summary{Training: r.Training(), Mean: r.Mean(), Spread: r.Spread(), Unseen: r.MeanUnseen(), ChosenOnTest: r.MeanChosenOnTest()}
}

// lists keeps a list whose elements lead to each other.
type lists struct {
	stateless
	State struct{ Queue *list.List }
}

func (s *lists) Start(r *Round) error {
	s.State.Queue = list.New()
	s.State.Queue.PushBack(1)
	return s.stateless.Start(r)
}

// chained keeps an element of a list that turns into a circle in some round: 0 is the start.
type chained struct {
	Local  Local
	Circle int // round
	State  struct {
		X    *Matrix
		Head struct{ Kids []*ringlet }
	}
}

type ringlet struct {
	X    *Matrix
	Next *ringlet
}

func (s *chained) Start(r *Round) error {
	s.State.X = r.Models(1)
	s.State.Head.Kids = []*ringlet{{}, {X: s.State.X, Next: &ringlet{}}}
	return s.turn(r)
}

func (s *chained) turn(r *Round) error {
	if r.T == s.Circle {
		s.State.Head.Kids[1].Next.Next = s.State.Head.Kids[1]
	}
	return r.Err()
}

func (s *chained) Round(r *Round) error { return s.turn(r) }
func (s *chained) Serve(*Round) Serving { return Serving{Global: s.State.X} }

// What has to be copied has an end: a State in a circle is refused where it is saved, or put back after a round without clients,
// and the history so far comes back.
func TestStateInACircleIsNotSaved(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	drops := expect.Value(fed.WithDevices(sim.Devices{Drop: sim.Constant(0.1)}))(t)
	const path = "the strategy's State cannot be saved: invalid: State.Head.Kids[1].Next.Next = what holds it: must be a value that"
	for _, c := range []struct {
		fed    *Federation
		o      Options
		circle int
		rounds int // before the error
		want   string
	}{
		{fed, Options{Checkpoint: "c"}, 0, 0, "fedkit: chained: start: " + path},
		{fed, Options{Checkpoint: "c"}, 3, 3, "fedkit: chained: round 3: checkpoint: " + path},
		{fed, Options{Checkpoint: "c"}, -1, 4, ""},
		{drops, Options{}, 0, 0, "fedkit: chained: start: " + path},
		{drops, Options{}, 2, 2, "fedkit: chained: round 3: " + path},
		{fed, Options{NotFinite: Skip}, 0, 4, ""},
		{fed, Options{}, 0, 4, ""},
	} {
		if c.o.Rounds = 4; c.o.Checkpoint != "" {
			c.o.Checkpoint = filepath.Join(t.TempDir(), c.o.Checkpoint)
		}
		h, err := Run(context.Background(), c.fed, &chained{Circle: c.circle}, c.o)
		expect.That(t, h != nil && len(h.Rounds) == c.rounds && (err == nil) == (c.want == "") && (err == nil || strings.HasPrefix(err.Error(), c.want)),
			"circle in round %d, %+v: %v, error %v, want %s", c.circle, c.o, h, err, c.want)
	}
	expect.Error(t, "start: the strategy's State cannot be saved: invalid: List.root = unexported: must be exported")(
		Run(context.Background(), drops, &lists{}, Options{Rounds: 2}))
}

// hoard keeps numbers in every way, in circles too.
type hoard struct {
	stateless
	State struct {
		X, Same *Matrix
		Wide    [][]float64
		Rows    []struct {
			V [2][]float32
			S []string
		}
		At    [][3]float64
		Of    map[string][]int
		Any   []any
		Loop  []loop
		queue *list.List
	}
}

type loop struct {
	V    []int8
	Kids []loop
}

func (s *hoard) Start(r *Round) error {
	st := &s.State
	st.X = r.Models(2)                                            // 2 · 4d
	st.Same = st.X                                                // once
	st.Wide = [][]float64{make([]float64, 3), make([]float64, 4)} // 56
	st.Rows = append(st.Rows, struct {
		V [2][]float32
		S []string
	}{[2][]float32{nil, make([]float32, 5)}, []string{"a"}}) // 20
	st.At = make([][3]float64, 2)            // 48
	st.Of = map[string][]int{"a": {1, 2}}    // 16
	st.Any = []any{nil, 7, "a", []uint16{1}} // 2
	st.Any[0] = st.Any
	st.Loop = []loop{{V: []int8{1, 2, 3}}} // 3
	st.Loop[0].Kids = st.Loop
	st.queue = list.New()
	st.queue.PushBack([]float64{1}) // 8
	return s.stateless.Start(r)
}

// Kept is the bytes of all matrices and slices of numbers.
func TestKept(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	h := expect.Value(Run(context.Background(), fed, &hoard{}, Options{Rounds: 1}))(t)
	if got, want := h.Last().StateBytes, int64(8*fed.Task.Dim()+56+20+48+16+2+3+8); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// tuned keeps the clients' models as they came back, and fine-tunes them where it serves them. It prefers clients that it
// knows.
type tuned struct {
	Local Local
	State struct{ X, All *Matrix }
}

func (s *tuned) Start(r *Round) error { s.State.X, s.State.All = r.Models(1), nil; return r.Err() }

func (s *tuned) Round(r *Round) error {
	if s.State.All != nil {
		s.State.X = s.State.All.Mean(nil)
	}
	known := r.AllClients()
	slices.SortStableFunc(known, func(a, b int) int { return len(r.Past(b)) - len(r.Past(a)) })
	s.State.All = r.Train(Job{Clients: known[:21], Start: s.State.X, Local: s.Local}).Models
	return r.Err()
}

func (s *tuned) Serve(r *Round) Serving {
	u := r.Train(Job{Clients: r.AllClients(), Start: s.State.X, Local: s.Local})
	return Serving{Global: s.State.X, Models: u.Models, Assign: r.AllClients()}
}

// Neither a checkpoint nor an evaluation, and what it looks at or trains, changes what a run comes to.
func TestLookingChangesNothing(t *testing.T) {
	fed, _ := toy(t, slices.Repeat([]int{7, 5, 9}, 8)...)
	fed = fed.Intercept(plusOne{})
	outcome := func(o Options) ([]byte, *Record) {
		s := &tuned{Local: Local{Batch: 4, LR: 0.1}}
		o.Rounds, o.Seed = 6, 1
		h := expect.Value(Run(context.Background(), fed, s, o))(t)
		var b bytes.Buffer
		expect.OK(t, gob.NewEncoder(&b).Encode(s.State))
		return b.Bytes(), h.Last()
	}
	want, r := outcome(Options{EvalEvery: 6})
	expect.That(t, len(r.Results) == 21, "%d clients in the record of an evaluated round, want the 21 that trained in Round", len(r.Results))
	for name, o := range map[string]Options{
		"evaluated in every round": {}, "evaluated every second": {EvalEvery: 2},
		"with a checkpoint": {EvalEvery: 6, Checkpoint: filepath.Join(t.TempDir(), "a")},
	} {
		if got, _ := outcome(o); !bytes.Equal(got, want) {
			t.Errorf("%s, the State differs", name)
		}
	}
}

// embedding and embeddingPointer wrap what they embed.
type (
	embedding struct {
		mean
		Other int
	}
	Inner            struct{ mean }
	embeddingPointer struct {
		*Inner
		Other int
	}
	embeddingValue struct {
		Inner
		Other int
	}
)

func (s *embeddingPointer) Unwrap() Strategy { return s.Inner }
func (s *embeddingValue) Unwrap() Strategy   { return &s.Inner }

// A wrapper may embed the strategy it wraps, by value or by pointer.
func TestWrappersThatEmbed(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	for _, make := range []func() Strategy{
		func() Strategy { return &embedding{} },
		func() Strategy { return &embeddingPointer{Inner: &Inner{}} },
		func() Strategy { return &embeddingValue{} },
	} {
		o := Options{Rounds: 4, Seed: 2}
		straight := expect.Value(Run(context.Background(), fed, make(), o))(t)
		o.Checkpoint, o.Rounds = filepath.Join(t.TempDir(), "checkpoint"), 2
		expect.Value(Run(context.Background(), fed, make(), o))(t)
		o.Rounds = 4
		h := expect.Value(Run(context.Background(), fed, make(), o))(t)
		expect.That(t, h.Last().Global.Loss == straight.Last().Global.Loss,
			"%T: loss %v after a resume, %v without", make(), h.Last().Global.Loss, straight.Last().Global.Loss)
	}
}

// A State of another make is not read, and one that cannot be saved is refused before round 1.
func TestStatesThatAreLost(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	o := Options{Rounds: 1, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	expect.Value(Run(context.Background(), fed, &keeps[struct{ V *Matrix }]{}, o))(t)
	expect.Error(t, "belongs to another run")(Run(context.Background(), fed, &keeps[struct{ Velocity *Matrix }]{}, o)) // the name of the type differs too
	_, err := Run(context.Background(), fed, &missing{}, o)
	if expect.Error(t, "State cannot be saved")(err); strings.Contains(err.Error(), "round 1:") {
		t.Error(err)
	}
}

// missing has a place for every client's matrix, and nothing in it yet.
type missing struct {
	stateless
	State struct{ All []*Matrix }
}

func (s *missing) Start(r *Round) error {
	s.State.All = make([]*Matrix, r.Clients())
	return s.stateless.Start(r)
}

// Models and rows that nobody has room for are errors.
func TestHugeMatrices(t *testing.T) {
	fed, _ := toy(t, 4)
	for name, do := range map[string]func(r *Round, x *Matrix) *Matrix{
		"models":        func(r *Round, _ *Matrix) *Matrix { return r.Models(1 << 42) },
		"Matrix.Repeat": func(_ *Round, x *Matrix) *Matrix { return x.Repeat(1 << 42) },
	} {
		expect.Error(t, name, "are free")(Run(context.Background(), fed, &scripted{do: do}, Options{Rounds: 1}))
	}
}

// starter notes what it is told, with the number of rounds, and what ReadProgress says of the run's files while it goes on.
type starter struct {
	files []string
	told  []string
}

func (s *starter) note(what string, n, of int) {
	s.told = append(s.told, fmt.Sprintf("%s %d/%d", what, n, of))
}

func (s *starter) Start(h *History, of int) { s.note("start", len(h.Rounds), of) }
func (s *starter) Done(h *History, _ error) { s.note("done", len(h.Rounds), len(h.Rounds)) }
func (s *starter) Round(h *History, of int) {
	s.note("round", len(h.Rounds), of)
	for _, file := range s.files {
		if l, err := checkpoint.ReadProgress(file); err != nil || !l.Running || !l.History.Stopped {
			s.told = append(s.told, fmt.Sprintf("%s: %+v, %v", file, l, err))
		} else {
			s.note("seen", len(l.History.Rounds), max(l.Planned, len(l.History.Rounds)))
		}
	}
}

// A watcher is told of the start, also of the rounds of a checkpoint. A run whose checkpoint has all rounds is over at once. Its files
// tell other programs as much.
func TestWatchersAndLook(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	o := Options{Checkpoint: filepath.Join(t.TempDir(), "run")}
	o.History = o.Checkpoint + ".jsonl"
	for _, step := range []struct {
		rounds int
		want   []string
	}{
		{2, []string{"start 0/2", "round 1/2", "seen 1/2", "seen 1/2", "round 2/2", "seen 2/2", "seen 2/2", "done 2/2"}},
		{3, []string{"start 0/3", "start 2/3", "round 3/3", "seen 3/3", "seen 3/3", "done 3/3"}},
		{3, []string{"start 0/3", "start 3/3", "done 3/3"}},
	} {
		w := &starter{files: []string{o.Checkpoint, o.History}}
		o.Rounds, o.Watch = step.rounds, w
		h := expect.Value(Run(context.Background(), fed, trained(), o))(t)
		expect.That(t, len(h.Rounds) == step.rounds, "%d rounds: %v", step.rounds, h)
		expect.That(t, slices.Equal(w.told, step.want), "%d rounds: told %q, want %q", step.rounds, w.told, step.want)
		for _, file := range w.files {
			s, err := checkpoint.ReadProgress(file)
			expect.That(t, err == nil && !s.Running && !s.History.Stopped && len(s.History.Rounds) == step.rounds && s.Planned == step.rounds,
				"%s: %+v, %v", file, s, err)
		}
	}
}

// failing panics when it is told something.
type failing struct{ at string }

func (f failing) told(what string) {
	if f.at == what {
		panic("so")
	}
}

func (f failing) Start(*History, int)  { f.told("start") }
func (f failing) Round(*History, int)  { f.told("round") }
func (f failing) Done(*History, error) { f.told("done") }

// A watcher that panics ends the run with an error, and the checkpoint is whole: the run can go on without it.
func TestWatchersThatPanic(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	for at, rounds := range map[string]int{"start": 0, "round": 1, "done": 2} {
		o := Options{Rounds: 2, Checkpoint: filepath.Join(t.TempDir(), "run"), Watch: failing{at}}
		h, err := Run(context.Background(), fed, trained(), o)
		expect.Error(t, "Options.Watch: panic: so")(err)
		expect.That(t, len(h.Rounds) == rounds, "%s: %d rounds, want %d", at, len(h.Rounds), rounds)
		w := &starter{}
		o.Watch = w
		if h := expect.Value(Run(context.Background(), fed, trained(), o))(t); len(h.Rounds) != 2 || w.told[len(w.told)-1] != "done 2/2" {
			t.Errorf("%s: %d rounds after it, told %q", at, len(h.Rounds), w.told)
		}
	}
}

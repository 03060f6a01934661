package fedkit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
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
)

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
	if len(good) != 3 || good["c"] == "" || good["c.before"] == "" || good["c.rounds"] == "" {
		t.Fatalf("%d files beside a checkpoint", len(good))
	}
	log := warnings(t)
	try := func(what string, files map[string]string) (err error) {
		t.Helper()
		restore(t, dir, files)
		log.Reset()
		s := trained()
		h, err := Run(context.Background(), fed, s, o)
		if err == nil && !bytes.Equal(want, bytesOf(t, s.State, h)) {
			t.Fatalf("%s: it goes on to other bytes", what)
		}
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
		if err := try("cut", with("c", good["c"][:i])); i > 0 && (err != nil || log.Len() == 0) {
			t.Errorf("with %d bytes of the checkpoint: %v", i, err)
		}
	}
	third := strings.LastIndex(good["c.rounds"], `{"round":3`)
	for i := 0; i < len(good["c.rounds"]); i += 47 {
		for what, text := range map[string]string{"altered": flip(good["c.rounds"], i), "cut": good["c.rounds"][:i]} {
			if text == "" {
				continue
			}
			err := try("rounds "+what, with("c.rounds", text))
			if i >= third && (err != nil || log.Len() == 0) || i < third && (err == nil || !strings.Contains(err.Error(), path+": ") || !strings.Contains(err.Error(), path+".before: ")) {
				t.Errorf("with rounds %s at byte %d (the third begins at %d): %v", what, i, third, err)
			}
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
	if err := try("newer", with("c", string(newer))); err != nil || !strings.Contains(log.String(), "a newer fedkit wrote it: format 7") {
		t.Errorf("a newer one: %v, log %s", err, log)
	}
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

// What is beside a checkpoint is not used without it, so that removing it begins anew; also if it is of another run, or damaged. A
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
		if err != nil || len(h.Rounds) != 4 || first != c.first {
			t.Errorf("%s: it begins with round %d, error %v, want round %d", what, first, err, c.first)
		}
	}
	// The one that was before a damaged one is the checkpoint now: killed at once, the run goes on from it.
	restore(t, dir, map[string]string{"c": "damaged", "c.before": good["c.before"], "c.rounds": good["c.rounds"]})
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	o.Seed = 0
	if _, err := Run(canceled, fed, trained(), o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if left := contents(t, dir); left["c"] != good["c.before"] || left["c.damaged"] != "damaged" {
		t.Errorf("%d files are left", len(left))
	}
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
		if h, err := Run(context.Background(), fed, s, Options{Rounds: 4, Checkpoint: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, error %v\nwant %s", h, err, want)
		}
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
		if err != nil || !reflect.DeepEqual(h, back) {
			t.Errorf("the file has %+v, error %v\nwant %+v", back, err, h)
		}
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
	if err != nil || !bytes.Equal(bytesOf(t, straight.State, whole), bytesOf(t, again.State, h)) {
		t.Errorf("%v: the run that was resumed ends with other bytes", err)
	}
	same(whole)
	bad := trained()
	bad.Before = func(r *Round, _ *Job) {
		if r.T == 3 {
			r.Fail(errors.New("no"))
		}
	}
	failed, err := Run(context.Background(), fed, bad, o)
	if err == nil || len(failed.Rounds) != 2 {
		t.Fatal(err)
	}
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
		if !reflect.DeepEqual(seen, past) {
			t.Errorf("%+v: the past is %v, want %v", c.keep, seen, past)
		}
		for i := range h.Rounds {
			if got, want := sums(&h.Rounds[i]), sums(&all.Rounds[i]); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, round %d: %+v, want %+v", c.keep, i+1, got, want)
			}
		}
		path := filepath.Join(t.TempDir(), "h")
		expect.OK(t, h.Save(path))
		if back, err := Load(path); err != nil || !reflect.DeepEqual(back, h) {
			t.Errorf("%+v: %v, error %v", c.keep, back, err)
		}
	}
	r := Record{Round: 1, Absences: []history.Absence{{Client: 1}}}
	if (Keep{Absences: Never}).thin(&r, Options{Rounds: 2}); r.Absences != nil {
		t.Errorf("%+v", r.Absences)
	}
	_, err := Run(context.Background(), fed, trained(), Options{Rounds: 1, Keep: Keep{Results: -2}})
	expect.Invalid(t, "Options.Keep.Results = -2: must be at least 1, 0 for every round, or fedkit.Never")(err)
}

// When checkpoints are written, and that the last finished round always is.
func TestWhenCheckpointsAreWritten(t *testing.T) {
	if c := (Options{EvalEvery: 3}).files(); c.Every != 3 {
		t.Errorf("by default every %d rounds, want those that are evaluated", c.Every)
	}
	if c := (Options{EvalEvery: 3, CheckpointAfter: time.Minute}).files(); c.Every != 0 || c.After != time.Minute {
		t.Errorf("every minute: %+v", c)
	}
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
	if !bytes.Contains(b, []byte(`"round":4,`)) {
		t.Errorf("%.500q; want a checkpoint of round 4", b)
	}
	again, straight := trained(), trained()
	again.Before, straight.Before = cancels, cancels
	h := expect.Value(Run(context.Background(), fed, again, o))(t)
	o.Checkpoint = ""
	whole, err := Run(context.Background(), fed, straight, o)
	if err != nil || !bytes.Equal(bytesOf(t, straight.State, whole), bytesOf(t, again.State, h)) {
		t.Errorf("%v: the run that was canceled in a round goes on to other bytes", err)
	}
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
			if !strings.Contains(string(out), want+": must be a file of its own: another process writes this one") {
				t.Errorf("%s, %v\nwant %s", out, err, want)
			}
		}
		break
	}
}

// sums is what sums up a record.
func sums(r *Record) history.Summary {
	return history.Summary{Training: r.Training(), Mean: r.Mean(), Spread: r.Spread(), Unseen: r.MeanUnseen(), ChosenOnTest: r.MeanChosenOnTest()}
}

package study_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"github.com/janpfeifer/must"
)

// A file that was altered, or is another run's, is refused by name when it is read, and the next study recomputes the run.
func TestAlteredFiles(t *testing.T) {
	fed := ten()
	st := study.New(t.TempDir())
	st.Models = true
	three(st, fed, avg(0.1), 2)
	runs, _ := run(t, st)
	swap := func(file string) error {
		a, b := runs[0].Path(file), runs[1].Path(file)
		return errors.Join(os.Rename(a, a+"x"), os.Rename(b, a), os.Rename(a+"x", b))
	}
	entry := runs[0].Path("entry.json")
	contents := func() (all [][]byte) {
		for _, r := range runs {
			for _, file := range []string{"models.safetensors", "table.csv.gz", "history.jsonl"} {
				b, _ := os.ReadFile(r.Path(file))
				all = append(all, b)
			}
		}
		return all
	}
	light := func(r *study.Run) error { _, err := r.Light(); return err }
	whole := func(r *study.Run) error { _, err := r.History(); return err }
	final := func(r *study.Run) error { _, err := r.Final(fed.Task); return err }
	listed := func(*study.Run) error { _, damaged := study.List(st.Dir); return errors.Join(damaged...) }
	for _, c := range []struct {
		what   string
		damage func() error
		read   func(*study.Run) error
		says   string // on reading the first run
		again  int    // recomputed runs
		hint   string // printed by the study
	}{
		{"histories swapped", func() error { return swap("history.jsonl") }, light, "history.jsonl: altered, or ", 2, "history.jsonl: altered, or "},
		{"histories swapped", func() error { return swap("history.jsonl") }, whole, "history.jsonl: altered, or ", 2, "damaged, and computed again: "},
		{"history of equal length", func() error {
			path := runs[0].Path("history.jsonl")
			h, err := fedkit.Load(path)
			if err != nil {
				return err
			}
			first, second := h.Rounds[0].Global, h.Rounds[1].Global
			first.Accuracy, second.Accuracy = second.Accuracy, first.Accuracy
			return h.Save(path)
		}, light, "history.jsonl: altered, or of another run: its checksum", 1, "history.jsonl: altered, or of another run"},
		{"history cut off", func() error { return os.Truncate(runs[0].Path("history.jsonl"), 200) }, whole, "history.jsonl: altered, or cut off: it has 200 bytes", 1, "cut off"},
		{"entry cut off", func() error { return os.Truncate(entry, 100) }, listed, entry + ": unexpected end of JSON", 1, "computed again"},
		{"entry of an older fedkit", func() error { return alter(entry, `"schema": 2`, `"schema": 1`) }, listed,
			"1 runs are left out: stored by an older fedkit, without checksums", 1, "2 stored, 1 to run: stored by an older fedkit, without checksums\n"},
		{"history lost", func() error { return os.Remove(runs[0].Path("history.jsonl")) }, light, "no such file", 1, "no such file"},
		{"accuracy edited", func() error { return alter(entry, `"accuracy": 0.`, `"accuracy": 9.`) }, listed, entry + ": altered", 1, "entry.json: altered"},
		{"error added", func() error { return alter(entry, `"about":`, `"error": "lost", "about":`) }, listed, entry + ": altered", 1, "entry.json: altered"},
		{"checksum removed", func() error { return alter(entry, `"sha256": "`, `"sha257": "`) }, listed, entry + ": ", 1, "computed again"},
		{"models lost", func() error { return os.Remove(runs[0].Path("models.safetensors")) }, final, "no such file", 1, "no such file"},
		{"tables swapped", func() error { return swap("table.csv.gz") }, (*study.Run).Check, runs[0].ID + ".csv.gz: altered, or ", 0, ".csv.gz: altered, or "},
		{"table lost", func() error { return os.Remove(runs[0].Path("table.csv.gz")) }, (*study.Run).Check, "no such file", 0, "written again"},
		{"table replaced", func() error {
			path := runs[0].Path("table.csv.gz")
			return errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "other"), 0o700))
		}, (*study.Run).Check, "it is not a file", 0, "written again"},
	} {
		before := contents()
		if err := c.damage(); err != nil {
			t.Fatal(c.what, err)
		}
		if err := c.read(runs[0]); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", c.what, err, c.says)
		}
		count := &counter{}
		st.Watch = count
		var words string
		if runs, words = run(t, st); count.done != c.again || !strings.Contains(words, c.hint) {
			t.Errorf("%s: %d runs computed, want %d: %q, want %s", c.what, count.done, c.again, words, c.hint)
		}
		for _, r := range runs {
			if err := errors.Join(r.Check(), whole(r), final(r), listed(r)); err != nil {
				t.Errorf("%s: then %v", c.what, err)
			}
		}
		if c.again == 0 && !reflect.DeepEqual(contents(), before) {
			t.Errorf("%s: other content", c.what)
		}
	}
	// Models have the length of another run's: their content is verified when they are read.
	must.M(swap("models.safetensors"))
	for _, r := range runs[:2] {
		if err := final(r); err == nil || !strings.Contains(err.Error(), r.Path("models.safetensors")+": altered, or of another run") {
			t.Error(err)
		}
	}
}

// Anything in the place of a file or folder of a run stops neither other runs nor their listing. It is renamed, not removed.
func TestPlacesThatAreTaken(t *testing.T) {
	fed := ten()
	folder := func(path string) error {
		return errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, "mine"), []byte("mine"), 0o600))
	}
	for what, c := range map[string]struct {
		take   func(r *study.Run) (path string, err error)
		listed int // runs
		named  int // errors
	}{
		"a folder for an entry": {func(r *study.Run) (string, error) { return r.Path("entry.json"), folder(r.Path("entry.json")) }, 2, 1},
		"a file for a folder": {func(r *study.Run) (string, error) {
			return r.Path("."), errors.Join(os.RemoveAll(r.Path(".")), os.WriteFile(r.Path("."), []byte("mine"), 0o600))
		}, 2, 1},
		"a folder for a history": {func(r *study.Run) (string, error) { return r.Path("history.jsonl"), folder(r.Path("history.jsonl")) }, 3, 0},
		"a folder for a checkpoint too": {func(r *study.Run) (string, error) {
			return r.Path("checkpoint"), errors.Join(folder(r.Path("checkpoint")), os.Remove(r.Path("entry.json")))
		}, 2, 0},
		"a link that leads nowhere": {func(r *study.Run) (string, error) {
			return r.Path("."), errors.Join(os.RemoveAll(r.Path(".")), os.Symlink("nowhere", r.Path(".")))
		}, 2, 0},
	} {
		st := study.New(t.TempDir())
		three(st, fed, avg(0.1), 1)
		runs, _ := run(t, st)
		path, err := c.take(runs[1])
		if err != nil {
			t.Fatal(what, err)
		}
		left, damaged := study.List(st.Dir)
		if len(left) != c.listed || len(damaged) != c.named || c.named > 0 && !strings.Contains(damaged[0].Error(), runs[1].ID) {
			t.Errorf("%s: %v, %v", what, left, damaged)
		}
		again, words := run(t, st)
		if len(again) != 3 || len(again.Failed()) != 0 || again[1].Accuracy != runs[1].Accuracy {
			t.Errorf("%s: %v, %q", what, again, words)
		}
		if _, err := os.Lstat(path + ".damaged"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if left, damaged := study.List(st.Dir); len(left) != 3 || damaged != nil {
			t.Errorf("%s: then %v, %v", what, left, damaged)
		}
	}
}

// A run that cannot be stored is named, after the others were computed.
func TestRunsThatCannotBeStored(t *testing.T) {
	fed := ten()
	st := study.New(t.TempDir())
	three(st, fed, avg(0.1), 1)
	runs, _ := run(t, st)
	lock, place := filepath.Join(st.Dir, ".locks", runs[0].ID, "folder"), runs[1].Path(".")
	must.M(errors.Join(runs.Remove(), os.MkdirAll(lock, 0o700), os.WriteFile(place, nil, 0o600), os.WriteFile(place+".damaged", nil, 0o600)))
	var log strings.Builder
	st.Log = &log
	left, err := st.Run(ctx)
	if len(left) != 1 || left[0].ID != runs[2].ID || err == nil || !strings.Contains(err.Error(), "2 of 3 runs are left: ") ||
		!strings.Contains(err.Error(), filepath.Dir(lock)) || !strings.Contains(err.Error(), place+" does not belong there: remove it, and "+place+".damaged too") {
		t.Error(left, err, log.String())
	}
}

// The description of a federation is stored with its run, also later if the run was stored without.
func TestMadeFrom(t *testing.T) {
	fed, dir := ten(), t.TempDir()
	type world struct{ Clients int }
	add := func(dir string, from ...any) (study.Runs, string) {
		st := study.New(dir)
		for _, from := range from {
			study.AddFrom(st, from, fed, &strategy.FedAvg{}, fedkit.Options{Rounds: 1}, nil)
		}
		return run(t, st)
	}
	for i, c := range []struct {
		from   any
		ran    string
		stored []string
	}{
		{nil, "0 stored, 1 to run\n", nil},
		{world{10}, "1 stored, 0 to run\n", []string{"10"}},
		{world{20}, "1 stored, 0 to run\n", []string{"10", "20"}}, // another spelling of the same
		{world{10}, "1 stored, 0 to run\n", []string{"10", "20"}},
		{nil, "1 stored, 0 to run\n", []string{"10", "20"}},
	} {
		if _, words := add(dir, c.from); words != c.ran {
			t.Errorf("%d: %q, want %q", i, words, c.ran)
		}
		runs, damaged := study.List(dir)
		if len(runs) != 1 || damaged != nil {
			t.Fatal(runs, damaged)
		}
		var got []string
		for _, from := range runs[0].From {
			clients, _ := from.At("Clients")
			got = append(got, clients)
		}
		if err := runs[0].Check(); err != nil || !slices.Equal(got, c.stored) {
			t.Errorf("%d: from %q, want %q: %v", i, got, c.stored, err)
		}
	}
	dir = t.TempDir()
	add(dir, world{10}, world{20}, world{10}) // concurrently
	if runs, _ := study.List(dir); len(runs) != 1 || len(runs[0].From) != 2 {
		t.Error(runs)
	}
}

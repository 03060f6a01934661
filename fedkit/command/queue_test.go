package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/preset"
	"fedkit.example/fedkit/study"
	"github.com/janpfeifer/must"
)

// A queue computes what is in no store and no extract, federation by federation, and goes on after a failure; a second one finds nothing to do.
func TestQueue(t *testing.T) {
	t.Chdir(t.TempDir())
	must.M(os.Mkdir("notebooks", 0o777))
	queue := func(args ...string) (parts []part, log string) {
		t.Helper()
		status, out, log := do(slices.Concat([]string{"study", "queue", "--json"}, args)...)
		expect.That(t, status == done, "%v: %d, %s", args, status, log)
		for line := range strings.Lines(out) {
			var p part
			must.M(json.Unmarshal([]byte(line), &p))
			parts = append(parts, p)
		}
		return parts, log
	}
	is := func(what string, got []part, missing int) {
		t.Helper()
		expect.That(t, len(got) == 1 && got[0].Study == "two_by_two" && got[0].Runs == 12 && got[0].Missing == missing, "%s: %+v", what, got)
	}
	before, log := queue("two_by_two", "--dry-run")
	is("nothing is computed", before, 12)
	expect.That(t, log == "" && before[0].Hours != before[0].Hours, "%s; hours %v that nothing is known of", log, before[0].Hours)

	some, _ := queue("two_by_two", "--seeds", "2", "--parallel", "3")
	expect.That(t, some[0].Missing == 4, "%+v", some)
	left, _ := queue("two_by_two", "--dry-run")
	is("four are computed", left, 8)
	expect.That(t, left[0].Hours > 0, "hours %v", left[0].Hours)
	must.M(os.RemoveAll("notebooks/runs")) // what is in the extract is not computed again
	_, log = queue("two_by_two", "--deadline", "0.000001")
	expect.That(t, strings.Contains(log, "computed 0 runs"), "a deadline that has passed: %s", log)
	_, log = queue("two_by_two")
	expect.That(t, strings.Contains(log, "computed 8 runs"), "%s", log)
	none, _ := queue("two_by_two")
	expect.That(t, none == nil, "%+v", none)

	// Runs of another machine go into the extract.
	must.M(os.Remove("notebooks/two_by_two.runs"))
	expect.That(t, must.M1(os.ReadDir("notebooks/runs/two_by_two")) != nil, "no store")
	if status, _, log := do("study", "extract", "two_by_two"); status != done {
		t.Error(status, log)
	}
	expect.That(t, len(must.M1(study.Open("notebooks/two_by_two.runs"))) == 8, "the extract")

	for _, wrong := range []struct{ args, says string }{
		{"nonsense", `study = "nonsense": must be the name of a study`}, {"two_by_two:x", "this study has no parts"},
		{"two_by_two --parallel=-1", "--parallel, --deadline"}, {"two_by_two --deadline=-1", "--parallel, --deadline"}, {"two_by_two --seeds=9", "seeds"},
	} {
		status, out, log := do(append([]string{"study", "queue"}, strings.Fields(wrong.args)...)...)
		expect.That(t, status == refused && out == "" && strings.Contains(log, wrong.says), "%s: %d, %s%s", wrong.args, status, out, log)
	}
}

// A run that fails is named, and the others are computed.
func TestQueueGoesOn(t *testing.T) {
	t.Chdir(t.TempDir())
	good, bad := twoByTwo()[:1], twoByTwo()[1:3]
	for _, b := range bad {
		b.World.Data = missingData{}
		b.Options.Name = "unlucky"
	}
	must.M(os.Mkdir("notebooks", 0o777))
	all := named{{Name: "mixed", Plan: func() study.Plan { return append(slices.Clone(bad), good...) }}}
	for _, p := range preset.All() {
		all = append(all, study.Named{Name: p.Name})
	}
	var log strings.Builder
	err := (&queueCommand{}).Run(&console{out: new(strings.Builder), err: &log}, all)
	expect.That(t, err != nil && strings.Contains(log.String(), "failed: mixed: unlucky") && strings.Contains(log.String(), "computed 1 runs"), "%v: %s", err, &log)
	_, stored := os.Stat(filepath.Join("notebooks", "mixed.runs"))
	expect.That(t, stored == nil, "no extract of the one that did not fail")
}

// First are the parts that studies put first. What notebooks run themselves is left out.
func TestQueueOrder(t *testing.T) {
	all := named{{Name: "a"}, {Name: "live", Live: true}, {Name: "b", First: []string{"x", "y"}}}
	for _, p := range preset.All() {
		all = append(all, study.Named{Name: p.Name})
	}
	got := (&queueCommand{}).order(all)
	expect.That(t, slices.Equal(got, []string{"b:x", "b:y", "a", "b"}), "%v", got)
}

// missingData cannot be loaded.
type missingData struct{}

func (missingData) Make() (*datasets.Dataset, error) { return nil, os.ErrNotExist }

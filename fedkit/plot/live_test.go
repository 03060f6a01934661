package plot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/progress"
)

// ended are finished runs, as in a watcher.
func ended(t testing.TB, h ...*fedkit.History) (runs []*progress.Run) {
	all := expect.Value(compare.Runs(h...))(t)
	return each(all, func(r *compare.Run) *progress.Run { return &progress.Run{Run: *r, Ended: true, Planned: r.Rounds} })
}

// play runs a watcher through a run.
func play(w fedkit.Watcher, h *fedkit.History, err error) {
	all := h.Rounds
	for i := range all {
		h.Rounds = all[:i+1]
		w.Round(h, len(all))
	}
	w.Done(h, err)
}

func TestLiveInNotebook(t *testing.T) {
	c := charttest.InCell(t)
	play(Live(), synthetic("FedAvg", 1, 50, 1, 10, 0.9), nil)
	var ids []string
	for _, o := range c.Outputs {
		if !slices.Contains(ids, o.ID) {
			ids = append(ids, o.ID)
		}
	}
	last := c.Outputs[len(c.Outputs)-1]
	expect.Must(t, len(ids) == 2 && last.ID == ids[1] && last.Forms["application/vnd.vegalite.v5+json"] != nil,
		"%d outputs, the last %v: want one line, then one figure", len(ids), last)
	c.Err = errors.New("pipe closed")
	said := charttest.Capture(t, &os.Stderr, func() { play(Live(), synthetic("FedAvg", 1, 50, 1, 10, 0.9), nil) })
	n := strings.Count(said, "pipe closed")
	expect.That(t, n == 1 && strings.HasPrefix(said, chart.ErrorPrefix), "said %d times: %q", n, said)
}

func TestLiveOutsideNotebook(t *testing.T) {
	chart.Dir = t.TempDir()
	defer func() { chart.Dir = "" }()
	for file, name := range map[string][]string{"live.html": nil, "sweep-2.html": {"sweep", "2"}} {
		said := charttest.Capture(t, &os.Stderr, func() { play(Live(name...), synthetic("FedAvg", 1, 9, 1, 5, 0.9), nil) })
		if path := filepath.Join(chart.Dir, file); !strings.HasSuffix(said, "\nwrote "+path+"\n") {
			t.Errorf("%q", said)
		} else if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if said := charttest.Capture(t, &os.Stderr, func() { Live().Done(historyOf("early"), errors.New("no clients")) }); strings.Contains(said, "wrote") {
		t.Errorf("a figure of nothing: %q", said)
	}
}

func TestLiveOverlaysRuns(t *testing.T) {
	var hs []*fedkit.History
	for seed := range uint64(3) {
		hs = append(hs, synthetic("FedAvg", seed, 20, 1, 5, 0.9))
	}
	runs := ended(t, append(hs, synthetic("FedProx", 9, 20, 1, 5, 0.9))...)
	row := live("live", runs)
	expect.Must(t, len(row) == 2 && len(row[0].Series) == 5 && len(row[0].Series[0].X) == 20 && row[0].Series[1].Name == "FedProx" && row[0].Series[4].Thin,
		"want two lines, and three thin ones: %+v", row)
	// A fourth seed in progress: its own line, beside those of the finished ones.
	h := synthetic("FedAvg", 4, 20, 1, 5, 0.9)
	h.Rounds = h.Rounds[:7]
	on := ended(t, h)
	on[0].Ended = false
	row = live("live", append(runs, on...))
	s := row[0].Series
	expect.That(t, len(s) == 6 && s[2].Name == "FedAvg" && len(s[2].X) == 7 && len(s[0].X) == 20, "%+v", s)
	charttest.Spec(t, row)
}

// Runs of one name that are not seeds of one configuration are distinguished.
func TestLiveTellsRunsApart(t *testing.T) {
	s := live("live", ended(t, with(0, 0.001), with(0, 0.1)))[0].Series
	expect.That(t, len(s) == 2 && s[1].Name == "FedAvg, Local.LR 0.1" && s[0].Lo == nil, "%+v", s)
}

// The axis of rounds extends to the last round from the beginning, and to the last one present once the run is over.
func TestLiveAxisIsSteady(t *testing.T) {
	for _, rounds := range []int{1, 7} {
		h := synthetic("FedAvg", 1, 10, 1, 2, 0.9)
		h.Rounds = h.Rounds[:rounds]
		runs := ended(t, h)
		runs[0].Ended, runs[0].Planned = false, 50
		for _, f := range live("live", runs) {
			expect.That(t, slices.Equal(f.X.Include, []float64{1, 50}), "%s after %d rounds covers %v", f.Title, rounds, f.X.Include)
		}
		runs[0].Ended = true
		c := live("live", runs)[0].X.Include
		expect.That(t, c == nil, "a run that was stopped covers %v", c)
	}
}

// Of many configurations only the latest are drawn.
func TestLiveManyRuns(t *testing.T) {
	var hs []*fedkit.History
	for i := range 30 {
		hs = append(hs, historyOf(fmt.Sprint("method ", i), 0.5, 0.6))
	}
	row := live("live", ended(t, hs...))
	s := row[0].Series
	expect.That(t, len(s) == mostCurves && s[0].Name == "method 10" && strings.HasSuffix(row[0].Note, "the latest 20 of 30 configurations"),
		"%d curves, note %q", len(s), row[0].Note)
}

// Follow has the figure too, and the errors of progress.Follow.
func TestFollow(t *testing.T) {
	dir, c := t.TempDir(), charttest.InCell(t)
	path := filepath.Join(dir, "run.jsonl")
	expect.OK(t, synthetic("FedAvg", 1, 9, 1, 5, 0.9).Save(path))
	if h, err := Follow(path); err != nil || len(h.Rounds) != 9 || c.Outputs[len(c.Outputs)-1].Forms["application/vnd.vegalite.v5+json"] == nil {
		t.Errorf("%v, %d outputs", err, len(c.Outputs))
	}
	if _, err := Follow(filepath.Join(dir, "typo")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// One figure of a 500-round run over 100 clients.
func BenchmarkLive(b *testing.B) {
	runs := ended(b, synthetic("FedAvg", 1, 500, 1, 100, 0.9))
	for b.Loop() {
		live("live", runs)
	}
}

// From 1,000 histories of 1,000 rounds to the specification that a cell emits: at most 1 s. They are configurations, or 250 of four seeds,
// or 200 of five.
func BenchmarkManyCurves(b *testing.B) {
	for _, seeds := range []int{1, 4, 5} {
		var hs []*fedkit.History
		for i := range 1000 {
			hs = append(hs, synthetic(fmt.Sprint("method ", i/seeds), uint64(i%seeds), 1000, 1, 1, 0.5+0.0004*float64(i/seeds)))
		}
		b.Run(fmt.Sprint(seeds, " seeds"), func(b *testing.B) {
			for b.Loop() {
				if f := Accuracy(hs...); f.VegaLite() == nil {
					b.Fatal(f.Err())
				}
			}
		})
	}
}

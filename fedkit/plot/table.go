package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
)

// Table returns a table that compares runs; Show shows it. It has one line per name; runs of the same name are averaged,
// and a "±" is one sample standard deviation. The columns:
//
//	rounds      that were run
//	accuracy    on test rows at the last evaluated round: of the global model if every history has one, else the mean
//	            over clients weighted by test examples; the line under the table says which
//	best        the highest such accuracy of any round
//	clients     mean over clients of the accuracy on their own test rows, each client counting the same
//	worst 10 %  the same over the tenth of the clients that are worst off
//	loss        test loss at the last evaluated round
//	down, up    bytes sent from the server to clients and back, over all rounds
//	time        wall time of the rounds without the evaluations
//
// Errors: no history, a nil one, one without an evaluated round.
func Table(h ...*fedkit.History) *chart.Table {
	return chart.Make("plot: table", func(t *chart.Table) error {
		all, b, err := compared(h)
		if err != nil {
			return err
		}
		names := groups(all)
		several := len(names) < len(all)
		head := []string{""}
		if several {
			head = append(head, "runs")
		}
		for _, r := range results {
			head = append(head, r.head)
		}
		t.Lines, t.Note = [][]string{head}, "accuracy, best and loss on test rows: "+b.of
		for _, g := range names {
			line := []string{g.name}
			if several {
				line = append(line, fmt.Sprint(len(g.runs)))
			}
			for _, r := range results {
				line = append(line, r.of(g, b))
			}
			t.Lines = append(t.Lines, line)
		}
		return nil
	})
}

// result is one number for each run of a name.
type result struct {
	head   string
	value  func(t *track, b basis) float64
	format func(float64) string
}

var results = []result{
	{"rounds", func(t *track, _ basis) float64 { return float64(len(t.history.Rounds)) }, plain("%.4g")},
	{"accuracy", func(t *track, b basis) float64 { return last(b.points(t)).accuracy }, percent},
	{"best", func(t *track, b basis) float64 { return best(b.points(t)) }, percent},
	{"clients", func(t *track, _ basis) float64 { return meanOfWorst(t.history, 1) }, percent},
	{"worst 10 %", func(t *track, _ basis) float64 { return meanOfWorst(t.history, 0.1) }, percent},
	{"loss", func(t *track, b basis) float64 { return last(b.points(t)).loss }, plain("%.3f")},
	{"down", sum(func(r fedkit.Record) float64 { return float64(r.BytesDown) }), byteCount},
	{"up", sum(func(r fedkit.Record) float64 { return float64(r.BytesUp) }), byteCount},
	{"time", sum(func(r fedkit.Record) float64 { return r.Seconds }), duration},
}

// of writes the mean of the finite values, and their standard deviation if they differ.
func (r result) of(g *group, b basis) string {
	var v []float64
	for _, t := range g.runs {
		if x := r.value(t, b); finite(x) {
			v = append(v, x)
		}
	}
	if len(v) == 0 {
		return "–"
	}
	if slices.Min(v) == slices.Max(v) {
		return r.format(v[0])
	}
	mean, std := meanStd(v)
	m, s := r.format(mean), r.format(std)
	if i := strings.LastIndex(m, " "); i >= 0 && strings.HasSuffix(s, m[i:]) { // the unit once
		m = m[:i]
	}
	return m + " ± " + s
}

func plain(format string) func(float64) string {
	return func(v float64) string { return fmt.Sprintf(format, v) }
}

func best(p []point) float64 {
	b := math.NaN()
	for _, p := range p {
		if !(p.accuracy <= b) && finite(p.accuracy) {
			b = p.accuracy
		}
	}
	return b
}

// meanOfWorst returns the mean accuracy of the given share of the clients, at least one, that have the lowest, at the
// last round in which clients were evaluated. A client whose accuracy is not a number counts as 0.
func meanOfWorst(h *fedkit.History, share float64) float64 {
	var a []float64
	for _, s := range lastScores(h) {
		switch v := float64(s.Accuracy); {
		case s.Examples <= 0:
		case finite(v):
			a = append(a, v)
		default:
			a = append(a, 0)
		}
	}
	if len(a) == 0 {
		return math.NaN()
	}
	slices.Sort(a)
	return stat.Mean(a[:max(1, int(math.Ceil(share*float64(len(a)))))], nil)
}

// sum adds up a number over all rounds.
func sum(of func(fedkit.Record) float64) func(*track, basis) float64 {
	return func(t *track, _ basis) (s float64) {
		for _, r := range t.history.Rounds {
			s += of(r)
		}
		return s
	}
}

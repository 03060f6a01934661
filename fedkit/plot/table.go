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

// Table returns a table that compares runs; Show shows it. It has one line per configuration, as in Accuracy: its runs
// are averaged, and a "±" is one sample standard deviation. The columns:
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
// If a strategy served personal models beside a global one, "global" and "clients' own" take the place of accuracy: both
// means. The line under the table also says which runs were stopped.
//
// Errors: no history, a nil one, one without an evaluated round.
func Table(h ...*fedkit.History) *chart.Table {
	return chart.Make("plot: table", func(t *chart.Table) error {
		all, b, err := compared(h)
		if err != nil {
			return err
		}
		gs := groups(all)
		several := slices.ContainsFunc(gs, func(g *group) bool { return len(g.runs) > 1 })
		results, words := columns(b, slices.ContainsFunc(gs, (*group).both))
		head := []string{""}
		if several {
			head = append(head, "runs")
		}
		for _, r := range results {
			head = append(head, r.head)
		}
		t.Lines, t.Note = [][]string{head}, strings.Join(append([]string{words}, remarks(gs)...), "; ")
		for _, g := range gs {
			line := []string{g.name}
			if several {
				line = append(line, fmt.Sprint(len(g.runs)))
			}
			for _, r := range results {
				line = append(line, r.of(g))
			}
			t.Lines = append(t.Lines, line)
		}
		return nil
	})
}

// columns returns the columns of a table, and the words under it. Both says that a run served personal models beside a
// global one.
func columns(b basis, both bool) (all []result, words string) {
	accuracy := func(head string, b basis) result {
		return result{head, func(t *track) float64 { return float64(last(b.points(t)).Accuracy) }, percent}
	}
	all = []result{{"rounds", func(t *track) float64 { return float64(t.seen) }, plain("%.4g")}}
	if both {
		all = append(all, accuracy(globalModel.name, globalModel), accuracy(ownModels.name, ownModels))
		words = fmt.Sprintf("accuracy on test rows: global, %s; clients' own, %s; best and loss: %s", globalModel.of, ownModels.of, b.of)
	} else {
		all = append(all, accuracy("accuracy", b))
		words = "accuracy, best and loss on test rows: " + b.of
	}
	return append(all,
		result{"best", func(t *track) float64 { return best(b.points(t)) }, percent},
		result{"clients", func(t *track) float64 { return meanOfWorst(t.history, 1) }, percent},
		result{"worst 10 %", func(t *track) float64 { return meanOfWorst(t.history, 0.1) }, percent},
		result{"loss", func(t *track) float64 { return float64(last(b.points(t)).Loss) }, plain("%.3f")},
		result{"down", sum(func(r fedkit.Record) float64 { return float64(r.BytesDown) }), byteCount},
		result{"up", sum(func(r fedkit.Record) float64 { return float64(r.BytesUp) }), byteCount},
		result{"time", sum(func(r fedkit.Record) float64 { return r.Seconds }), duration},
	), words
}

// result is one number for each run of a group.
type result struct {
	head   string
	value  func(*track) float64
	format func(float64) string
}

// of writes the mean of the finite values, and their standard deviation if they differ.
func (r result) of(g *group) string {
	var v []float64
	for _, t := range g.runs {
		if x := r.value(t); finite(x) {
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
		if a := float64(p.score.Accuracy); !(a <= b) && finite(a) {
			b = a
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
func sum(of func(fedkit.Record) float64) func(*track) float64 {
	return func(t *track) (s float64) {
		for _, r := range t.history.Rounds {
			s += of(r)
		}
		return s
	}
}

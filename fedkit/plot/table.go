package plot

import (
	"fmt"
	"html"
	"math"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/janpfeifer/gonb/gonbui"

	"fedkit.example/fedkit"
)

// Table compares runs, one line a name; runs of the same name are averaged, and a "±" is one sample standard deviation.
// The columns:
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
// In a notebook it is an HTML table, elsewhere text on standard output.
//
// Errors: no history, a nil one, one without an evaluated round.
func Table(h ...*fedkit.History) (err error) {
	defer guard(&err)
	t, err := newTable(h)
	if err != nil {
		return fmt.Errorf("plot: table: %w", err)
	}
	if !gonbui.IsNotebook {
		_, err := fmt.Fprint(os.Stdout, t.text())
		return err
	}
	var out notebook
	if err := out.send("", map[string]any{"text/html": t.html(), "text/plain": t.text()}, nil); err != nil {
		return err
	}
	out.sync()
	return nil
}

// table is lines of cells, the head first.
type table struct {
	lines [][]string
	note  string
}

// result is one number for each run of a name.
type result struct {
	head   string
	value  func(h *fedkit.History, t *track, b basis) float64
	format func(float64) string
}

var results = []result{
	{"rounds", func(h *fedkit.History, _ *track, _ basis) float64 { return float64(len(h.Rounds)) }, plain("%.4g")},
	{"accuracy", func(_ *fedkit.History, t *track, b basis) float64 { return last(b.points(t)).accuracy }, percent},
	{"best", func(_ *fedkit.History, t *track, b basis) float64 { return best(b.points(t)) }, percent},
	{"clients", func(h *fedkit.History, _ *track, _ basis) float64 { return meanOfWorst(h, 1) }, percent},
	{"worst 10 %", func(h *fedkit.History, _ *track, _ basis) float64 { return meanOfWorst(h, 0.1) }, percent},
	{"loss", func(_ *fedkit.History, t *track, b basis) float64 { return last(b.points(t)).loss }, plain("%.3f")},
	{"down", func(h *fedkit.History, _ *track, _ basis) float64 { return sum(h, bytesDown) }, byteCount},
	{"up", func(h *fedkit.History, _ *track, _ basis) float64 { return sum(h, bytesUp) }, byteCount},
	{"time", func(h *fedkit.History, _ *track, _ basis) float64 { return sum(h, seconds) }, duration},
}

func newTable(h []*fedkit.History) (*table, error) {
	all, err := tracks(h)
	if err != nil {
		return nil, err
	}
	b, err := commonBasis(all)
	if err != nil {
		return nil, err
	}
	runs := map[string][]int{} // indices by name
	var names []string
	several := false
	for i, t := range all {
		if runs[t.name] == nil {
			names = append(names, t.name)
		}
		runs[t.name] = append(runs[t.name], i)
		several = several || len(runs[t.name]) > 1
	}
	head := []string{""}
	if several {
		head = append(head, "runs")
	}
	for _, r := range results {
		head = append(head, r.head)
	}
	t := &table{lines: [][]string{head}, note: "accuracy, best and loss on test rows: " + b.of}
	for _, name := range names {
		line := []string{name}
		if several {
			line = append(line, fmt.Sprint(len(runs[name])))
		}
		for _, r := range results {
			var v []float64
			for _, i := range runs[name] {
				v = append(v, r.value(h[i], all[i], b))
			}
			line = append(line, withSpread(v, r.format))
		}
		t.lines = append(t.lines, line)
	}
	return t, nil
}

// text writes the table for a fixed-width font: names to the left, numbers to the right.
func (t *table) text() string {
	width := make([]int, len(t.lines[0]))
	for _, line := range t.lines {
		for i, c := range line {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, line := range t.lines {
		for i, c := range line {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i == 0 {
				b.WriteString(c + pad)
			} else {
				b.WriteString("  " + pad + c)
			}
		}
		b.WriteString("\n")
	}
	return b.String() + t.note + "\n"
}

func (t *table) html() string {
	var b strings.Builder
	b.WriteString("<table>\n")
	for i, line := range t.lines {
		cell := "td"
		if i == 0 {
			cell = "th"
		}
		b.WriteString("<tr>")
		for j, c := range line {
			if j == 0 {
				fmt.Fprintf(&b, `<%s style="text-align:left">%s</%s>`, cell, html.EscapeString(c), cell)
			} else {
				fmt.Fprintf(&b, `<%s style="text-align:right">%s</%s>`, cell, html.EscapeString(c), cell)
			}
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n<small>" + html.EscapeString(t.note) + "</small>")
	return b.String()
}

// withSpread writes the mean of the finite values, and their standard deviation if there are several.
func withSpread(v []float64, format func(float64) string) string {
	v = slices.DeleteFunc(v, func(x float64) bool { return !finite(x) })
	if len(v) == 0 {
		return "–"
	}
	mean, std := meanStd(v)
	if std == 0 {
		return format(mean)
	}
	m, s := format(mean), format(std)
	if i := strings.LastIndex(m, " "); i >= 0 && strings.HasSuffix(s, m[i:]) { // the unit once
		return m[:i] + " ± " + s
	}
	return m + " ± " + s
}

func plain(format string) func(float64) string {
	return func(v float64) string { return fmt.Sprintf(format, v) }
}

// byteCount writes a number of bytes: "1.2 MB".
func byteCount(v float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB", "TB"} {
		if v < 999.5 || unit == "TB" {
			return threeDigits(v) + " " + unit
		}
		v /= 1000
	}
	panic("unreachable")
}

// duration writes seconds: "1.2 s", "3 min 20 s", "2 h 05 min".
func duration(s float64) string {
	switch n := int(s + 0.5); {
	case s < 99.95:
		return threeDigits(s) + " s"
	case n < 3600:
		return fmt.Sprintf("%d min %02d s", n/60, n%60)
	default:
		return fmt.Sprintf("%d h %02d min", n/3600, n%3600/60)
	}
}

// threeDigits writes 1.23, 12.3, 123, but 12 for a whole number.
func threeDigits(v float64) string {
	switch {
	case v == math.Trunc(v) || v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func last(p []point) point {
	if len(p) == 0 {
		return point{accuracy: math.NaN(), loss: math.NaN()}
	}
	return p[len(p)-1]
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
// last round where clients were evaluated. A client whose accuracy is not a number counts as 0.
func meanOfWorst(h *fedkit.History, share float64) float64 {
	scores, _ := lastLocal(h)
	var a []float64
	for _, s := range scores {
		if s.Examples > 0 {
			v := float64(s.Accuracy)
			if !finite(v) {
				v = 0
			}
			a = append(a, v)
		}
	}
	if len(a) == 0 {
		return math.NaN()
	}
	slices.Sort(a)
	mean, _ := meanStd(a[:max(1, int(math.Ceil(share*float64(len(a)))))])
	return mean
}

func sum(h *fedkit.History, of func(*fedkit.Record) float64) (s float64) {
	for i := range h.Rounds {
		s += of(&h.Rounds[i])
	}
	return s
}

func bytesDown(r *fedkit.Record) float64 { return float64(r.BytesDown) }
func bytesUp(r *fedkit.Record) float64   { return float64(r.BytesUp) }
func seconds(r *fedkit.Record) float64   { return r.Seconds }

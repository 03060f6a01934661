package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/history"
)

// ClientAccuracy returns the figure of the distribution of accuracy over clients, or of R² for regressions; Show draws it. It has, for
// each history, the accuracy of every client on its own test rows, under the model it would use, at the last round in which clients
// were evaluated.
// A dot is a client, the box is the interquartile range and the bar the median. Runs of one configuration are pooled, as in
// Accuracy. Clients without test rows, or whose accuracy is not finite, are left out; the note counts them. Of more than 400, dots are
// drawn for 400, evenly spread by their accuracy; the box and the median are of all.
//
// Errors: no history, a nil one, one in which clients were never evaluated.
func ClientAccuracy(h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: client accuracy", func(f *chart.Figure) error {
		q, pools, gs, err := pools(h)
		if err != nil {
			return err
		}
		f.Name, f.Title = "client-"+q.Name, strings.ToUpper(q.Name[:1])+q.Name[1:]+" of each client"
		rows := h[0].Scored()
		f.Note = "dot: a client on its own " + rows + " rows; box: middle half; bar: median"
		noteEach(f, compare.Remarks(gs))
		f.X = chart.Axis{Title: rows + " " + q.Name + " of the client", Percent: q.Unit == "%", Bounds: q.Range}
		f.Point = "client"
		f.Height = 50 + 64*len(pools)
		lo, hi := 1.0, 0.0
		for _, p := range pools {
			lo, hi = min(lo, p.quantile(0)), max(hi, p.quantile(1))
		}
		half := max(0.0005, 0.006*(hi-lo)) / 2 // of the width of a median
		for i, p := range pools {
			row, m := float64(len(pools)-1-i), min(max(p.quantile(0.5), q.Range[0]+half), q.Range[1]-half) // the first on top
			if len(p.clients) > maxDots {
				note(f, "dots: %d of %d clients of %s, evenly spread by %s", maxDots, len(p.clients), p.name, q.Name)
			}
			if p.lost > 0 {
				note(f, "left out: %s of %s without a finite %s on %s rows", plural(p.lost, "client"), p.name, q.Name, rows)
			}
			f.Series = append(f.Series, p.bar(row, p.quantile(0.25), p.quantile(0.75), 0.18), p.strip(row), p.bar(row, m-half, m+half, 1))
		}
		f.Y.Names = backward(each(pools, func(p *pool) string { return p.name }))
		f.Alt = strings.Join(each(pools, func(p *pool) string {
			return fmt.Sprintf("%s median %.3g of %s", p.name, p.quantile(0.5), plural(len(p.clients), "client"))
		}), "; ")
		return nil
	})
}

// maxDots is how many clients of a pool have a dot.
const maxDots = 400

type client struct {
	name string
	of   float64 // accuracy or R²
}

// pool is the clients of all runs of a group, sorted by accuracy.
type pool struct {
	name    string
	clients []client
	lost    int // clients without test rows, or whose accuracy is not finite
}

func pools(h []*fedkit.History) (q compare.Quantity, pools []*pool, gs []*compare.Group, err error) {
	all, err := compare.Evaluated(h...)
	if err != nil {
		return q, nil, nil, err
	}
	q, gs = compare.Accuracy.For(all...), compare.GroupRuns(all)
	for _, g := range gs {
		p := &pool{name: g.Name}
		for i, r := range g.Runs {
			scores, err := lastScores(r, g.Name)
			if err != nil {
				return q, nil, nil, err
			}
			for c, s := range scores {
				id := fmt.Sprint(c)
				if len(g.Runs) > 1 {
					id = fmt.Sprintf("%d, run %d", c, i+1)
				}
				if a := history.Main(q.Name).Of(&s); s.Examples > 0 && finite(a) {
					p.clients = append(p.clients, client{id, a})
				} else {
					p.lost++
				}
			}
		}
		if len(p.clients) == 0 {
			return q, nil, nil, fmt.Errorf("history %q has no client with a finite %s in its last evaluated round", g.Name, q.Name)
		}
		slices.SortStableFunc(p.clients, func(a, b client) int { return cmp.Compare(a.of, b.of) })
		pools = append(pools, p)
	}
	return q, pools, gs, nil
}

// lastScores returns the clients' scores at the last round that has any, or why there is none.
func lastScores(r *compare.Run, name string) ([]fedkit.Score, error) {
	for _, r := range slices.Backward(r.History.Rounds) {
		if slices.ContainsFunc(r.Scores, func(s fedkit.Score) bool { return s.Examples > 0 }) {
			return r.Scores, nil
		}
	}
	if len(r.Own) > 0 {
		return nil, fmt.Errorf("history %q is without the scores of single clients: they were not kept, or not loaded", name)
	}
	return nil, fmt.Errorf("history %q has no round in which clients were evaluated", name)
}

// strip jitters the clients' dots so that they do not hide each other: the more clients have nearly the same accuracy, the
// farther their dots spread.
func (p *pool) strip(row float64) chart.Series {
	kept := chart.Thin(p.clients, maxDots)
	s := chart.Series{Name: p.name, Mark: chart.Dots, Opacity: 0.55}
	for i, c := range kept {
		s.X = append(s.X, c.of)
		s.Y = append(s.Y, row+0.34*crowd(kept, i)*(2*halves(i+1)-1))
		s.Tip = append(s.Tip, c.name)
	}
	return s
}

// crowd returns the density around client i: 0 for no neighbors, 1 if at least a fifth of all clients, and 10, are within two
// percentage points.
func crowd(c []client, i int) float64 {
	near := func(a float64) int { return sort.Search(len(c), func(k int) bool { return c[k].of >= a }) }
	n := near(c[i].of+0.02) - near(c[i].of-0.02) - 1
	return min(1, float64(n)/max(10, 0.2*float64(len(c))))
}

// halves is the van der Corput sequence ½, ¼, ¾, ⅛, …: deterministic, with low discrepancy in (0, 1).
func halves(i int) (v float64) {
	for step := 0.5; i > 0; i, step = i/2, step/2 {
		v += step * float64(i%2)
	}
	return v
}

// quantile interpolates between the two nearest clients: R's type 7, which gonum's stat.Quantile does not have.
func (p *pool) quantile(q float64) float64 {
	at := q * float64(len(p.clients)-1)
	i := int(at)
	j := min(i+1, len(p.clients)-1)
	return p.clients[i].of + (at-math.Floor(at))*(p.clients[j].of-p.clients[i].of)
}

func (p *pool) bar(row, from, to, opacity float64) chart.Series {
	s := chart.Series{Name: p.name, Mark: chart.Cells, Opacity: opacity}
	s.Cell(from, to, row-0.38, row+0.38)
	return s
}

// Participants returns the figure of how often each client took part; Show draws it. It has a row of bars for each
// configuration, one bar per client, all to one scale. A bar is the mean over the runs of a configuration, with several
// seeds, as in Accuracy. At most the first 100 clients are drawn.
//
// Errors: no history, a nil one, one in which nobody took part.
func Participants(h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: participants", func(f *chart.Figure) error {
		runs, err := compare.Runs(h...)
		if err != nil {
			return err
		}
		gs := compare.GroupRuns(runs)
		times, rounds := make([][]float64, len(gs)), make([]float64, len(gs)) // of each group: rounds with each client, and all of them
		most, clients := 0.0, 0
		for i, g := range gs {
			if times[i], rounds[i], err = attendance(g); err != nil {
				return err
			}
			most, clients = max(most, slices.Max(times[i])), max(clients, len(times[i]))
		}
		shown := min(clients, maxClients)
		f.Name, f.Title, f.Point = "participants", "How often each client took part", "took part"
		f.X = chart.Axis{Title: "client", Whole: true}
		f.Width, f.Height = min(900, max(360, 26*shown)), 40+76*len(gs)
		note(f, "bar: rounds with the client, the highest is %.3g", most)
		noteFirst(f, shown, clients, " clients")
		noteEach(f, compare.Remarks(gs))
		for i, g := range gs { // the first on top
			s, row := chart.Series{Name: g.Name, Mark: chart.Cells}, float64(len(gs)-1-i)
			for c, n := range times[i][:min(len(times[i]), maxClients)] {
				s.Cell(float64(c)-0.4, float64(c)+0.4, row-0.45, row-0.45+0.88*n/most+0.012, fmt.Sprintf("%.3g of %.3g rounds", n, rounds[i]))
			}
			f.Series = append(f.Series, s)
		}
		f.Y.Names = backward(each(gs, func(g *compare.Group) string { return g.Name }))
		f.Alt = strings.Join(each(times, func(n []float64) string { return fmt.Sprintf("%.3g to %.3g rounds", slices.Min(n), slices.Max(n)) }), "; ")
		return nil
	})
}

// attendance returns in how many rounds each client took part, and how many there are: means over the runs of a group.
func attendance(g *compare.Group) (times []float64, rounds float64, err error) {
	share := 1 / float64(len(g.Runs))
	for _, r := range g.Runs {
		any, h := false, r.History
		rounds += share * float64(len(h.Rounds))
		times = append(times, make([]float64, max(0, h.Clients-len(times)))...)
		for _, record := range h.Rounds {
			for _, c := range record.Clients() {
				if c >= 0 && c < len(times) {
					times[c], any = times[c]+share, true
				}
			}
		}
		if !any {
			return nil, 0, fmt.Errorf("history %q has no client that took part in any of its %d rounds", r.Name, r.Rounds)
		}
	}
	return times, rounds, nil
}

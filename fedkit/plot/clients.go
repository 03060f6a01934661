package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"fedkit.example/fedkit"
)

// ClientAccuracy draws how accuracy is spread over clients: for each history, the accuracy of every client on its own
// test rows, under the model it would use, at the last round where clients were evaluated. A dot is a client; the box
// holds the middle half of them and the bar is the median. Histories of the same Name are pooled. Clients without test
// rows are left out.
//
// Errors: no history, a nil one, one in which clients were never evaluated.
func ClientAccuracy(h ...*fedkit.History) error { return show(ClientAccuracyFigure(h...)) }

// ClientAccuracyFigure returns the figure that ClientAccuracy shows.
func ClientAccuracyFigure(h ...*fedkit.History) (f *Figure, err error) {
	defer guard(&err)
	groups, err := clientGroups(h)
	if err != nil {
		return nil, fmt.Errorf("plot: client accuracy: %w", err)
	}
	f = &Figure{
		Name:   "client-accuracy",
		Title:  "Accuracy of each client",
		Note:   "dot: a client on its own test rows; box: middle half; bar: median",
		X:      Axis{Title: "test accuracy of the client", Percent: true},
		Point:  "client",
		Height: 50 + 64*len(groups),
	}
	lo, hi := 1.0, 0.0
	for _, g := range groups {
		for _, c := range g.clients {
			lo, hi = min(lo, c.accuracy), max(hi, c.accuracy)
		}
	}
	for i, g := range groups {
		row := float64(len(groups) - 1 - i) // the first on top
		f.Y.Names = append([]string{g.name}, f.Y.Names...)
		slices.SortStableFunc(g.clients, func(a, b client) int { return cmp.Compare(a.accuracy, b.accuracy) })
		f.Series = append(f.Series, g.box(row), g.strip(row), g.median(row, max(0.0005, 0.006*(hi-lo))))
	}
	return f, nil
}

type client struct {
	name     string
	accuracy float64
}

// clientGroup is the clients of all histories of one name.
type clientGroup struct {
	name    string
	clients []client // by accuracy, once sorted
}

func clientGroups(h []*fedkit.History) ([]*clientGroup, error) {
	all, err := tracks(h)
	if err != nil {
		return nil, err
	}
	runs := map[string]int{}
	for _, t := range all {
		runs[t.name]++
	}
	seen := map[string]int{}
	var groups []*clientGroup
	for i, h := range h {
		name := all[i].name
		scores, _ := lastLocal(h)
		if scores == nil {
			return nil, fmt.Errorf("history %q has no round in which clients were evaluated", name)
		}
		g := slices.IndexFunc(groups, func(g *clientGroup) bool { return g.name == name })
		if g < 0 {
			g = len(groups)
			groups = append(groups, &clientGroup{name: name})
		}
		seen[name]++
		for c, s := range scores {
			if a := float64(s.Accuracy); s.Examples > 0 && finite(a) {
				id := fmt.Sprint(c)
				if runs[name] > 1 {
					id = fmt.Sprintf("%d, run %d", c, seen[name])
				}
				groups[g].clients = append(groups[g].clients, client{id, a})
			}
		}
	}
	for _, g := range groups {
		if len(g.clients) == 0 {
			return nil, fmt.Errorf("history %q has no client with a finite accuracy in its last evaluated round", g.name)
		}
	}
	return groups, nil
}

// lastLocal returns the clients' scores at the last round that has any, and that round.
func lastLocal(h *fedkit.History) (scores []fedkit.Score, round int) {
	for _, r := range slices.Backward(h.Rounds) {
		if _, _, ok := clientMean(r.Scores); ok {
			return r.Scores, r.Round
		}
	}
	return nil, 0
}

// strip lays the clients out as dots that do not hide each other: the more clients have nearly the same accuracy, the
// farther their dots spread.
func (g *clientGroup) strip(row float64) Series {
	kept := thin(g.clients, 400)
	s := Series{Name: g.name, Mark: Dots, Opacity: 0.55}
	for i, c := range kept {
		s.X = append(s.X, c.accuracy)
		s.Y = append(s.Y, row+0.34*crowd(kept, i)*(2*halves(i+1)-1))
		s.Tip = append(s.Tip, c.name)
	}
	return s
}

// crowd returns how close client i has neighbours: 0 for none, 1 where at least a fifth of all clients, and 10, are
// within two percentage points.
func crowd(c []client, i int) float64 {
	near := func(a float64) int { return sort.Search(len(c), func(k int) bool { return c[k].accuracy >= a }) }
	n := near(c[i].accuracy+0.02) - near(c[i].accuracy-0.02) - 1
	return min(1, float64(n)/max(10, 0.2*float64(len(c))))
}

// halves is the van der Corput sequence ½, ¼, ¾, ⅛, …: an even spread over (0, 1) without chance.
func halves(i int) (v float64) {
	for step := 0.5; i > 0; i, step = i/2, step/2 {
		v += step * float64(i%2)
	}
	return v
}

// quantile interpolates between the two nearest of the sorted clients (R's type 7).
func (g *clientGroup) quantile(q float64) float64 {
	at := q * float64(len(g.clients)-1)
	i := int(at)
	j := min(i+1, len(g.clients)-1)
	return g.clients[i].accuracy + (at-math.Floor(at))*(g.clients[j].accuracy-g.clients[i].accuracy)
}

func (g *clientGroup) box(row float64) Series {
	return Series{Name: g.name, Mark: Cells, Opacity: 0.18,
		X: []float64{g.quantile(0.25)}, X2: []float64{g.quantile(0.75)},
		Y: []float64{row - 0.38}, Y2: []float64{row + 0.38}}
}

func (g *clientGroup) median(row, width float64) Series {
	m := g.quantile(0.5)
	return Series{Name: g.name, Mark: Cells, X: []float64{m - width/2}, X2: []float64{m + width/2},
		Y: []float64{row - 0.38}, Y2: []float64{row + 0.38}}
}

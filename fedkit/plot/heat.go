package plot

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"fedkit.example/fedkit"
)

// Of is what Heat shows of each client and round.
type Of int

const (
	Participation Of = iota // who took part
	Drift                   // ‖w_i − start‖₂
	Mu                      // effective μ_i
	TrainLoss               // mean over the local steps
	Similarity              // cosine of Δ_i and the round's mean Δ
	Steps                   // local steps
)

// what they are called, and where a solve has them.
var recorded = []struct {
	name, field string
	of          func(fedkit.Solve) fedkit.Float
}{
	{"participation", "Client", func(fedkit.Solve) fedkit.Float { return 1 }},
	{"drift", "Drift", func(s fedkit.Solve) fedkit.Float { return s.Drift }},
	{"μ", "Mu", func(s fedkit.Solve) fedkit.Float { return s.Mu }},
	{"training loss", "Loss", func(s fedkit.Solve) fedkit.Float { return s.Loss }},
	{"similarity", "Similarity", func(s fedkit.Solve) fedkit.Float { return s.Similarity }},
	{"local steps", "Steps", func(s fedkit.Solve) fedkit.Float { return fedkit.Float(s.Steps) }},
}

func (of Of) String() string {
	if of < 0 || int(of) >= len(recorded) {
		return fmt.Sprintf("Of(%d)", int(of))
	}
	return recorded[of].name
}

// maxCells is how many cells of a heat map fit into a notebook.
const maxCells = 900

// Heat draws a figure of every client, round by round: a filled cell is a client that took part, the darker the larger its
// figure; the steps of the scale are even, or even in logarithms where the figures span more than a factor of 30. In a
// long run a cell stands for several rounds and shows the client's mean over those it took part in; the note says so.
// At most the first 100 clients are drawn.
//
// Errors: a nil history, one without that figure.
func Heat(h *fedkit.History, of Of) error { return show(HeatFigure(h, of)) }

// HeatFigure returns the figure that Heat shows.
func HeatFigure(h *fedkit.History, of Of) (f *Figure, err error) {
	defer guard(&err)
	rounds, err := measured(h, of)
	if err != nil {
		return nil, fmt.Errorf("plot: heat: %w", err)
	}
	cells, block := rounds, 1
	for len(cells) > maxCells {
		block++
		cells = blocks(rounds, block)
	}
	f = &Figure{
		Name:  "heat-" + of.String(),
		Title: fmt.Sprintf("%s of each client: %s", capital(of.String()), h.Name),
		X:     Axis{Title: "round", Whole: true},
		Y:     Axis{Title: "client", Whole: true},
		Point: of.String(),
	}
	clients := 0
	for _, c := range cells {
		clients = max(clients, c.client+1)
	}
	f.Height = min(640, max(200, 14*clients))
	if block > 1 {
		f.Note = fmt.Sprintf("a cell is a client's mean over %d rounds", block)
	}
	if clients < h.Clients && clients == maxClients {
		f.Note = joinNotes(f.Note, fmt.Sprintf("the first %d of %d clients", clients, h.Clients))
	}
	f.Series = shades(cells, of)
	return f, nil
}

// cell is what a client did from one round to another, in so many of them.
type cell struct {
	client, from, to int
	value            float64
	times            int
}

// measured lists the figures of a history, client by client.
func measured(h *fedkit.History, of Of) ([]cell, error) {
	switch {
	case of < 0 || int(of) >= len(recorded):
		return nil, fmt.Errorf("%d is not a figure: must be plot.Participation, plot.Drift, plot.Mu, plot.TrainLoss, plot.Similarity or plot.Steps", int(of))
	case h == nil:
		return nil, errors.New("the history is nil: did its run fail?")
	}
	var cells []cell
	for i := range h.Rounds {
		r := &h.Rounds[i]
		for _, s := range r.Solves {
			v := float64(recorded[of].of(s))
			if finite(v) && s.Client >= 0 && s.Client < maxClients && r.Round >= 0 {
				cells = append(cells, cell{s.Client, r.Round, r.Round, v, 1})
			}
		}
	}
	if !slices.ContainsFunc(cells, func(c cell) bool { return c.value != 0 }) {
		return nil, fmt.Errorf("history %q has no %s (Solve.%s) of any client", h.Name, of, recorded[of].field)
	}
	slices.SortStableFunc(cells, func(a, b cell) int { return a.client - b.client })
	return cells, nil
}

// blocks joins the cells of a client in every so many rounds to their mean.
func blocks(cells []cell, size int) (joined []cell) {
	for _, c := range cells {
		from := c.from - (c.from+size-1)%size // blocks end at multiples of size
		if n := len(joined) - 1; n >= 0 && joined[n].client == c.client && joined[n].from == from {
			joined[n].times++
			joined[n].value += (c.value - joined[n].value) / float64(joined[n].times)
			continue
		}
		joined = append(joined, cell{c.client, from, from + size - 1, c.value, 1})
	}
	return joined
}

// shades makes a series of the cells in each step of a scale.
func shades(cells []cell, of Of) (series []Series) {
	values := make([]float64, len(cells))
	for i, c := range cells {
		values[i] = c.value
	}
	lo, hi := slices.Min(values), slices.Max(values)
	s := newScale(Axis{Log: lo > 0 && hi > 30*lo})
	s.cover(values, 0)
	s.finish(8, 8)
	steps := len(s.ticks) - 1
	for k := range steps {
		name := s.label(s.ticks[k]) + " to " + s.label(s.ticks[k+1])
		t := Series{Name: name, Mark: Cells, Shade: float64(k+1) / float64(steps)}
		if of == Participation {
			t.Name, t.Shade = "took part", 0
		}
		for _, c := range cells {
			if at := sort.SearchFloat64s(s.ticks, c.value); max(0, min(at-1, steps-1)) != k {
				continue
			}
			t.X, t.X2 = append(t.X, float64(c.from)-0.5), append(t.X2, float64(c.to)+0.5)
			t.Y, t.Y2 = append(t.Y, float64(c.client)-0.46), append(t.Y2, float64(c.client)+0.46)
			t.Tip = append(t.Tip, tip(c, of))
		}
		if t.X != nil {
			series = append(series, t)
		}
	}
	return series
}

// tip words the figure of a cell.
func tip(c cell, of Of) string {
	switch {
	case of != Participation:
		return fmt.Sprintf("%.3g", c.value)
	case c.from == c.to:
		return "yes"
	}
	return fmt.Sprintf("%d times", c.times)
}

func capital(s string) string {
	if s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

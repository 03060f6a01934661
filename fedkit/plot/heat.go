package plot

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/table"
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

// Names of the values, and their fields in a ClientResult.
var recorded = []struct {
	name, field string
	of          func(fedkit.ClientResult) fedkit.Float
	sometimes   bool // 0 is none
}{
	{"Participation", "Client", func(fedkit.ClientResult) fedkit.Float { return 1 }, false},
	{"Drift", "Drift", func(s fedkit.ClientResult) fedkit.Float { return s.Drift }, false},
	{"μ", "Mu", func(s fedkit.ClientResult) fedkit.Float { return s.Mu }, true},
	{"Training loss", "Loss", func(s fedkit.ClientResult) fedkit.Float { return s.Loss }, false},
	{"Similarity", "Similarity", func(s fedkit.ClientResult) fedkit.Float { return s.Similarity }, true},
	{"Local steps", "Steps", func(s fedkit.ClientResult) fedkit.Float { return fedkit.Float(s.Steps) }, false},
}

// String returns the name of the value in lower case, as titles have it.
func (of Of) String() string {
	if of < 0 || int(of) >= len(recorded) {
		return fmt.Sprintf("Of(%d)", int(of))
	}
	return strings.ToLower(recorded[of].name)
}

// maxCells limits the cells of a heat map to what fits into a notebook.
const maxCells = 900

// Heat returns the figure of one value of every client, round by round; Show draws it. A filled cell is a client that
// took part and has the value, the darker the larger it is: see chart.Series.Values. A Mu or Similarity of 0 is none. In a long run a
// cell stands for several rounds and shows the client's mean over those it took part in; the note says so. At most the first
// 100 clients are drawn.
//
// Figures in a chart.Row have one scale. To compare others by their shades, give each the histories of all as beside:
//
//	for _, h := range hs {
//		plot.Heat(h, plot.Drift, hs...).Show()
//	}
//
// Errors: a nil history, one without that value.
func Heat(h *fedkit.History, of Of, beside ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: heat", func(f *chart.Figure) error {
		rounds, err := measured(h, of)
		if err != nil {
			return err
		}
		var covers []float64 // the least and the greatest value
		for _, other := range beside {
			theirs, err := measured(other, of)
			if err != nil {
				return err
			}
			covers = append(covers, each(theirs, func(c cell) float64 { return c.value })...)
			covers = []float64{slices.Min(covers), slices.Max(covers)}
		}
		cells, block := rounds, 1
		for len(cells) > maxCells {
			block++
			cells = blocks(rounds, block)
		}
		f.Name, f.Point = "heat-"+of.String(), of.String()
		f.Title = fmt.Sprintf("%s of each client: %s", recorded[of].name, h.Name)
		f.X, f.Y = chart.Axis{Title: "round", Whole: true}, chart.Axis{Title: "client", Whole: true}
		s := chart.Series{Name: "took part", Mark: chart.Cells, Of: of.String(), Covers: covers}
		for _, c := range cells {
			s.Cell(float64(c.from)-0.5, float64(c.to)+0.5, float64(c.client)-0.46, float64(c.client)+0.46, c.tip(of))
		}
		if of != Participation {
			s.Values = each(cells, func(c cell) float64 { return c.value })
		}
		if of == Participation {
			f.Alt = fmt.Sprintf("clients took part %d times", len(rounds))
		}
		f.Series = []chart.Series{s}
		clients := cells[len(cells)-1].client + 1
		f.Height = min(640, max(200, 14*clients))
		if block > 1 {
			note(f, "a cell is a client's mean over %d rounds", block)
		}
		if clients == maxClients {
			noteFirst(f, clients, h.Clients, " clients")
		}
		return nil
	})
}

// cell is what a client did from one round to another, in this many of them.
type cell struct {
	client, from, to int
	value            float64
	times            int
}

// measured lists the values of a history, client by client.
func measured(h *fedkit.History, of Of) ([]cell, error) {
	switch {
	case of < 0 || int(of) >= len(recorded):
		return nil, fmt.Errorf("of = %d: must be plot.Participation, plot.Drift, plot.Mu, plot.TrainLoss, plot.Similarity or plot.Steps", int(of))
	case h == nil:
		return nil, errNil
	}
	var cells []cell
	for _, r := range h.Rounds {
		results := r.Results
		if of == Participation && results == nil { // of an extract
			for _, c := range r.Clients() {
				results = append(results, fedkit.ClientResult{Client: c})
			}
		}
		for _, s := range results {
			v := float64(recorded[of].of(s))
			none := v == 0 && recorded[of].sometimes
			if finite(v) && !none && s.Client >= 0 && s.Client < maxClients && r.Round >= 0 {
				cells = append(cells, cell{s.Client, r.Round, r.Round, v, 1})
			}
		}
	}
	if !slices.ContainsFunc(cells, func(c cell) bool { return c.value != 0 }) {
		return nil, fmt.Errorf("history %q has no %s (ClientResult.%s) of any client", h.Name, of, recorded[of].field)
	}
	slices.SortStableFunc(cells, func(a, b cell) int { return a.client - b.client })
	return cells, nil
}

// blocks joins the cells of a client in each block of size rounds to their mean.
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

// tip writes the value of a cell.
func (c cell) tip(of Of) string {
	switch {
	case of != Participation:
		return table.Minus(fmt.Sprintf("%.3g", c.value))
	case c.from == c.to:
		return "yes"
	}
	return fmt.Sprintf("%d times", c.times)
}

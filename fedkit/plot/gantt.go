package plot

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/table"
)

// Limits of a Gantt chart.
const (
	maxWorkers = 30  // clients, unless they are chosen
	maxParts   = 600 // bars
	maxLines   = 60  // ends of rounds
)

// Schedule says what a Gantt chart shows of a run. The zero value is ready to use.
type Schedule struct {
	Clients []int // a row for each, the first on top; default the 30 who work for the longest in the rounds shown
	First   int   // round; default the first
	Last    int   // round; default the last
}

// Gantt returns the figure of who works, waits and travels, by the simulated clock: that of Schedule's zero value.
func Gantt(h *fedkit.History) *chart.Figure { return Schedule{}.Gantt(h) }

// Gantt returns the figure of who works, waits and travels, by the simulated clock; Show draws it. Each client has a row, with
// bars for its download, its training and its upload; in between, it waits. Gray is work without a result: the client was late,
// or dropped out, where a dot is. Vertical lines are the ends of rounds, unless these are more than 60.
//
// Work that goes on before or after the rounds shown is cut off there. What is still under way when a run ends is not in its
// history. Of a client that solved several jobs in one round, the download lasts until it had received the last one.
//
// If rounds have more work than a notebook has room for, only the first of them are drawn, and of the clients at most the
// first 100; the note says so.
//
//	plot.Schedule{First: 100, Last: 105}.Gantt(h).Show()
//
// Errors: a nil history, one without a clock, rounds or clients that it does not have, no work in these rounds.
func (s Schedule) Gantt(h *fedkit.History) *chart.Figure {
	return chart.Make("plot: gantt", func(f *chart.Figure) error {
		first, last, err := s.check(h)
		if err != nil {
			return err
		}
		rounds, all, before := h.Rounds[first:last+1], pieces(h), 0.0
		if first > 0 {
			before = float64(h.Rounds[first-1].Clock)
		}
		most := sort.Search(len(rounds)-1, func(n int) bool {
			bars := 0
			for _, p := range s.shift(all, before, rounds[:n+2]).work {
				bars += len(p.at) - 1
			}
			return bars > maxParts
		})
		shown := rounds[:most+1]
		w := s.shift(all, before, shown)
		if len(w.work) == 0 {
			return fmt.Errorf("history %q has no work of these clients in rounds %d to %d", h.Name, shown[0].Round, shown[most].Round)
		}
		f.Name, f.Title, f.Point, f.Legend = "gantt", "Who works when: "+h.Name, "round", true
		f.Width, f.Height = 720, min(640, max(100, 16*len(w.clients)))
		w.draw(f, shown)
		f.Alt = fmt.Sprintf("%s in rounds %d to %d, which end after %.3g s", plural(len(w.clients), "client"), shown[0].Round, shown[most].Round, float64(shown[most].Clock))
		noteFirst(f, len(shown), len(rounds), " rounds")
		if s.Clients == nil && len(w.clients) < w.busy {
			note(f, "the %d of %d clients who work for the longest", len(w.clients), w.busy)
		}
		noteFirst(f, min(len(s.Clients), maxClients), len(s.Clients), " clients")
		return nil
	})
}

// check returns the first and the last round to show, by index.
func (s Schedule) check(h *fedkit.History) (first, last int, err error) {
	runs, err := compare.Runs(h)
	if err == nil {
		err = runs[0].Timed()
	}
	if err == nil && len(h.Rounds) == 0 {
		err = fmt.Errorf("history %q has no round", runs[0].Name)
	}
	if err != nil {
		return 0, 0, err
	}
	for i, c := range s.Clients {
		if c < 0 || c >= h.Clients {
			return 0, 0, fedkit.Invalid(fmt.Sprintf("Clients[%d]", i), c, fmt.Sprintf("in [0, %d)", h.Clients))
		}
	}
	index := func(field string, round, usual int) int {
		if round == 0 {
			return usual
		}
		at := slices.IndexFunc(h.Rounds, func(r fedkit.Record) bool { return r.Round == round })
		if at < 0 {
			err = fedkit.Invalid(field, round, fmt.Sprintf("a round of history %q, which has %d", runs[0].Name, len(h.Rounds)))
		}
		return at
	}
	first, last = index("First", s.First, 0), index("Last", s.Last, len(h.Rounds)-1)
	if err == nil && first > last {
		err = fedkit.Invalid("Last", s.Last, fmt.Sprintf("at least First, which is %d", s.First))
	}
	return first, last, err
}

// shift is the work of some clients from one moment of the clock to another.
type shift struct {
	from, to float64
	clients  []int // one per row, the first on top
	busy     int   // clients with any work, chosen or not
	work     []piece
}

// shift returns the work from the moment before some rounds to the end of them.
func (s Schedule) shift(all []piece, before float64, rounds []fedkit.Record) (w shift) {
	w.from, w.to = before, float64(rounds[len(rounds)-1].Clock)
	for _, p := range all {
		if p.begin() < w.to && p.end() > w.from {
			w.work = append(w.work, p)
		}
	}
	busy := map[int]float64{}
	for _, p := range w.work {
		busy[p.client] += p.end() - p.begin()
	}
	w.busy = len(busy)
	if s.Clients != nil {
		w.clients = s.Clients[:min(len(s.Clients), maxClients)]
	} else { // those who work for the longest
		longest := slices.SortedFunc(maps.Keys(busy), func(a, b int) int { return cmp.Or(cmp.Compare(busy[b], busy[a]), a-b) })
		w.clients = longest[:min(len(longest), maxWorkers)]
		slices.Sort(w.clients)
	}
	w.work = slices.DeleteFunc(w.work, func(p piece) bool { return !slices.Contains(w.clients, p.client) })
	return w
}

// draw draws the work, and the ends of rounds.
func (w shift) draw(f *chart.Figure, rounds []fedkit.Record) {
	unit, by := timeUnit(w.to - w.from)
	f.X, f.Y = chart.Axis{Title: "simulated time (" + unit + ")"}, chart.Axis{Title: "client"}
	if w.from > 0 {
		f.X.Title = fmt.Sprintf("simulated time since the end of round %d (%s)", rounds[0].Round-1, unit)
	}
	f.Y.Names = each(backward(w.clients), strconv.Itoa)
	x := func(t float64) float64 { return (min(max(t, w.from), w.to) - w.from) / by }
	series := []chart.Series{ // piece.draw knows their order
		{Name: "download", Mark: chart.Cells, Shade: 0.15}, {Name: "training", Mark: chart.Cells, Shade: 0.7}, {Name: "upload", Mark: chart.Cells, Shade: 0.4},
		{Name: "no result", Mark: chart.Cells, Ink: true, Opacity: 0.3}, {Name: "dropped out", Mark: chart.Dots, Ink: true, Opacity: 1},
	}
	for _, p := range w.work {
		p.lost = p.lost && p.end() <= w.to
		p.draw(series, float64(len(w.clients)-1-slices.Index(w.clients, p.client)), x)
	}
	f.Series = series
	note(f, "gray: work without a result; dot: dropped out")
	if len(rounds) <= maxLines {
		note(f, "line: end of a round")
		ends := chart.Series{Name: "end of a round", Mark: chart.Segments, Ink: true, Opacity: 0.25}
		for _, r := range rounds {
			at := x(float64(r.Clock))
			ends.Cell(at, at, -0.5, float64(len(w.clients))-0.5, fmt.Sprintf("%d ends at %s", r.Round, table.Seconds(float64(r.Clock))))
		}
		f.Series = append(f.Series, ends)
	}
}

// piece is a piece of work: when it began, and when each part of it ended, in s of the clock: download, training and upload, or
// one part if there is no result.
type piece struct {
	client, round int
	at            []float64
	lost          bool // the client dropped out in the end
}

func (p *piece) begin() float64 { return p.at[0] }
func (p *piece) end() float64   { return p.at[len(p.at)-1] }

// pieces returns all work of a history.
func pieces(h *fedkit.History) (all []piece) {
	add := func(client, round int, lost bool, times ...fedkit.Float) {
		at := each(times, func(t fedkit.Float) float64 { return float64(t) })
		if slices.IsSorted(at) && finite(at[0]) && finite(at[len(at)-1]) {
			all = append(all, piece{client, round, at, lost})
		}
	}
	for i := range h.Rounds {
		r := &h.Rounds[i]
		for _, s := range r.Results {
			if s.Skipped {
				add(s.Client, r.Round, false, s.Begin, s.Arrived)
			} else {
				add(s.Client, r.Round, false, s.Begin, s.Received, s.Finished, s.Arrived)
			}
		}
		for _, m := range r.Absences { // the server ends what is late
			add(m.Client, r.Round, m.DroppedOut && m.End <= r.Clock, m.Begin, max(m.Begin, min(m.End, r.Clock)))
		}
	}
	return all
}

// draw adds the piece to the series of its parts, of what has no result, and of those who dropped out. X places a time.
func (p *piece) draw(s []chart.Series, row float64, x func(t float64) float64) {
	for i, end := range p.at[1:] {
		part := &s[i]
		if len(p.at) == 2 {
			part = &s[3]
		}
		if left, right := x(p.at[i]), x(end); left < right {
			part.Cell(left, right, row-0.4, row+0.4, fmt.Sprintf("%d: %s", p.round, table.Seconds(end-p.at[i])))
		}
	}
	if p.lost {
		dot := &s[4]
		dot.X, dot.Y, dot.Tip = append(dot.X, x(p.end())), append(dot.Y, row), append(dot.Tip, fmt.Sprint(p.round))
	}
}

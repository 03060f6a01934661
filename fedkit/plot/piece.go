package plot

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/table"
)

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

package chart

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Box is a part of a diagram.
type Box struct {
	X, Y float64 // its center, in columns to the right and rows down
	Text string  // may have several lines
	Kind string  // boxes of one kind have one color, which the legend names; default none: a frame only
}

// Arrow leads from a box to another, by their numbers.
type Arrow struct {
	From, To int    // numbers of boxes
	Text     string // beside its middle: "yes"
}

// Sizes in a diagram, where a column is columnWidth wide and a row rowHeight high, in CSS pixels.
const (
	columnWidth, rowHeight = 150.0, 74.0
	boxWidth, boxHeight    = 0.8, 0.62 // of a column, and of a row
	arrowHead              = 7.0       // pixels
)

// Diagram returns boxes with arrows between them: what flows where, and what is decided on. A second arrow back runs beside the first.
//
//	chart.Diagram("One round", []chart.Box{{Text: "server"}, {X: 1, Text: "clients"}}, []chart.Arrow{{From: 0, To: 1, Text: "model"}})
func Diagram(title string, boxes []Box, arrows []Arrow) *Figure {
	columns, rows := 0., 0.
	for _, b := range boxes {
		columns, rows = max(columns, math.Ceil(b.X)), max(rows, math.Ceil(b.Y))
	}
	if !(columns <= 100 && rows <= 100) {
		return Failed(fmt.Errorf("chart: a diagram of %v columns and %v rows: must be at most 100 each", columns+1, rows+1))
	}
	across, down := make([]string, int(columns)+1), make([]string, int(rows)+1)
	f := &Figure{Title: title, X: Axis{Hidden: true, Names: across}, Y: Axis{Hidden: true, Names: down}, Legend: true}
	f.Width, f.Height = int(columnWidth)*len(across), int(rowHeight)*len(down)
	border := Series{Name: "border", Mark: Segments, Ink: true}
	labels := Series{Name: "label", Mark: Cells, Ink: true, Opacity: 1e-6}
	kinds, place := []Series{{Name: "frame", Mark: Cells, Ink: true, Opacity: 0.04}}, map[string]int{"": 0}
	for _, b := range boxes {
		if _, known := place[b.Kind]; !known {
			place[b.Kind] = len(kinds)
			kinds = append(kinds, Series{Name: b.Kind, Mark: Cells, Opacity: 0.35})
		}
		l, r, t, u := b.X-boxWidth/2, b.X+boxWidth/2, rows-b.Y+boxHeight/2, rows-b.Y-boxHeight/2
		s := &kinds[place[b.Kind]]
		s.Cell(l, r, u, t)
		s.Text = append(s.Text, b.Text)
		for _, e := range [][4]float64{{l, r, t, t}, {l, r, u, u}, {l, l, u, t}, {r, r, u, t}} {
			border.Cell(e[0], e[1], e[2], e[3])
		}
	}
	lines := Series{Name: "arrow", Mark: Segments, Ink: true}
	for _, a := range arrows {
		if min(a.From, a.To) < 0 || max(a.From, a.To) >= len(boxes) || a.From == a.To {
			return Failed(errors.New("an arrow of a diagram does not lead from one of its boxes to another"))
		}
		p, q := boxes[a.From], boxes[a.To]
		dx, dy := (q.X-p.X)*columnWidth, (q.Y-p.Y)*rowHeight // in pixels, down
		length := math.Hypot(dx, dy)
		ux, uy := dx/length, dy/length
		side := 0. // beside an arrow back
		for _, b := range arrows {
			if b.From == a.To && b.To == a.From {
				side = 7
			}
		}
		edge := min(boxWidth*columnWidth/2/math.Abs(ux), boxHeight*rowHeight/2/math.Abs(uy)) // from a center to its border
		at := func(along, across float64) (x, y float64) {
			x, y = ux*along-uy*across, uy*along+ux*across
			return p.X + x/columnWidth, rows - p.Y - y/rowHeight
		}
		x, y := at(edge, side)
		tipX, tipY := at(length-edge-1, side)
		lines.Cell(x, tipX, y, tipY)
		for _, s := range []float64{-1, 1} {
			x, y = at(length-edge-1-arrowHead, side+s*arrowHead/2)
			lines.Cell(x, tipX, y, tipY)
		}
		if a.Text != "" {
			longest := 0
			for line := range strings.SplitSeq(a.Text, "\n") {
				longest = max(longest, utf8.RuneCountInString(line))
			}
			away := side + 9 + math.Abs(uy)*3*float64(longest) // text runs across
			x, y = at(length/2, away)
			labels.Cell(x-0.01, x+0.01, y-0.01, y+0.01)
			labels.Text = append(labels.Text, a.Text)
		}
	}
	f.Series = append(kinds, border, lines, labels)
	return f
}

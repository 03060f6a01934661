package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Figures fit the cell that they stand in. Vega-Lite can size a single view by its container, but no rows of them. So a specification
// has the sizes that its figures ask for, and vega-embed, which JupyterLab draws with, takes a patch of the compiled one from usermeta.
// There, sizes are signals that follow the cell when a side bar opens or the window is resized.

const (
	spacing  = 32   // between figures of a row
	padding  = 8    // around them
	tight    = 150  // a row has fewer columns before its figures get narrower than this
	wideFont = 1.15 // how much wider letters may be in a browser that has neither Helvetica nor Arial
)

// room is the width of the cell. A cell that is out of sight has none; the guess is right in JupyterLab with its file browser
// open. A little less room is none of the figure's business: it is scaled then. Otherwise a figure would get smaller and
// smaller on a page whose style, that of a figure from elsewhere, makes the container as narrow as the figure.
var room = object{
	"name": "room", "init": "containerSize()[0] || windowSize()[0] - 480",
	"on": []any{object{
		"events": "timer{400}, window:resize",
		"update": "inrange(containerSize()[0], [room - 64, room]) ? room : containerSize()[0] || room",
	}},
}

// fit lets the figures follow the room. Without the patch, signals have the values of config.params.
func (s *sheet) fit(spec object) {
	n, least, most := len(s.panels), 0.0, 0.0
	for _, p := range s.panels {
		around := p.around() + spacing
		least, most = max(least, min(tight, float64(p.Width))+around), max(most, float64(p.Width)+around)
	}
	spec["config"].(object)["params"] = []any{
		object{"name": "room", "value": math.Ceil(float64(s.across())*most) - spacing + 2*padding},
		object{"name": "columns", "value": float64(s.across())},
	}
	columns := fmt.Sprintf("ceil(%d / ceil(%d / clamp(floor((room + %d) / %g), 1, %d)))", n, n, spacing-2*padding, least, s.across())
	if s.joined() {
		columns = fmt.Sprint(s.across())
	}
	patch := []any{change("add", "/signals/-", room)}
	if n > 1 {
		patch = append(patch, change("add", "/signals/-", object{"name": "columns", "update": columns}),
			change("replace", "/layout/columns", object{"signal": "columns"}))
	}
	at := 0 // of a size in the compiled row, which begins with those that all figures have
	for k := -1; k < n; k++ {
		for _, dimension := range []string{"width", "height"} {
			if (n > 1 && s.alike(dimension)) != (k < 0) {
				continue
			}
			i, op, path := max(k, 0), "replace", "/signals/"+strconv.Itoa(at)
			if n == 1 {
				op, path = "add", "/signals/-"
			}
			if update := s.size(i, dimension); update != "" {
				patch = append(patch, change(op, path, object{"name": s.signalOf(i, dimension), "update": update}))
			}
			at++
		}
	}
	spec["autosize"] = object{"type": "pad", "resize": true}
	spec["usermeta"] = object{"embedOptions": object{"renderer": "svg", "patch": patch}}
}

// change is an operation of JSON Patch (RFC 6902).
func change(op, path string, value object) object {
	return object{"op": op, "path": path, "value": value}
}

// alike reports whether all panels have the same width, or height.
func (s *sheet) alike(dimension string) bool {
	return !slices.ContainsFunc(s.panels, func(p *panel) bool {
		return dimension == "width" && p.Width != s.panels[0].Width || dimension == "height" && p.Height != s.panels[0].Height
	})
}

// signalOf is the name of the signal that holds a panel's width or height.
func (s *sheet) signalOf(i int, dimension string) string {
	switch {
	case len(s.panels) == 1:
		return dimension
	case s.alike(dimension):
		return "child" + strings.ToUpper(dimension[:1]) + dimension[1:]
	}
	return fmt.Sprintf("concat_%d_%s", i, dimension)
}

// size is the expression for a panel's width, its own or its share of the room, or for its height if cells keep their shape; "" for none.
func (s *sheet) size(i int, dimension string) string {
	p, most := s.panels[i], 0.0
	if dimension == "height" {
		if !p.matrix() {
			return ""
		}
		return fmt.Sprintf("%s * %g", s.signalOf(i, "width"), round(float64(p.Height)/float64(p.Width), 5))
	}
	for _, q := range s.panels {
		if q.Width == p.Width {
			most = max(most, q.around())
		}
	}
	width := fmt.Sprintf("clamp(floor((room + %d) / columns) - %g, %d, %d)", spacing-2*padding, spacing+most, min(60, p.Width), p.Width)
	if s.joined() {
		beside := float64(2*padding - spacing)
		for _, q := range s.panels[:s.across()] {
			beside += q.around() + spacing
		}
		width = fmt.Sprintf("clamp(floor((room - %g) / %d), %d, %d)", beside, s.across(), min(40, p.Width), p.Width)
	}
	if n := int(p.x.hi - p.x.lo); p.matrix() && n > 0 && 8*n <= p.Width { // whole pixels for each cell, so that no seams show
		width = fmt.Sprintf("%d * max(1, floor(%s / %d))", n, width, n)
	}
	return width
}

// joined reports whether a figure has the rows of the one at its left, but not their names. Such figures stay in their line.
func (s *sheet) joined() bool {
	return slices.ContainsFunc(s.panels, func(p *panel) bool { return p.Y.Names != nil && p.y.ticks == nil })
}

// matrix reports whether the panel has named rows and columns: it is made smaller as a whole, unless text has to fit into its rows.
func (p *panel) matrix() bool {
	return p.X.Names != nil && p.Y.Names != nil && !slices.ContainsFunc(p.series, func(s series) bool { return s.Text != nil })
}

// around is the width of what stands beside a panel's area.
func (p *panel) around() float64 {
	left := 8.0
	for _, t := range p.y.ticks {
		left = max(left, 8+wide(p.y.label(t), 11))
	}
	if p.Y.Title != "" && (p.y.beside == 0 || p.column == 0) {
		left += 22
	}
	return math.Ceil(wideFont * (left + p.right()))
}

// right is the width of what stands at the right of a panel's area.
func (p *panel) right() float64 {
	right := max(12, p.endRoom())
	if last := len(p.x.ticks) - 1; last >= 0 {
		right = max(right, wide(p.x.label(p.x.ticks[last]), 11)/2+2)
	}
	return math.Ceil(right)
}

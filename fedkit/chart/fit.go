package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Figures fit the cell that they stand in. Vega-Lite can size a single view by its container, but no rows of them. So the
// widths are given to the Vega specification that it compiles, by the patch that vega-embed takes from usermeta. They are
// signals, and follow the cell when a side bar opens or the window is resized.

const (
	spacing = 32  // between figures of a row, in their Vega-Lite form
	padding = 8   // around them
	tight   = 150 // a row has fewer columns before its figures get narrower than this
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

// fit lets the figures follow the room.
func (s *sheet) fit(spec object) {
	patch := []any{object{"op": "add", "path": "/signals/-", "value": room}}
	if len(s.panels) == 1 {
		spec["params"] = s.ownSize()
	} else {
		patch = append(patch, s.columnsAndSizes()...)
	}
	spec["autosize"] = object{"type": "pad", "resize": true}
	spec["usermeta"] = object{"embedOptions": object{"renderer": "svg", "patch": patch}}
}

// ownSize is what replaces the size of a figure that stands alone.
func (s *sheet) ownSize() []any {
	size := []any{object{"name": "width", "expr": s.width(0)}}
	if s.panels[0].matrix() {
		size = append(size, object{"name": "height", "expr": s.height(0)})
	}
	return size
}

// columnsAndSizes are the changes to a compiled row.
func (s *sheet) columnsAndSizes() []any {
	n, least := len(s.panels), 0.0
	for _, p := range s.panels {
		least = max(least, min(tight, float64(p.Width))+p.around())
	}
	fits := fmt.Sprintf("clamp(floor((room + %d) / %g), 1, %d)", spacing-2*padding, least+spacing, s.across())
	if s.joined() {
		fits = fmt.Sprint(s.across())
	}
	patch := []any{
		object{"op": "add", "path": "/signals/-", "value": signal("columns", fmt.Sprintf("ceil(%d / ceil(%d / %s))", n, n, fits))},
		object{"op": "replace", "path": "/layout/columns", "value": object{"signal": "columns"}},
	}
	for at, size := range s.sizes() {
		value := signal(s.signalOf(size.panel, "width"), s.width(size.panel))
		if !size.width {
			if !s.panels[size.panel].matrix() {
				continue
			}
			value = signal(s.signalOf(size.panel, "height"), s.height(size.panel))
		}
		patch = append(patch, object{"op": "replace", "path": fmt.Sprintf("/signals/%d", at), "value": value})
	}
	return patch
}

func signal(name, update string) object { return object{"name": name, "update": update} }

// size is a signal of the compiled specification: a width, or else a height, of a panel or of all of them.
type size struct {
	width bool
	panel int
}

// sizes lists the signals that a row's specification begins with.
func (s *sheet) sizes() (all []size) {
	wide, high := s.alike()
	if wide {
		all = append(all, size{true, 0})
	}
	if high {
		all = append(all, size{false, 0})
	}
	for i := range s.panels {
		if !wide {
			all = append(all, size{true, i})
		}
		if !high {
			all = append(all, size{false, i})
		}
	}
	return all
}

// alike reports whether all panels have one width, and one height.
func (s *sheet) alike() (wide, high bool) {
	first := s.panels[0]
	return !slices.ContainsFunc(s.panels, func(p *panel) bool { return p.Width != first.Width }),
		!slices.ContainsFunc(s.panels, func(p *panel) bool { return p.Height != first.Height })
}

// signalOf is the name of the signal that holds a panel's width or height.
func (s *sheet) signalOf(i int, dimension string) string {
	wide, high := s.alike()
	switch {
	case len(s.panels) == 1:
		return dimension
	case dimension == "width" && wide || dimension == "height" && high:
		return "child" + strings.ToUpper(dimension[:1]) + dimension[1:]
	}
	return fmt.Sprintf("concat_%d_%s", i, dimension)
}

// width is the expression for a panel's width: its own, or its share of the room.
func (s *sheet) width(i int) string {
	p, columns := s.panels[i], "1"
	if len(s.panels) > 1 {
		columns = "columns"
	}
	most := 0.0
	for _, q := range s.panels {
		if q.Width == p.Width {
			most = max(most, q.around())
		}
	}
	width := fmt.Sprintf("clamp(floor((room + %d) / %s) - %g, %d, %d)", spacing-2*padding, columns, spacing+most, min(60, p.Width), p.Width)
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

// height is the expression for the height of a panel whose cells keep their shape.
func (s *sheet) height(i int) string {
	p := s.panels[i]
	return fmt.Sprintf("%s * %g", s.signalOf(i, "width"), round(float64(p.Height)/float64(p.Width), 5))
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
	m := p.margins()
	return math.Ceil(wideFont * float64(m.left+m.right))
}

package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Figures fit the cell that they stand in. Vega-Lite can size a single view by its container, but no rows of them. So a specification
// has the sizes that its figures ask for, and vega-embed, which JupyterLab draws with, takes a patch of the compiled one from usermeta.
// There, sizes are signals that follow the cell when a side bar opens or the window is resized.

const (
	spacing  = 32   // between figures of a row
	padding  = 8    // around them
	tight    = 150  // a row has fewer columns before its figures get narrower than this
	growth   = 1.5  // how much wider a figure gets than it asks for, in a wide cell
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

// fit lets the figures follow the room: columns is how many stand in a line, and shrink is what their widths are multiplied by. Where
// nothing takes the patch, both have the values of config.params, config.signals once compiled, and figures the sizes that they ask for.
func (s *sheet) fit(spec object) {
	n, across := len(s.panels), s.across()
	least, width, around, sums := 0.0, 0.0, 0.0, 0.0 // of panels: the largest, with what stands beside them, and sums over a line
	alike := [2]bool{true, true}                     // all widths, and all heights
	for i, p := range s.panels {
		w, beside := float64(p.Width), p.around()+spacing
		least, width, around = max(least, min(tight, w)+beside), max(width, w), max(around, beside)
		if i < across {
			sums += beside
		}
		alike[0], alike[1] = alike[0] && p.Width == s.panels[0].Width, alike[1] && p.Height == s.panels[0].Height
	}
	free := spacing - 2*padding // what the last column does not need
	smallest := 60.0
	columns := fmt.Sprintf("ceil(%d / ceil(%d / clamp(floor((room + %d) / %g), 1, %d)))", n, n, free, least, across)
	if s.joined() {
		columns, around, smallest = strconv.Itoa(across), sums/float64(across), 36
	}
	spec["config"].(object)["params"] = []any{
		object{"name": "room", "value": max(roomy+60, float64(across)*math.Ceil(width+around)-float64(free))},
		object{"name": "columns", "value": float64(across)}, object{"name": "shrink", "value": 1.0},
	}
	shrink := fmt.Sprintf("clamp(((room + %d) / columns - %g) / %g, %g, %g)", free, around, width, round(min(smallest, width)/width, 3), growth)
	var patch, sizes []any                       // sizes of a figure that stands alone are its own
	replace := func(path string, value object) { // by JSON Patch (RFC 6902)
		patch = append(patch, object{"op": "replace", "path": path, "value": value})
	}
	replace("/config/signals/0", room)
	replace("/config/signals/1", object{"name": "columns", "update": columns})
	replace("/config/signals/2", object{"name": "shrink", "update": shrink})
	if n > 1 {
		replace("/layout/columns", object{"signal": "columns"})
	}
	at := 0 // of a size in the compiled row, which begins with those that all figures have
	for k := -1; k < n; k++ {
		for i, update := range s.panels[max(k, 0)].sizes() {
			if (n > 1 && alike[i]) != (k < 0) {
				continue
			}
			name := []string{"width", "height"}[i]
			switch {
			case update == "":
			case n == 1:
				sizes = append(sizes, object{"name": name, "expr": update})
			case k < 0:
				replace(fmt.Sprint("/signals/", at), object{"name": []string{"childWidth", "childHeight"}[i], "update": update})
			default:
				replace(fmt.Sprint("/signals/", at), object{"name": fmt.Sprintf("concat_%d_%s", k, name), "update": update})
			}
			at++
		}
	}
	if sizes != nil {
		spec["params"] = sizes
	}
	spec["autosize"] = object{"type": "pad", "resize": true}
	spec["usermeta"] = object{"embedOptions": object{"renderer": "svg", "patch": patch}}
}

// growth is the factor of what keeps its shape in a panel: its heights grow by the square root of what its width does, but for a matrix.
func (p *panel) growth() string {
	if p.matrix() {
		return "shrink"
	}
	return "min(shrink, sqrt(shrink))"
}

// sizes are the expressions for a panel's width and, unless it is one of rows with names, for its height.
func (p *panel) sizes() [2]string {
	width := fmt.Sprintf("floor(%d * shrink)", p.Width)
	switch {
	case p.matrix():
	case p.Y.Names != nil:
		return [2]string{width}
	default:
		return [2]string{width, fmt.Sprintf("floor(%d * sqrt(max(1, shrink)))", p.Height)}
	}
	if n := int(p.x.hi - p.x.lo); n > 0 && 8*n <= p.Width { // whole pixels for each cell, so that no seams show
		width = fmt.Sprintf("%d * max(1, floor(%g * shrink))", n, round(float64(p.Width)/float64(n), 5))
	}
	return [2]string{width, fmt.Sprintf("%s * %g", width, round(float64(p.Height)/float64(p.Width), 5))}
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
		left = max(left, 8+wide(p.y.label(t), small))
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

package chart

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"fedkit.example/fedkit/table"
)

// titleOffset is how far titles are over their panels, as in config.json.
const titleOffset = 12

const vegaLiteSchema = "https://vega.github.io/schema/vega-lite/v5.json"

// object is a JSON object. The specification also travels by encoding/gob, which knows no nil inside an any, so what
// Vega-Lite writes as null is said in another way: empty titles, transparent strokes, config.legend.disable.
type object = map[string]any

// vegaLite returns the sheet as a Vega-Lite specification.
func (s *sheet) vegaLite() map[string]any {
	views := make([]any, len(s.panels))
	for i := range views {
		views[i] = s.view(i)
	}
	spec := object{"spacing": float64(spacing), "concat": views, "columns": float64(s.across())}
	if len(views) == 1 {
		spec = views[0].(object)
	}
	s.separate(spec)
	spec["$schema"], spec["config"] = vegaLiteSchema, config()
	s.fit(spec)
	if own := s.params(); own != nil {
		sizes, _ := spec["params"].([]any)
		spec["params"] = append(own, sizes...)
	}
	return spec
}

// expr is a value that Vega computes.
func expr(format string, args ...any) object { return object{"expr": fmt.Sprintf(format, args...)} }

// nominal is the encoding of a column of words.
func nominal(field string) object { return object{"field": field, "type": "nominal"} }

// separate lets color bars of several things have scales of their own.
func (s *sheet) separate(spec object) {
	if len(s.bars) > 1 {
		spec["resolve"] = object{"scale": object{"fill": "independent"}}
	}
}

// own is the color of the text around the figure, in any theme.
const own = "currentColor"

//go:embed config.json
var looks []byte

// config is how all figures look. Color bars stand over the legend.
func config() (all object) {
	_ = json.Unmarshal(looks, &all) // every golden figure has it
	return all
}

// view returns one figure: its target lines, then its series, neighbors of one kind in one layer.
func (s *sheet) view(i int) object {
	p := s.panels[i]
	layers := p.rules()
	for k := 0; k < len(p.series); {
		n := k + 1
		for n < len(p.series) && p.series[n].alike(p.series[k]) {
			n++
		}
		layers = append(layers, s.layer(p, p.series[k:n], fmt.Sprintf("_%d_%d", i, k)))
		k = n
	}
	layers = append(layers, s.texts(p)...)
	if p.ends != nil {
		layers = append(layers, s.endNames(p))
	}
	if p.brush && s.zoomed {
		layers = append(layers, p.brushLayer())
	}
	if p.x.zoom {
		clip(layers)
	}
	view := object{"width": float64(p.Width), "height": float64(p.Height), "layer": layers}
	s.separate(view)
	if p.Title != "" || p.Note != "" || p.noted != nil {
		heading := p.heading
		if len(s.panels) == 1 && p.Width < roomy {
			heading = p.alone
		}
		title := object{"text": s.headings(p, p.Title, heading, titleSize, func(h head) string { return table.NoBreak(h.title) })}
		if q := p.noted; q != nil { // as many lines, which are not seen and not wide, keep titles in line
			title["subtitle"], title["subtitleColor"] = stubs(s.note(q, q.heading)), "transparent"
		} else {
			title["subtitle"] = s.note(p, heading)
		}
		if p.lift > 0 {
			title["offset"] = titleOffset + p.lift
		}
		view["title"] = title
	}
	return view
}

// note writes the note of a panel, with what preparing it added.
func (s *sheet) note(p *panel, heading func(string, float64) any) any {
	added := strings.TrimPrefix(p.Note, p.base)
	return s.headings(p, p.Note, heading, small, func(h head) string { return strings.TrimPrefix(table.NoBreak(h.note)+added, "; ") })
}

// rules are the layers of the lines across the figure, its guides and its targets.
func (p *panel) rules() (layers []any) {
	if p.Guides {
		layers = append(layers, object{
			"data":     object{"sequence": object{"start": 0.0, "stop": float64(len(p.Y.Names)), "as": "y"}},
			"mark":     object{"type": "rule", "color": own, "opacity": 0.1},
			"encoding": object{"y": p.y.channel("y")},
		})
	}
	if rows := each(p.Targets, func(t float64) any { return object{"y": round5(t)} }); len(rows) > 0 {
		layers = append(layers, object{
			"data":     object{"values": rows},
			"mark":     object{"type": "rule", "strokeDash": []any{4.0, 4.0}, "color": hex(faint)},
			"encoding": object{"y": p.y.channel("y"), "tooltip": []any{p.y.tip("y", "target")}},
		})
	}
	return layers
}

// alike reports whether two series go into one layer.
func (s *series) alike(t series) bool {
	return s.Mark == t.Mark && s.Thin == t.Thin && s.Opacity == t.Opacity && s.bar == t.bar && len(s.cols) == len(t.cols) && (s.Tip == nil) == (t.Tip == nil) &&
		slices.EqualFunc(s.when, t.when, func(a, b option) bool { return a.pick == b.pick })
}

// layer draws series of one kind. Their points are written column by column and spread out by a flatten transform,
// which makes them a quarter as long as one JSON object per point.
func (s *sheet) layer(p *panel, all []series, id string) object {
	first := all[0]
	encoding := object{
		"x":       p.x.channel("x"),
		"y":       p.y.channel("y"),
		"color":   s.color(),
		"tooltip": s.tooltip(p, first),
	}
	rows, columns := rows(all)
	steps := []any{object{"flatten": columns}}
	if len(first.when) > 0 {
		for i := range all {
			s.keys(all[i].when, rows[i].(object))
		}
		steps = append([]any{object{"filter": s.test(first.when, true)}}, steps...)
	}
	layer := object{"data": object{"values": rows}, "encoding": encoding}
	if slices.Contains(columns, "x2") {
		encoding["x2"], encoding["y2"] = object{"field": "x2"}, object{"field": "y2"}
	}

	// A click in the legend picks a series out, and a second click on it puts it back; with none picked, all of them are.
	var params []any
	opacity := func(picked float64) object { return object{"value": picked} }
	if len(s.legend) > 0 && first.bar == nil {
		pick := "pick" + id
		if p.ends != nil {
			pick = pickEnd
		} else {
			param := picking(pick)
			param["bind"] = "legend"
			params = []any{param}
		}
		opacity = func(picked float64) object { return unlessOthers(pick, picked) }
	}
	if id, is := s.clicks(p, &all[0]); is {
		params = append(params, object{"name": id, "select": object{"type": "point", "fields": []any{"t"}}})
	}
	side := dotSide
	if first.Thin { // the pointer finds the means
		side = thinSide
		delete(encoding, "tooltip")
	}
	switch first.Mark {
	case Line:
		encoding["detail"] = nominal("k")
		layer["layer"] = s.lines(p, all, params, opacity, "hover"+id)
	case Dots:
		mark := object{"type": "circle"}
		if first.Size == nil {
			mark["size"] = side * side
		} else {
			encoding["size"] = object{"field": "n", "type": "quantitative",
				"scale": object{"domain": []any{0.0, p.most}, "range": []any{0.0, expr("pow(%s * %g, 2)", p.growth(), round5(p.side))}}}
		}
		if slices.ContainsFunc(all, func(t series) bool { return s.style[t.Name].again > 0 }) {
			mark["type"], mark["filled"] = "point", true
			encoding["shape"] = object{"field": "s", "type": "nominal", "scale": s.byName(func(t *style) any { return t.symbol() })}
		}
		layer["mark"] = mark
	case Cells:
		layer["mark"] = object{"type": "rect"}
		if first.bar != nil {
			delete(encoding, "color")
			encoding["fill"] = s.fill(first.bar)
		}
		steps = append(steps,
			object{"calculate": p.x.extent("x", "x2"), "as": "xs"}, object{"calculate": p.y.extent("y", "y2"), "as": "ys"})
	case Segments:
		layer["mark"] = object{"type": "rule", "strokeWidth": segmentWidth}
	case Images:
		mark := object{"type": "image", "smooth": false}
		if first.X2 == nil {
			mark["width"] = expr("%s * %g", p.growth(), round5(0.9*float64(p.Width)/(p.x.hi-p.x.lo)))
			mark["height"] = expr("%s * %g", p.growth(), round5(0.9*float64(p.Height)/(p.y.hi-p.y.lo)))
		} else {
			mark["aspect"] = false
		}
		layer["mark"] = mark
		encoding["url"] = nominal("u")
		delete(encoding, "color")
	}
	if first.Mark != Line && first.Mark != Images {
		encoding["opacity"] = opacity(first.Opacity)
		if params != nil {
			layer["params"] = params
		}
	}
	layer["transform"] = steps
	return layer
}

// texts is the layer of what is written in cells, in letters that shrink if the panel gets too narrow for them; nil if there is nothing.
// Cells whose color another name has too have a mark.
func (s *sheet) texts(p *panel) (layers []any) {
	for i, t := range p.series { // those with the same options are one layer
		if alike := func(u series) bool { return slices.Equal(t.when, u.when) }; slices.IndexFunc(p.series, alike) == i {
			layers = append(layers, s.textsOf(p, slices.DeleteFunc(slices.Clone(p.series), func(u series) bool { return !alike(u) }))...)
		}
	}
	return layers
}

func (s *sheet) textsOf(p *panel, all []series) []any {
	var x, y, words, tips, colors []any
	mark := object{"type": "text", "color": expr("datum.c"), "fontSize": expr("min(11, 18 * shrink)")}
	for _, t := range all {
		if st := s.style[t.Name]; t.Mark == Cells && t.Text == nil && st != nil && st.again > 0 {
			t.Text = slices.Repeat(again[st.again%2:][:1], len(t.X))
		}
		for i, word := range t.Text {
			x, y = append(x, (t.X[i]+t.X2[i])/2), append(y, (t.Y[i]+t.Y2[i])/2)
			words, tips = append(words, word), append(tips, slices.Concat(t.Tip, t.Text)[i])
			colors = append(colors, paint(s.over(t, i)))
			if strings.Contains(word, "\n") {
				mark["lineBreak"] = "\n"
			}
		}
	}
	if words == nil {
		return nil
	}
	steps := []any{object{"flatten": []any{"x", "y", "l", "t", "c"}}}
	if when := all[0].when; len(when) > 0 {
		steps = append([]any{object{"filter": s.test(when, false)}}, steps...)
	}
	return []any{object{
		"data":      object{"values": []any{object{"x": x, "y": y, "l": words, "t": tips, "c": colors}}},
		"transform": steps,
		"mark":      mark,
		"encoding": object{"x": p.x.channel("x"), "y": p.y.channel("y"), "text": nominal("l"),
			"tooltip": []any{object{"field": "t", "type": "nominal", "title": p.Point}}},
	}}
}

// picking is a parameter that a click on a name sets, and a second click sets back.
func picking(name string) object {
	return object{"name": name, "select": object{"type": "point", "fields": []any{"s"}, "toggle": "true"}}
}

// unlessOthers is an opacity that is lower if other names are picked.
func unlessOthers(pick string, picked float64) object {
	return object{"condition": object{"param": pick, "value": picked}, "value": picked * otherwise}
}

// rows returns the data of series of one kind, one row each, and the names of the columns in it: "s" is the name, "k"
// tells lines of one name apart, "t" are the tips and "u" the images.
func rows(all []series) (rows, columns []any) {
	for i, t := range all {
		row := object{"s": table.NoBreak(t.Name), "k": float64(i)}
		columns = nil
		add := func(column string, data []any) {
			if len(data) > 0 {
				row[column], columns = data, append(columns, column)
			}
		}
		for _, c := range t.cols {
			add(c.name, list(*c.data))
		}
		add("t", list(each(t.Tip, table.NoBreak)))
		add("u", list(each(t.Images, dataURL)))
		rows = append(rows, row)
	}
	return rows, columns
}

// lines draws bands, lines on them, and a dot on each point: on all of them if they are few, else on those of the x that is nearest to
// the pointer. The dot that the tooltip speaks of is larger, and a line crosses the figure there.
func (s *sheet) lines(p *panel, all []series, params []any, opacity func(float64) object, hover string) []any {
	var layers []any
	if len(all[0].cols) == 4 {
		layers = append(layers, object{
			"mark":     object{"type": "area"},
			"encoding": object{"y": p.y.channel("lo"), "y2": object{"field": "hi"}, "opacity": opacity(bandOpacity)},
		})
	}
	encoding := object{"opacity": opacity(all[0].Opacity)}
	if slices.ContainsFunc(s.order, func(t *style) bool { return t.dash != nil }) {
		encoding["strokeDash"] = object{"field": "s", "type": "nominal", "scale": s.byName(func(t *style) any {
			if t.dash == nil {
				return []any{1.0, 0.0}
			}
			return list(t.dash)
		})}
	}
	width := lineWidth
	if all[0].Thin {
		width = thinWidth
		delete(encoding, "strokeDash")
	}
	line := object{"mark": object{"type": "line", "strokeWidth": width}, "encoding": encoding}
	if params != nil {
		line["params"] = params
	}
	few := !slices.ContainsFunc(all, func(t series) bool { return t.all > fewPoints })
	if all[0].Thin || s.draft && !few {
		return append(layers, line)
	}
	rest := opacity(0)
	if few {
		rest = opacity(all[0].Opacity)
	}
	under := []any{object{"test": fmt.Sprintf("%s.x && indexof(%s.x, datum.x) >= 0", hover, hover), "value": 1.0}}
	if c, ok := rest["condition"]; ok {
		under = append(under, c)
	}
	rest["condition"] = under
	across := object{
		"transform": []any{object{"filter": object{"param": hover, "empty": false}}},
		"mark":      object{"type": "rule", "opacity": 0.3},
		"encoding":  object{"color": object{"value": own}, "y": object{"value": 0.0}, "y2": object{"value": "height"}},
	}
	dots := object{
		"mark": object{"type": "circle"},
		"params": []any{object{"name": hover, "select": object{
			"type": "point", "on": "mouseover", "clear": "mouseout", "nearest": true, "fields": []any{"x", "s", "k"}}}},
		"encoding": object{"opacity": rest, "size": object{
			"condition": object{"param": hover, "empty": false, "value": 4 * dotSide * dotSide}, "value": dotSide * dotSide}},
	}
	return append(layers, across, line, dots)
}

// channel returns the encoding of a position.
func (s *scale) channel(field string) object {
	axis := object{"values": list(s.ticks)}
	if s.format != "" {
		axis["format"] = s.format
	} else { // the labels themselves; datum.index runs from 0 at the first tick to 1 at the last
		axis["labelExpr"] = fmt.Sprintf("%s[round(datum.index * %d)]", expression(each(s.ticks, s.label)), len(s.ticks)-1)
	}
	if s.zoom {
		s.follow(axis)
	}
	if s.Names != nil {
		axis["grid"], axis["labelLimit"], axis["labelLineHeight"] = false, 0.0, nameStep
		if s.turn > 0 {
			axis["labelAngle"], axis["labelOverlap"] = expr("shrink < %g ? -40 : 0", s.turn), false
			axis["labelAlign"] = expr("shrink < %g ? 'right' : 'center'", s.turn)
		}
		if field == "y" {
			s.center(axis)
		}
	}
	if s.top {
		axis["orient"] = "top"
	}
	if s.Hidden {
		axis["domain"], axis["labels"] = false, false
	}
	if s.beside > 0 {
		axis["titleOpacity"] = expr("%d %% columns == 0 ? 1 : 0", s.beside)
	}
	to := object{"domain": []any{s.lo, s.hi}} // which Vega-Lite then leaves as it is
	if s.zoom {
		to["domain"] = []any{expr("zoom.x ? zoom.x[0] : %g", s.lo), expr("zoom.x ? zoom.x[1] : %g", s.hi)}
	}
	if s.Log {
		to["type"] = "log"
	}
	return object{"field": field, "type": "quantitative", "title": s.Title, "axis": axis, "scale": to}
}

// center lifts labels of several lines, the first of which would be at the tick. Headings of groups, which end in a colon, are bold.
func (s *scale) center(axis object) {
	places := map[int][]float64{} // by the lines that a label has beside the first
	for i, t := range s.ticks {
		if n := strings.Count(s.label(t), "\n"); n > 0 {
			places[n] = append(places[n], float64(i))
		}
	}
	var lifts []any
	for _, n := range slices.Sorted(maps.Keys(places)) {
		test := fmt.Sprintf("indexof(%s, round(datum.index * %d)) >= 0", numerals(places[n]), len(s.ticks)-1)
		lifts = append(lifts, object{"test": test, "value": -nameStep / 2 * float64(n)})
	}
	if lifts != nil {
		axis["labelOffset"] = object{"condition": lifts, "value": 0.0}
	}
	headings := slices.DeleteFunc(indices(len(s.ticks)), func(i int) bool { return !strings.HasSuffix(s.label(s.ticks[i]), ":") })
	if len(headings) > 0 {
		test := fmt.Sprintf("indexof(%s, round(datum.index * %d)) >= 0", strings.ReplaceAll(fmt.Sprint(headings), " ", ", "), len(s.ticks)-1)
		axis["labelFontWeight"] = object{"condition": object{"test": test, "value": "bold"}, "value": "normal"}
	}
}

// color gives each name its color, and the legend to the sheets that have one.
func (s *sheet) color() object {
	color := object{"field": "s", "type": "nominal", "title": "", "scale": s.byName((*style).paint)}
	if len(s.entries()) > 0 {
		orient, width := "top", "width"
		if len(s.panels) > 1 { // over one of them it would push its title out of line
			orient, width = "bottom", fmt.Sprintf("room - %d", 2*padding)
		}
		longest := 0.0
		for _, l := range s.legend {
			longest = max(longest, math.Ceil(wideFont*wide(broken(l.name, small, longName), small)))
		}
		legend := object{
			"orient": orient, "symbolType": s.legend[0].symbol(),
			"columns": expr("clamp(floor((%s) / %g), 1, %d)", width, longest+40, s.columns()),
		}
		color["legend"] = legend
		drawn := each(s.legend, (*style).symbol)
		if len(slices.Compact(slices.Clone(drawn))) > 1 {
			legend["symbolType"] = expr("%s[datum.index]", expression(drawn))
		}
		names := each(s.legend, func(t *style) string { return table.NoBreak(t.name) })
		if longest > tight {
			legend["labelExpr"] = expression(each(names, func(name string) string { return broken(name, small, longName) })) + "[datum.index]"
		}
		if len(s.legend) < len(s.order) {
			legend["values"] = list(names)
		}
	}
	return color
}

// symbol is that of a name in the legend: what it is drawn with, or the mark that tells it from another name of its color.
func (t *style) symbol() string {
	if t.again > 0 && (t.mark == Cells || t.mark == Dots) {
		return []string{"triangle-up", "cross"}[t.again%2]
	}
	return symbols[t.mark]
}

var symbols = [...]string{Line: "stroke", Dots: "circle", Cells: "square", Images: "circle", Segments: "stroke"}

// byName is a scale that gives each name a value.
func (s *sheet) byName(value func(*style) any) object {
	return object{"domain": each(s.order, func(t *style) any { return table.NoBreak(t.name) }), "range": each(s.order, value)}
}

// tooltip lists what the pointer shows at a point of the series.
func (s *sheet) tooltip(p *panel, t series) []any {
	var tips []any
	add := func(field, title string) {
		if title != "" {
			tips = append(tips, object{"field": field, "type": "nominal", "title": title})
		}
	}
	if len(s.order) > 1 && t.bar == nil {
		add("s", "series")
	}
	if t.Tip != nil {
		add("t", p.Point)
	}
	for _, a := range []struct {
		*scale
		field string
	}{{&p.x, "x"}, {&p.y, "y"}} {
		switch {
		case a.Names != nil: // the place is the series' name, or only there to keep dots apart
		case t.Mark == Segments && (t.Tip != nil || p.Y.Names != nil), t.Tip != nil && a.Title == "":
		case t.Mark == Cells && t.Tip != nil && !p.x.Whole: // a range of values, which the tip has
		case t.Mark == Cells:
			add(a.field+"s", a.Title)
		default:
			tips = append(tips, a.tip(a.field, a.Title))
		}
	}
	if t.Mark == Line && len(t.cols) == 4 {
		tips = append(tips, p.y.tip("lo", "from"), p.y.tip("hi", "to"))
	}
	if t.Mark == Dots && t.Size != nil {
		add("n", p.Area)
	}
	return tips
}

// tip is the line of a tooltip that shows a value of the axis.
func (s *scale) tip(field, title string) object {
	return object{"field": field, "type": "quantitative", "title": title, "format": s.fine()}
}

// fine is the format of values in tooltips: one more digit than the eye gets from the ticks.
func (s *scale) fine() string {
	switch {
	case s.Percent:
		return ".2~%"
	case s.Whole:
		return "d"
	}
	return ".4~g"
}

// extent is the expression for what a cell extends over: "3–10".
func (s *scale) extent(from, to string) string {
	lo, hi := "datum."+from, "datum."+to
	if s.Whole {
		lo, hi = "ceil("+lo+")", "floor("+hi+")"
	}
	lo, hi = fmt.Sprintf("format(%s, '%s')", lo, s.fine()), fmt.Sprintf("format(%s, '%s')", hi, s.fine())
	return fmt.Sprintf("%s == %s ? %s : %s + '–' + %s", lo, hi, lo, lo, hi)
}

// expression writes names as a Vega expression.
func expression(names []string) string { return "[" + strings.Join(each(names, quote), ", ") + "]" }

func numerals(values []float64) string { return strings.ReplaceAll(fmt.Sprint(values), " ", ", ") }

// quote writes words as a string of Vega's, or an array if they have several lines.
func quote(words string) string {
	if lines := strings.Split(words, "\n"); len(lines) > 1 {
		return expression(lines)
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\r", " ").Replace(words) + "'"
}

func list[T any](a []T) []any { return each(a, func(v T) any { return v }) }

package plot

import (
	"fmt"
	"maps"
	"strings"
)

const vegaLiteSchema = "https://vega.github.io/schema/vega-lite/v5.json"

// object is a JSON object. The specification also travels by encoding/gob, which knows no nil inside an any, so what
// Vega-Lite writes as null is said in another way: empty titles, transparent strokes, config.legend.disable.
type object = map[string]any

// vegaLite returns the sheet as a Vega-Lite specification.
func (s *sheet) vegaLite() map[string]any {
	spec := object{"$schema": vegaLiteSchema, "config": s.config()}
	if len(s.panels) == 1 {
		maps.Copy(spec, s.view(0))
		return spec
	}
	views := make([]any, len(s.panels))
	for i := range views {
		views[i] = s.view(i)
	}
	spec["hconcat"], spec["spacing"] = views, 32.0
	return spec
}

func (s *sheet) config() object {
	return object{
		"background": "#ffffff",
		"font":       "Helvetica, Arial, sans-serif",
		"padding":    8.0,
		"view":       object{"stroke": "transparent"},
		"legend":     object{"disable": true},
		"axis": object{
			"labelColor": hex(ink), "titleColor": hex(ink), "domainColor": hex(frame), "gridColor": hex(grid),
			"labelFontSize": 11.0, "titleFontSize": 12.0, "titleFontWeight": "normal", "titlePadding": 8.0,
			"labelPadding": 6.0, "labelFlush": false, "ticks": false,
		},
		"title": object{
			"anchor": "start", "frame": "group", "fontSize": 14.0, "color": hex(ink), "offset": 12.0,
			"subtitleColor": hex(faint), "subtitleFontSize": 11.0, "subtitlePadding": 4.0,
		},
	}
}

// view returns one figure: its target lines, then its series, neighbours of one kind in one layer.
func (s *sheet) view(i int) object {
	p := s.panels[i]
	var layers []any
	if len(p.Targets) > 0 {
		layers = append(layers, p.targets())
	}
	for k := 0; k < len(p.series); {
		n := k + 1
		for n < len(p.series) && p.series[n].alike(p.series[k]) {
			n++
		}
		layers = append(layers, s.layer(p, p.series[k:n], fmt.Sprintf("_%d_%d", i, k)))
		k = n
	}
	view := object{"width": float64(p.Width), "height": float64(p.Height), "layer": layers}
	if p.Title != "" {
		view["title"] = object{"text": p.Title, "subtitle": p.Note}
	}
	return view
}

func (p *panel) targets() object {
	rows := make([]any, len(p.Targets))
	for i, t := range p.Targets {
		rows[i] = object{"y": round5(t)}
	}
	return object{
		"data":     object{"values": rows},
		"mark":     object{"type": "rule", "strokeDash": list(targetDash), "color": hex(faint)},
		"encoding": object{"y": p.y.channel("y"), "tooltip": []any{p.y.tip("y", "target")}},
	}
}

// alike says whether two series go into one layer.
func (s *series) alike(t series) bool {
	return s.Mark == t.Mark && s.Opacity == t.Opacity && len(s.cols) == len(t.cols) && (s.Tip == nil) == (t.Tip == nil)
}

// layer draws series of one kind. Their points are written column by column and spread out by a flatten transform,
// which makes them a quarter as long as one JSON object a point.
func (s *sheet) layer(p *panel, all []series, id string) object {
	first := all[0]
	encoding := object{
		"x":       p.x.channel("x"),
		"y":       p.y.channel("y"),
		"color":   s.color(first.Mark),
		"tooltip": s.tooltip(p, first),
	}
	layer := object{"data": object{"values": rows(all)}, "transform": s.transforms(p, first), "encoding": encoding}

	// A click in the legend picks a series out; before that, all of them are.
	var params []any
	opacity := func(picked float64) object { return object{"value": picked} }
	if len(s.legend) > 0 {
		pick := "pick" + id
		params = []any{object{"name": pick, "bind": "legend", "select": object{"type": "point", "fields": []any{"s"}}}}
		opacity = func(picked float64) object {
			return object{"condition": object{"param": pick, "value": picked}, "value": picked * otherwise}
		}
	}
	if first.Mark == Line {
		encoding["detail"] = object{"field": "k", "type": "nominal"}
		layer["layer"] = s.lines(p, all, params, opacity, "hover"+id)
		return layer
	}
	if first.Mark == Images {
		width, height := p.frame()
		layer["mark"] = object{"type": "image", "width": round5(width), "height": round5(height), "smooth": false}
		encoding["url"] = object{"field": "u", "type": "nominal"}
		delete(encoding, "color")
		return layer
	}
	encoding["opacity"] = opacity(first.Opacity)
	if params != nil {
		layer["params"] = params
	}
	switch {
	case first.Mark == Cells:
		layer["mark"] = object{"type": "rect"}
		encoding["x2"], encoding["y2"] = object{"field": "x2"}, object{"field": "y2"}
	case first.Size != nil:
		most, side := p.bubbles()
		layer["mark"] = object{"type": "circle"}
		encoding["size"] = object{"field": "n", "type": "quantitative",
			"scale": object{"domain": []any{0.0, most}, "range": []any{0.0, round5(side * side)}}}
	default:
		layer["mark"] = object{"type": "circle", "size": dotSide * dotSide}
	}
	return layer
}

// rows returns the data of series of one kind, one row each: "s" is the name, "k" tells lines of one name apart.
func rows(all []series) []any {
	rows := make([]any, len(all))
	for i, t := range all {
		row := object{"s": t.Name, "k": float64(i)}
		for _, c := range t.cols {
			row[c.name] = list(*c.data)
		}
		if t.Tip != nil {
			row["t"] = list(t.Tip)
		}
		if t.Images != nil {
			urls := make([]any, len(t.Images))
			for j, img := range t.Images {
				urls[j] = dataURL(img)
			}
			row["u"] = urls
		}
		rows[i] = row
	}
	return rows
}

// transforms spreads the columns out to points, and words what cells extend over.
func (s *sheet) transforms(p *panel, t series) []any {
	var fields []any
	for _, c := range t.cols {
		fields = append(fields, c.name)
	}
	if t.Tip != nil {
		fields = append(fields, "t")
	}
	if t.Images != nil {
		fields = append(fields, "u")
	}
	steps := []any{object{"flatten": fields}}
	if t.Mark == Cells {
		steps = append(steps,
			object{"calculate": p.x.extent("x", "x2"), "as": "xs"}, object{"calculate": p.y.extent("y", "y2"), "as": "ys"})
	}
	return steps
}

// lines draws bands, lines on them, and a dot on each point: on all of them where they are few, else on the one
// nearest to the pointer.
func (s *sheet) lines(p *panel, all []series, params []any, opacity func(float64) object, hover string) []any {
	var layers []any
	if len(all[0].cols) == 4 {
		layers = append(layers, object{
			"mark":     object{"type": "area"},
			"encoding": object{"y": p.y.channel("lo"), "y2": object{"field": "hi"}, "opacity": opacity(bandOpacity)},
		})
	}
	dash := object{"field": "s", "type": "nominal", "scale": s.dashes()}
	line := object{
		"mark":     object{"type": "line", "strokeWidth": lineWidth},
		"encoding": object{"opacity": opacity(all[0].Opacity), "strokeDash": dash},
	}
	if params != nil {
		line["params"] = params
	}
	rest := opacity(0)
	if few(all) {
		rest = opacity(all[0].Opacity)
	}
	under := object{"param": hover, "empty": false, "value": 1.0}
	if c, ok := rest["condition"]; ok {
		rest["condition"] = []any{under, c}
	} else {
		rest["condition"] = under
	}
	dots := object{
		"mark": object{"type": "circle", "size": dotSide * dotSide},
		"params": []any{object{"name": hover, "select": object{
			"type": "point", "on": "mouseover", "clear": "mouseout", "nearest": true}}},
		"encoding": object{"opacity": rest},
	}
	return append(layers, line, dots)
}

// channel returns the encoding of a position.
func (s *scale) channel(field string) object {
	axis := object{"values": list(s.ticks)}
	if s.format != "" {
		axis["format"] = s.format
	} else { // the labels themselves; datum.index runs from 0 at the first tick to 1 at the last
		labels := make([]string, len(s.ticks))
		for i, t := range s.ticks {
			labels[i] = s.label(t)
		}
		axis["labelExpr"] = fmt.Sprintf("%s[round(datum.index * %d)]", expression(labels), len(labels)-1)
	}
	if s.Names != nil {
		axis["grid"] = false
	}
	to := object{"domain": []any{s.lo, s.hi}, "nice": false}
	if s.Log {
		to["type"] = "log"
	} else {
		to["zero"] = false
	}
	return object{"field": field, "type": "quantitative", "title": s.Title, "axis": axis, "scale": to}
}

// color gives each name its colour, and the legend to the sheets that have one.
func (s *sheet) color(mark Mark) object {
	names, colors := []any{}, []any{}
	for _, t := range s.order {
		names, colors = append(names, t.name), append(colors, hex(t.color))
	}
	color := object{"field": "s", "type": "nominal", "title": "", "scale": object{"domain": names, "range": colors}}
	if len(s.legend) > 0 {
		orient := "top"
		if len(s.panels) > 1 { // over one of them it would push its title out of line
			orient = "bottom"
		}
		color["legend"] = object{
			"orient": orient, "direction": "horizontal", "columns": float64(s.columns()), "columnPadding": 16.0,
			"labelColor": hex(ink), "labelFontSize": 11.0, "labelLimit": 0.0, "symbolOpacity": 1.0,
			"symbolStrokeWidth": 2.5, "offset": 10.0, "symbolType": symbol(mark),
		}
	}
	return color
}

func symbol(m Mark) string {
	switch m {
	case Line:
		return "stroke"
	case Cells:
		return "square"
	}
	return "circle"
}

func (s *sheet) dashes() object {
	names, dashes := []any{}, []any{}
	for _, t := range s.order {
		dash := t.dash
		if dash == nil {
			dash = []float64{1, 0}
		}
		names, dashes = append(names, t.name), append(dashes, list(dash))
	}
	return object{"domain": names, "range": dashes}
}

// tooltip lists what the pointer shows at a point of the series.
func (s *sheet) tooltip(p *panel, t series) []any {
	var tips []any
	add := func(field, title string) {
		if title != "" {
			tips = append(tips, object{"field": field, "type": "nominal", "title": title})
		}
	}
	if len(s.order) > 1 {
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
func expression(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", " ", "\r", " ").Replace(n) + "'"
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func list[T any](a []T) []any {
	b := make([]any, len(a))
	for i, v := range a {
		b[i] = v
	}
	return b
}

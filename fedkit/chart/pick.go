package chart

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/internal/fault"
)

// Figures can be touched where nothing runs: what follows a slider, a menu, a click or a brush is in the specification, and Vega
// draws it. The data have all options, with the key of each in columns beside them, and a filter.

// choice is what the reader picks. Figures of a row that have one of the same name follow the same.
type choice struct {
	name    string
	kind    string // "slider", "menu" or "click"
	options []option
}

// option is one value of a pick: a key or, of a slider, the range [from, to).
type option struct {
	pick     string
	key      string
	from, to int
}

// head is what stands over a figure with some options.
type head struct {
	when        []option
	title, note string
}

// Slider returns one figure with a slider under it, which begins at its end: each figure of the row is what stands there from one
// number on until the next one. Figures of a row whose sliders have one name follow one slider. A single figure needs none.
//
//	chart.Row{f, g}.Slider("round", 5, 10).Show()
//
// Errors: numbers that are not as many as the figures, or that do not rise; figures whose axes are not the same.
func (r Row) Slider(name string, from ...int) *Figure {
	options := make([]option, len(from))
	for i, v := range from {
		options[i] = option{from: v, to: math.MaxInt32}
		if i > 0 {
			options[i-1].to = v
		}
	}
	return r.merge("slider", name, options)
}

// Menu returns one figure with a menu under it, which chooses which figure of the row stands there, the first one at the beginning.
// Without options, they are the figures' titles. Figures of a row whose menus have one name follow one menu.
//
//	chart.Row{plot.Accuracy(fedavg), plot.Accuracy(fedprox)}.Menu("method", "FedAvg", "FedProx").Show()
//
// Errors: as for Slider; options of one name, or without one.
func (r Row) Menu(name string, options ...string) *Figure {
	if options == nil && !slices.Contains(r, nil) {
		options = each(r, func(f *Figure) string { return f.Title })
	}
	return r.merge("menu", name, each(options, func(key string) option { return option{key: key} }))
}

// Click returns one figure, which is that of the row for the point that was clicked last in another figure next to it: one whose Point is
// this, and whose Tip, as far as a comma or colon, is one of the keys. Before a click, and after one beside all points, it is the first one.
//
//	chart.Row{plot.Sizes(fed), chart.Row{f, g}.Click("client", "0", "1")}.Show()
//
// Errors: as for Menu; a row without such points.
func (r Row) Click(point string, keys ...string) *Figure {
	return r.merge("click", point, each(keys, func(key string) option { return option{key: key} }))
}

// Brush lets the reader drag over the first figure; the others whose x axis has the same title then show that range. It returns
// the row.
//
//	chart.Row{plot.Accuracy(h), plot.Clusters(h)}.Brush().Show()
//
// Errors: no such axis.
func (r Row) Brush() Row {
	if len(r) > 0 && r[0] != nil {
		f := *r[0]
		f.brush = true
		return append(Row{&f}, r[1:]...)
	}
	return r
}

// merge returns one figure of all, each with an option of the pick.
func (r Row) merge(by, name string, options []option) *Figure {
	return Make("chart: "+by, func(merged *Figure) error {
		switch {
		case len(r) == 0 || slices.Contains(r, nil):
			return errors.New("no figure given, or a nil one")
		case name == "":
			return fault.Invalid("name", `""`, "what stands beside the "+by)
		case len(options) != len(r):
			return fmt.Errorf("%d options for %d figures: must be as many", len(options), len(r))
		}
		for i, o := range options {
			switch {
			case by == "slider" && o.to <= o.from:
				return fault.Invalid(fmt.Sprintf("from[%d]", i+1), o.to, fmt.Sprintf("> %d, the one before it", o.from))
			case by == "menu" && o.key == "":
				return fault.Invalid(fmt.Sprintf("options[%d]", i), `""`, "a name")
			case by != "slider" && slices.ContainsFunc(options[:i], func(p option) bool { return p.key == o.key }):
				return fault.Invalid(fmt.Sprintf("option %d", i), strconv.Quote(o.key), "not that of another figure")
			}
			options[i].pick = name
		}
		first := 0
		if by == "slider" {
			first = len(r) - 1
		}
		*merged = *r[first]
		if len(r) == 1 {
			return merged.err
		}
		merged.picks = []choice{{name, by, options}}
		merged.heads = nil
		var layers [][]Series
		kind := func(s Series) string {
			return fmt.Sprint(s.Mark, s.Thin, s.Ink, s.Opacity, s.Tip == nil, s.Values == nil)
		} // in one layer
		for i, f := range r {
			if f.err != nil {
				return f.err
			}
			if a, b := f.X.like(merged.X), f.Y.like(merged.Y); a != "" || b != "" {
				return fmt.Errorf("figures %d and %d have different axes: %s", first, i, a+b)
			}
			merged.Width, merged.Height = max(merged.Width, f.Width), max(merged.Height, f.Height)
			merged.X.Include, merged.Y.Include = slices.Concat(merged.X.Include, f.X.Include), slices.Concat(merged.Y.Include, f.Y.Include)
			merged.picks = append(merged.picks, f.picks...)
			at := 0
			for _, s := range f.Series { // as few layers as one figure has
				s.when = append(slices.Clone(s.when), options[i])
				next := at
				for next < len(layers) && kind(layers[next][0]) != kind(s) {
					next++
				}
				if next == len(layers) {
					next = min(at+1, len(layers))
					layers = slices.Insert(layers, next, nil)
				}
				layers[next], at = append(layers[next], s), next
			}
			heads := f.heads
			if heads == nil {
				heads = []head{{nil, f.Title, f.Note}}
			}
			for _, h := range heads {
				h.when = append(slices.Clone(h.when), options[i])
				merged.heads = append(merged.heads, h)
			}
		}
		merged.Series = slices.Concat(layers...)
		return nil
	})
}

// like says in what an axis differs from another one, so that figures of the two cannot be one; "" if in nothing. In a row, one figure
// may have the title and the names for all.
func (a Axis) like(b Axis) string {
	names := len(a.Names) == len(b.Names) && strings.Join(a.Names, "") == "" || slices.Equal(a.Names, b.Names)
	switch {
	case a.Title != b.Title && a.Title != "":
		return fmt.Sprintf("%q is not %q", a.Title, b.Title)
	case a.Log != b.Log || a.Percent != b.Percent || a.Whole != b.Whole || !names:
		return fmt.Sprintf("%q has other names or another scale", a.Title)
	}
	return ""
}

// collect lists the picks of the row, those of one name as one.
func (s *sheet) collect() error {
	for _, p := range s.panels {
		for _, q := range p.picks {
			i := slices.IndexFunc(s.picks, func(t choice) bool { return t.name == q.name })
			if i < 0 {
				i, s.picks = len(s.picks), append(s.picks, choice{q.name, q.kind, nil})
			}
			if s.picks[i].kind != q.kind {
				return fmt.Errorf("chart: %q is a %s and a %s: must be one of them", q.name, s.picks[i].kind, q.kind)
			}
			for _, o := range q.options {
				if !slices.Contains(s.picks[i].options, o) {
					s.picks[i].options = append(s.picks[i].options, o)
				}
			}
		}
	}
	for _, q := range s.picks {
		if q.kind != "click" {
			continue
		}
		at := slices.IndexFunc(s.panels, func(p *panel) bool { return p.clickable(q.name) })
		if at >= 0 {
			s.panels[at].say("click on a %s", q.name)
		} else {
			return fmt.Errorf("chart: nothing to click for %q: no other figure of the row has this Point, and dots or cells with a Tip", q.name)
		}
	}
	if first := s.panels[0]; first.brush {
		for _, p := range s.panels[1:] {
			if p.X.like(first.X) == "" && p.X.Title != "" && p.X.Names == nil {
				p.x.zoom, s.zoomed = true, true
			}
		}
		if !s.zoomed {
			return fmt.Errorf("chart: brush: no other figure has the x axis %q of the first one", first.X.Title)
		}
		first.say("drag to zoom the rest")
	}
	return nil
}

// clickable reports whether the panel has points that a click picks.
func (p *panel) clickable(point string) bool {
	own := slices.ContainsFunc(p.picks, func(q choice) bool { return q.kind == "click" && q.name == point })
	return p.Point == point && !own && slices.ContainsFunc(p.series, series.clickable)
}

// clicks returns the name of the parameter that a click on these points of the panel sets, if this is their layer.
func (s *sheet) clicks(p *panel, first *series) (name string, is bool) {
	at := slices.IndexFunc(p.series, series.clickable)
	for i, q := range s.picks {
		if q.kind == "click" && p.clickable(q.name) && first == &p.series[at] {
			return fmt.Sprint("clicked", i), true
		}
	}
	return "", false
}

func (s series) clickable() bool { return s.Tip != nil && (s.Mark == Cells || s.Mark == Dots) }

// start reports whether these options are those at the beginning.
func (s *sheet) start(when []option) bool {
	return !slices.ContainsFunc(when, func(o option) bool {
		q := s.picks[s.chosen(o)]
		first := q.options[0].key
		return q.kind == "slider" && !(o.from <= q.last() && q.last() < o.to) || q.kind != "slider" && o.key != first
	})
}

// last is where a slider begins.
func (q choice) last() int {
	return slices.MaxFunc(q.options, func(a, b option) int { return a.from - b.from }).from
}

// chosen is the place of an option's pick.
func (s *sheet) chosen(o option) int {
	return slices.IndexFunc(s.picks, func(q choice) bool { return q.name == o.pick })
}

// params are those of the picks: chosen0, chosen1, …
func (s *sheet) params() (all []any) {
	for i, q := range s.picks {
		param, keys := object{"name": fmt.Sprint("chosen", i)}, each(q.options, func(o option) string { return o.key })
		switch q.kind {
		case "slider":
			at := each(q.options, func(o option) int { return o.from })
			slices.Sort(at)
			step := 0
			for _, v := range at {
				for a, b := step, v-at[0]; ; a, b = b, a%b { // the greatest number that divides all distances
					if step = a; b == 0 {
						break
					}
				}
			}
			param["value"] = float64(q.last())
			param["bind"] = object{"input": "range", "name": q.name + " ", "min": float64(at[0]), "max": float64(q.last()), "step": float64(max(1, step))}
		case "menu":
			param["value"] = keys[0]
			param["bind"] = object{"input": "select", "name": q.name + " ", "options": list(keys)}
		case "click":
			clicked := fmt.Sprintf("split(clicked%d.t[0], regexp('[,:]'))[0]", i)
			param["expr"] = fmt.Sprintf("clicked%d.t && indexof(%s, %s) >= 0 ? %s : %s", i, expression(keys), clicked, clicked, quote(keys[0]))
		}
		all = append(all, param)
	}
	return all
}

// test is the condition that options are chosen. The columns p0, q0, p1, … of a datum have them, or they stand in the expression.
func (s *sheet) test(when []option, datum bool) string {
	return strings.Join(each(when, func(o option) string {
		i := s.chosen(o)
		key, from, to := quote(o.key), fmt.Sprint(o.from), fmt.Sprint(o.to)
		if datum {
			key, from, to = fmt.Sprint("datum.p", i), fmt.Sprint("datum.p", i), fmt.Sprint("datum.q", i)
		}
		if s.picks[i].kind == "slider" {
			return fmt.Sprintf("%s <= chosen%d && chosen%d < %s", from, i, i, to)
		}
		return fmt.Sprintf("chosen%d == %s", i, key)
	}), " && ")
}

// keys puts the options into the row of a series' data.
func (s *sheet) keys(when []option, row object) {
	for _, o := range when {
		i := s.chosen(o)
		if p, q := fmt.Sprint("p", i), fmt.Sprint("q", i); s.picks[i].kind == "slider" {
			row[p], row[q] = float64(o.from), float64(o.to)
		} else {
			row[p] = o.key
		}
	}
}

// headings writes what stands over a panel: words as heading does, those of each head in turn if they differ.
func (s *sheet) headings(p *panel, own string, heading func(string, float64) any, size float64, of func(head) string) any {
	same := slices.DeleteFunc(slices.Clone(p.heads), func(h head) bool { return of(h) != own })
	if len(same) == 0 || len(same) == len(p.heads) { // it was set for all, or they agree
		return heading(own, size)
	}
	says := "''"
	for _, h := range slices.Backward(p.heads) {
		words := heading(of(h), size)
		if e, is := words.(object); is {
			words = "(" + e["expr"].(string) + ")"
		} else {
			words = quote(words.(string))
		}
		says = fmt.Sprintf("%s ? %s : %s", s.test(h.when, false), words, says)
	}
	return expr("%s", says)
}

// follow lets an axis find ticks of its own while a brush zooms it.
func (s *scale) follow(axis object) {
	axis["values"] = expr("zoom.x ? null : %s", numerals(s.ticks))
	if labels, is := axis["labelExpr"].(string); is {
		axis["labelExpr"] = fmt.Sprintf("zoom.x ? datum.label : %s", labels)
	}
	if s.Whole {
		axis["values"] = expr("zoom.x ? sequence(ceil(zoom.x[0]), zoom.x[1] + 0.01, max(1, ceil(span(zoom.x) / 6))) : %s", numerals(s.ticks))
	}
}

// clip keeps what is drawn inside a panel that a brush zooms.
func clip(layers []any) {
	for _, l := range layers {
		l := l.(object)
		if mark, is := l["mark"].(object); is {
			mark["clip"] = true
		}
		if inner, is := l["layer"].([]any); is {
			clip(inner)
		}
	}
}

// brushLayer is what a brush is drawn on, over all else.
func (p *panel) brushLayer() object {
	return object{
		"data":     object{"values": []any{object{"x": round5(p.x.lo)}}},
		"params":   []any{object{"name": "zoom", "select": object{"type": "interval", "encodings": []any{"x"}}}},
		"mark":     object{"type": "point", "opacity": 0.0},
		"encoding": object{"x": p.x.channel("x")},
	}
}

package chart

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"fedkit.example/fedkit/table"
)

// Sizes in CSS pixels, and opacities, that both forms share.
const (
	lineWidth    = 2.0
	thinWidth    = 1.0
	segmentWidth = 1.5
	bandOpacity  = 0.18
	otherwise    = 0.1 // opacity of what the legend has not picked out
	dotSide      = 6.0 // diameter of a dot without a size
	thinSide     = 4.5 // the same of a thin series
	mostNames    = 100 // in a legend; the picture of more is not sharp
	fewPoints    = 30  // lines with no more points than this show them
)

var targetDash = []float64{4, 4}

// sheet is a row made ready for drawing: finite and thinned-out points, ranges, ticks and colors chosen. Both forms,
// Vega-Lite and PNG, are drawn from it and so show the same.
type sheet struct {
	name   string
	panels []*panel
	order  []style        // of the series' names, in order of appearance
	known  map[string]int // where a name is in it
	draft  bool           // the next drawing follows at once: no dots under the pointer, which take the browser longer than all the rest
	legend []style        // those of them that are not of ink, or none if a legend would say nothing
}

// panel is one figure of a sheet.
type panel struct {
	*Figure
	x, y   scale
	series []series
	most   float64 // the largest Size of its dots, and of all panels with dots that count the same
	side   float64 // the diameter of that dot: about what keeps two neighbors apart
}

// prepare makes the row ready for drawing, or says what is missing.
func (r Row) prepare() (*sheet, error) {
	if len(r) == 0 {
		return nil, errors.New("chart: no figure given")
	}
	s := &sheet{}
	named, places := false, map[string]int{} // in the palette, by what a series is of
	for _, f := range r {
		switch {
		case f == nil:
			return nil, errors.New("chart: a figure is nil")
		case f.err != nil:
			return nil, f.err
		}
		named = named || !f.Legend && (f.X.Names != nil || f.Y.Names != nil)
		for _, t := range f.Series {
			if s.style(t.Name) != nil {
				continue
			}
			of := cmp.Or(t.Of, t.Name)
			place, known := places[of]
			if !known {
				place = len(places)
			}
			st := t.style(place)
			if like := s.style(t.Like); like != nil && t.Like != "" {
				st = like.companion(t.Name)
			} else if !t.Ink && t.Shade == 0 {
				places[of] = place
			}
			st.mark = t.Mark
			s.order = append(s.order, st)
			if !t.Ink {
				s.legend = append(s.legend, st)
			}
		}
	}
	points := r.budget()
	for _, f := range r {
		p, err := f.prepare(points)
		if err != nil {
			return nil, fmt.Errorf("chart: %s: %w", f.fileName(), err)
		}
		s.panels = append(s.panels, p)
	}
	s.shareSizes()
	s.name = r[0].fileName()
	if len(s.legend) < 2 || named {
		s.legend = nil
	}
	if n := len(s.legend); n > mostNames {
		s.legend = s.legend[:mostNames]
		s.panels[0].say("legend: the first %d of %d names", mostNames, n)
	}
	s.setApart()
	return s, nil
}

// style returns the style of a name, nil if it has none yet.
func (s *sheet) style(name string) *style {
	if s.known == nil {
		s.known = map[string]int{}
	}
	for i := len(s.known); i < len(s.order); i++ { // those added since
		s.known[s.order[i].name] = i
	}
	if i, there := s.known[name]; there {
		return &s.order[i]
	}
	return nil
}

// across is how many figures are side by side.
func (s *sheet) across() int {
	n := len(s.panels)
	lines := (n + 3) / 4
	return (n + lines - 1) / lines
}

// columns is how many entries the legend has in a line: what fits over the figures.
func (s *sheet) columns() int {
	width, longest := 0, 1
	for _, p := range s.panels[:s.across()] {
		width += p.Width
	}
	for _, l := range s.legend {
		longest = max(longest, utf8.RuneCountInString(l.name))
	}
	return min(max(1, width/(6*longest+44)), max(1, len(s.legend)))
}

func (f *Figure) prepare(points int) (*panel, error) {
	own := *f
	own.Title, own.Note, own.X.Title, own.Y.Title = table.NoBreak(f.Title), table.NoBreak(f.Note), table.NoBreak(f.X.Title), table.NoBreak(f.Y.Title)
	own.X.Names, own.Y.Names = allBound(f.X.Names), broken(allBound(f.Y.Names), tickText, 160)
	p := &panel{Figure: &own}
	p.Width, p.Height = cmp.Or(max(f.Width, 0), 560), cmp.Or(max(f.Height, 0), 320)
	p.Targets = slices.DeleteFunc(slices.Clone(f.Targets), func(t float64) bool { return !f.Y.holds(t) })
	own.X, own.Y = own.X.bounded(f.Series, "x", "x2"), own.Y.bounded(f.Series, "y", "y2")
	if own.Y.Log {
		own.Y = own.Y.floored(f.Series)
	}
	kept, all, lost := 0, 0, 0
	bands := slices.ContainsFunc(f.Series, func(s Series) bool { return s.Mark == Line && len(s.columns()) == 4 })
	for _, s := range f.Series {
		if bands && s.Mark == Line && !s.Thin && len(s.columns()) == 2 { // all lines alike: one layer, one tooltip
			s.Lo, s.Hi = s.Y, s.Y
		}
		c := s.clean(own.X, own.Y, points)
		kept, all, lost = kept+len(c.X), all+c.all, lost+c.lost
		if len(c.X) > 0 {
			p.series = append(p.series, c)
		}
	}
	if lost > 0 {
		p.say("left out: %d of %d points, not finite", lost, lost+all)
		if own.X.Log || own.Y.Log {
			p.Note += " or not positive (logarithmic axis)"
		}
	}
	if kept < all {
		p.say("drawn from %d of %d points, minima and maxima kept", kept, all)
	}
	under := func(t series) bool { return t.Thin }
	over := slices.DeleteFunc(slices.Clone(p.series), under)
	p.series = append(slices.DeleteFunc(p.series, func(t series) bool { return !under(t) }), over...)
	if len(p.series) == 0 {
		return nil, errEmpty
	}
	p.x, p.y = newScale(own.X), newScale(own.Y)
	for _, s := range p.series {
		for _, c := range s.cols {
			switch c.name {
			case "x", "x2":
				p.x.cover(*c.data, s.margin())
			case "y", "y2", "lo", "hi":
				p.y.cover(*c.data, s.margin())
			}
		}
	}
	p.y.cover(p.Targets, 0)
	p.x.coverOwn()
	p.y.coverOwn()
	longest := 1
	for _, name := range f.X.Names {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	p.x.finish(p.Width/70, p.Width/45, p.Width/(7*longest+6))
	p.y.finish(p.Height/45, p.Height/22, p.Height/11)
	return p, nil
}

// say adds to the note.
func (p *panel) say(format string, args ...any) {
	p.Note = strings.TrimPrefix(p.Note+"; "+fmt.Sprintf(format, args...), "; ")
}

// shareSizes finds the largest dot of each panel. Panels whose dots count the same have one scale.
func (s *sheet) shareSizes() {
	for _, p := range s.panels {
		for _, t := range p.series {
			if t.Mark == Dots && t.Size != nil {
				p.most = max(p.most, slices.Max(t.Size))
			}
		}
		across, up := float64(p.Width)/(p.x.hi-p.x.lo), float64(p.Height)/(p.y.hi-p.y.lo)
		p.side = min(36, 1.25*min(across, up))
	}
	for _, p := range s.panels {
		for _, q := range s.panels {
			if p.most > 0 && q.most > 0 && p.Area == q.Area {
				p.most, q.most = max(p.most, q.most), max(p.most, q.most)
				p.side, q.side = min(p.side, q.side), min(p.side, q.side)
			}
		}
	}
}

package chart

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"fedkit.example/fedkit/table"
)

// Sizes in CSS pixels, and opacities.
const (
	lineWidth    = 2.0
	thinWidth    = 1.0
	segmentWidth = 1.5
	bandOpacity  = 0.18
	otherwise    = 0.1 // opacity of what the legend has not picked out
	dotSide      = 6.0 // diameter of a dot without a size
	thinSide     = 4.5 // the same of a thin series
	mostNames    = 100 // in a legend
	fewPoints    = 10  // lines with no more points than this show them
)

// sheet is a row made ready for drawing: finite and thinned-out points, ranges, ticks and colors chosen.
type sheet struct {
	name   string
	panels []*panel
	order  []*style          // of the series' names, in order of appearance
	style  map[string]*style // by name
	draft  bool              // the next drawing follows at once: no dots under the pointer, which take the browser longer than all the rest
	legend []*style          // those of them that are not of ink, or none if a legend would say nothing
	bars   []*bar            // of the values of cells
	picks  []choice          // what the reader chooses
	zoomed bool              // panels follow a brush on the first one
}

// panel is one figure of a sheet.
type panel struct {
	*Figure
	x, y   scale
	series []series
	most   float64 // the largest Size of its dots, and of all panels with dots that count the same
	side   float64 // the diameter of that dot: about what keeps two neighbors apart
	column int     // in its line
	lift   float64 // by which its title is higher than it would be, as those are next to it
	noted  *panel  // the figure whose note it has room for; nil for its own
	ends   []end   // names of its lines, in place of the legend
	base   string  // the note without what was added here
}

// prepare makes the row ready for drawing, or says what is missing.
func (r Row) prepare() (*sheet, error) {
	if len(r) == 0 {
		return nil, errors.New("chart: no figure given")
	}
	named := false
	for _, f := range r {
		switch {
		case f == nil:
			return nil, errors.New("chart: a figure is nil")
		case f.err != nil:
			return nil, f.err
		}
		named = named || !f.Legend && (f.X.Names != nil || f.Y.Names != nil)
	}
	r, bars := r.shaded()
	s, names := &sheet{bars: bars, style: map[string]*style{}}, r.names()
	places := reservedPlaces(names) // in the palette, by what a series is of
	for _, t := range names {
		of := cmp.Or(t.Of, t.Name)
		place, known := places[of]
		switch {
		case t.Color > 0:
			place = t.Color - 1
		case !known:
			place = len(places)
		}
		st := t.style(place)
		if like := s.style[t.Like]; like != nil && t.Like != "" {
			st = like.companion(t.Name)
		} else if !t.Ink && t.Shade <= 0 && t.Color <= 0 {
			places[of] = place
		}
		st.mark = t.Mark
		s.order, s.style[t.Name] = append(s.order, &st), &st
	}
	points := r.budget()
	for _, f := range r {
		p, err := f.prepare(points)
		if err != nil {
			return nil, fmt.Errorf("chart: %s: %w", f.fileName(), err)
		}
		s.panels = append(s.panels, p)
	}
	if err := s.collect(); err != nil {
		return nil, err
	}
	s.shareAxes()
	s.setApart()
	s.finishAxes()
	s.shareSizes()
	s.name = r[0].fileName()
	s.legend = slices.DeleteFunc(slices.Clone(s.order), func(t *style) bool { return t.color == ink })
	if len(s.legend) < 2 || named {
		s.legend = nil
	}
	if n := len(s.legend); n > mostNames {
		s.legend = s.legend[:mostNames]
		s.panels[0].say("legend: the first %d of %d names", mostNames, n)
	}
	s.nameEnds()
	return s, nil
}

// entries are those of the legend, none if the names are elsewhere.
func (s *sheet) entries() []*style {
	if s.panels[0].ends != nil {
		return nil
	}
	return s.legend
}

// names returns a series of each name, in order of appearance, but with numbers in theirs: "2 clients" is before "10 clients".
func (r Row) names() (all []Series) {
	places := map[string][]int{} // of those that differ in numbers alone
	seen := map[string]bool{}
	for _, f := range r {
		for _, t := range f.Series {
			if t.bar == nil && !seen[t.Name] {
				seen[t.Name] = true
				form := strings.ReplaceAll(numbers.ReplaceAllString(t.Name, "#"), " ", "")
				places[form] = append(places[form], len(all))
				all = append(all, t)
			}
		}
	}
	for _, at := range places {
		alike := pick(all, at)
		slices.SortStableFunc(alike, func(a, b Series) int { return slices.Compare(numbersIn(a.Name), numbersIn(b.Name)) })
		for i, t := range alike {
			all[at[i]] = t
		}
	}
	return all
}

// numbers are those in a name. A hyphen is a minus only at the beginning of a word.
var numbers = regexp.MustCompile(`(?:−|(?:^|\s)-)?\d+(?:\.\d+)?(?:e[-+]?\d+)?`)

func numbersIn(name string) (all []float64) {
	for _, n := range numbers.FindAllString(name, -1) {
		v, _ := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(n), "−", "-"), 64)
		all = append(all, v)
	}
	return all
}

// across is how many figures are side by side.
func (s *sheet) across() int {
	n := len(s.panels)
	lines := (n + 3) / 4
	if n%5 == 0 && n > 5 { // ten are two lines of five
		return 5
	}
	return (n + lines - 1) / lines
}

// columns is how many entries the legend has in a line: what fits over the figures.
func (s *sheet) columns() int {
	width := 0
	for _, p := range s.panels[:s.across()] {
		width += p.Width
	}
	longest := longest(each(s.legend, func(l *style) string { return l.name }))
	return min(max(1, width/(6*longest+44)), max(1, len(s.legend)))
}

// longest is how many letters the longest name has, at least one.
func longest(names []string) int {
	return slices.Max(append(each(names, utf8.RuneCountInString), 1))
}

func (f *Figure) prepare(points int) (*panel, error) {
	own := *f
	own.Title, own.Note, own.X.Title, own.Y.Title = table.NoBreak(f.Title), table.NoBreak(f.Note), table.NoBreak(f.X.Title), table.NoBreak(f.Y.Title)
	own.X.Names, own.Y.Names = slices.Clone(f.X.Names), slices.Clone(f.Y.Names)
	for i, name := range own.X.Names {
		own.X.Names[i] = table.NoBreak(name)
	}
	for i, name := range own.Y.Names {
		own.Y.Names[i] = broken(table.NoBreak(name), small, 160)
	}
	p := &panel{Figure: &own, base: own.Note}
	p.Width, p.Height = cmp.Or(max(f.Width, 0), 560), cmp.Or(max(f.Height, 0), 320)
	if most := 1 << 14; max(p.Width, p.Height) > most {
		return nil, fmt.Errorf("the size is %d × %d: must be at most %d each", p.Width, p.Height, most)
	}
	p.Targets = slices.DeleteFunc(slices.Clone(f.Targets), func(t float64) bool { return !f.Y.holds(t) })
	own.X, own.Y = own.X.bounded(f.Series, "x"), own.Y.bounded(f.Series, "y")
	if own.Y.Log {
		own.Y = own.Y.floored(f.Series)
	}
	kept, all, lost, under, over := 0, 0, 0, []series(nil), []series(nil)
	bands := slices.ContainsFunc(f.Series, func(s Series) bool { return s.Mark == Line && len(s.columns()) == 4 })
	for _, s := range f.Series {
		if bands && s.Mark == Line && !s.Thin && len(s.columns()) == 2 { // all lines alike: one layer, one tooltip
			s.Lo, s.Hi = s.Y, s.Y
		}
		c := s.clean(own.X, own.Y, points)
		kept, all, lost = kept+len(c.X), all+c.all, lost+c.lost
		switch {
		case len(c.X) == 0:
		case c.Thin:
			under = append(under, c)
		default:
			over = append(over, c)
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
	if p.series = append(under, over...); len(p.series) == 0 {
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
	return p, nil
}

// say adds to the note.
func (p *panel) say(format string, args ...any) {
	p.Note = strings.TrimPrefix(p.Note+"; "+fmt.Sprintf(format, args...), "; ")
}

// shareAxes gives axes of one title the same range in all figures, unless positions across them have names: those may be of other
// things.
func (s *sheet) shareAxes() {
	for _, p := range s.panels {
		for _, q := range s.panels {
			p.x.share(&q.x)
			if p.X.Names == nil && q.X.Names == nil {
				p.y.share(&q.y)
			}
		}
	}
}

// finishAxes chooses the ticks. What all figures say, the title of y and the note, stands at the first one. A figure without a note has
// the room of one, if another of the row has a note.
func (s *sheet) finishAxes() {
	first := s.panels[0]
	title, note := len(s.panels) > 1, len(s.panels) > 1
	for _, p := range s.panels {
		title, note = title && p.Y.Title == first.Y.Title, note && p.Note == first.Note
	}
	longest := slices.MaxFunc(s.panels, func(a, b *panel) int { return len(a.Note) - len(b.Note) })
	for i, p := range s.panels {
		p.x.finish(p.Width/70, p.Width/45, p.nameColumns())
		p.y.finish(p.Height/45, p.Height/22, p.Height/11)
		p.column, p.x.top = i%s.across(), p.Height > tall
		if title {
			p.y.beside = i
		}
		if longest.Note != "" && (p.Note == "" || note && i > 0) { // all titles are as high
			p.noted = longest
		}
	}
	highest := slices.Max(each(s.panels, (*panel).overhang))
	for _, p := range s.panels {
		p.lift = round5(highest - p.overhang())
	}
}

// overhang is by how much the label of the highest tick is over the panel, where it lifts the title.
func (p *panel) overhang() float64 {
	if p.y.Hidden || len(p.y.ticks) == 0 {
		return 0
	}
	return max(0, small/2-(1-p.y.norm(slices.Max(p.y.ticks)))*float64(p.Height))
}

// nameColumns returns how many of the names of columns there is room for, and lets them have several lines, or turn, so that there is
// room for all.
func (p *panel) nameColumns() int {
	names, room := p.X.Names, float64(p.Width)/float64(max(1, len(p.X.Names)))
	if fit := p.Width / (7*longest(names) + 6); fit >= len(names) || room < nameStep {
		return fit
	}
	if most := slices.Max(each(names, func(n string) float64 { return wide(n, small) })); most+6 > room/4 {
		for i, name := range names {
			names[i] = broken(name, small, max(room-6, 40))
		}
		p.x.turn = round((6+slices.Max(each(names, func(n string) float64 { return wide(n, small) })))/room, 2)
	}
	return len(names)
}

// share widens the ranges of two axes to that of both, if they are of the same quantity.
func (s *scale) share(t *scale) {
	if s.Title == "" || s.Title != t.Title || s.Names != nil || t.Names != nil || s.Log != t.Log || s.Percent != t.Percent || s.Whole != t.Whole {
		return
	}
	s.lo, s.hi, s.Bounds = min(s.lo, t.lo), max(s.hi, t.hi), [2]float64{min(s.Bounds[0], t.Bounds[0]), max(s.Bounds[1], t.Bounds[1])}
	t.lo, t.hi, t.Bounds = s.lo, s.hi, s.Bounds
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

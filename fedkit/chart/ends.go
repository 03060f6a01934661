package chart

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"fedkit.example/fedkit/table"
)

// At the ends of lines stand the names of at most so many, at least nameStep from each other, and at most nearEnd from the line.
const (
	mostEnds = 6
	nearEnd  = 10.0
	endGap   = 8 // between a line and its name, in CSS pixels
)

// pickEnd is the parameter that a click on such a name sets.
const pickEnd = "picked"

// end is the name of a line where it ends, in place of the legend.
type end struct {
	*style
	x, y float64
}

// nameEnds puts the names at the ends of the lines if a figure alone has a few, and there is room.
func (s *sheet) nameEnds() {
	if len(s.panels) > 1 || len(s.legend) > mostEnds || len(s.picks) > 0 {
		return
	}
	p, left, right := s.panels[0], 1.0, 0.0
	var ends []end
	for _, l := range s.legend {
		y, lines := 0.0, 0.0
		for _, t := range p.series {
			if t.Name != l.name {
				continue
			}
			if t.Mark != Line || wide(l.name, 11) > 0.35*float64(p.Width) {
				return
			}
			last := p.x.norm(t.X[len(t.X)-1])
			left, right = min(left, last), max(right, last)
			y, lines = y+p.y.norm(t.Y[len(t.Y)-1]), lines+1
		}
		if lines == 0 {
			return
		}
		ends = append(ends, end{l, right, float64(p.Height) * y / lines})
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.y, b.y) })
	if left < max(0.75, right-0.02) || !spread(ends, float64(p.Height)) {
		return
	}
	for i := range ends {
		ends[i].x, ends[i].y = p.x.at(right), p.y.at(ends[i].y/float64(p.Height))
	}
	p.ends = ends
}

// spread moves names apart that overlap, and reports whether all stay near to their lines and to the figure.
func spread(ends []end, height float64) bool {
	from := each(ends, func(e end) float64 { return e.y })
	for range 50 {
		for i := 1; i < len(ends); i++ {
			if d := (nameStep - (ends[i].y - ends[i-1].y)) / 2; d > 0 {
				ends[i-1].y, ends[i].y = ends[i-1].y-d, ends[i].y+d
			}
		}
	}
	for i, e := range ends {
		if math.Abs(e.y-from[i]) > nearEnd || e.y < -nearEnd/2 || e.y > height+nearEnd/2 {
			return false
		}
	}
	return true
}

// at returns the value at a place, 0 at the low end and 1 at the high one.
func (s *scale) at(norm float64) float64 {
	if s.Log {
		return s.lo * math.Pow(s.hi/s.lo, norm)
	}
	return s.lo + norm*(s.hi-s.lo)
}

// endRoom is what names at the ends of lines take beside the figure.
func (p *panel) endRoom() (room float64) {
	for _, e := range p.ends {
		room = max(room, (p.x.norm(e.x)-1)*float64(p.Width)+endGap+wide(e.name, 11)+2)
	}
	return room
}

// endNames is the layer of the names. A click on one picks its line out.
func (s *sheet) endNames(p *panel) object {
	opacity := unlessOthers(pickEnd, 1)
	opacity["value"] = 0.35 // as in a legend
	return object{
		"data":     object{"values": each(p.ends, func(e end) any { return object{"s": e.name, "x": round5(e.x), "y": round5(e.y)} })},
		"params":   []any{picking(pickEnd)},
		"mark":     object{"type": "text", "align": "left", "baseline": "middle", "dx": float64(endGap), "fontSize": 11.0, "cursor": "pointer"},
		"encoding": object{"x": p.x.channel("x"), "y": p.y.channel("y"), "color": s.color(), "opacity": opacity, "text": nominal("s")},
	}
}

// period is that of the dashes of lines on the same points, in CSS pixels. Shorter dashes lie on longer ones, so that each line is
// seen in its share of it.
const period = 24

// setApart gives dashes to lines that would hide others, and says which coincide.
func (s *sheet) setApart() {
	for _, p := range s.panels {
		var says []string
		for _, same := range p.coinciding() {
			for k, name := range same {
				hidden := round(float64(period*k)/float64(len(same)), 3)
				if st := s.style[name]; k > 0 && st.dash == nil {
					st.dash = []float64{period - hidden, hidden}
				}
			}
			const most = 4
			names := strings.Join(same[:min(len(same), most)], ", ")
			if strings.Count(names, ",") >= min(len(same), most) { // in the names too
				names = "“" + strings.Join(same[:min(len(same), most)], "”, “") + "”"
			}
			if len(same) > most {
				names += ", …"
			}
			if says = append(says, names); len(says) > 3 {
				says = append(says[:3], "…")
			}
		}
		if says != nil {
			p.say("lines coincide: %s", table.NoBreak(strings.Join(says, "; ")))
		}
	}
}

// coinciding returns the names of lines that lie on each other within a pixel, in the order in which they are drawn.
func (p *panel) coinciding() (groups [][]string) {
	var first []*series // of each group
	for i := range p.series {
		t := &p.series[i]
		if t.Mark != Line || t.Thin || t.Ink || len(t.X) < 2 {
			continue
		}
		g := slices.IndexFunc(first, func(u *series) bool { return p.coincide(u, t) })
		switch {
		case g < 0:
			first, groups = append(first, t), append(groups, []string{t.Name})
		case !slices.Contains(groups[g], t.Name):
			groups[g] = append(groups[g], t.Name)
		}
	}
	return slices.DeleteFunc(groups, func(same []string) bool { return len(same) < 2 })
}

func (p *panel) coincide(a, b *series) bool {
	if !slices.Equal(a.X, b.X) || !slices.Equal(a.when, b.when) {
		return false
	}
	for i, y := range a.Y {
		if math.Abs(p.y.norm(y)-p.y.norm(b.Y[i]))*float64(p.Height) > 1 {
			return false
		}
	}
	return true
}

package chart

import (
	"math"
	"slices"
	"strings"

	"fedkit.example/fedkit/table"
)

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
			if len(same) > most {
				names += ", …"
			}
			says = append(says, names)
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
	if !slices.Equal(a.X, b.X) {
		return false
	}
	for i, y := range a.Y {
		if math.Abs(p.y.norm(y)-p.y.norm(b.Y[i]))*float64(p.Height) > 1 {
			return false
		}
	}
	return true
}

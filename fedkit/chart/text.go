package chart

import (
	"cmp"
	"fmt"
	"strings"

	"fedkit.example/fedkit/table"
)

// text says in a line or two what the sheet shows, for places that show nothing else.
func (s *sheet) text() string {
	var lines []string
	for _, p := range s.panels {
		var parts []string
		for _, t := range p.series {
			if n := len(t.X) - 1; t.Mark == Line && !t.Thin && p.X.Names == nil && p.Y.Names == nil {
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s at %s %s",
					t.Name, p.y.value(t.Y[n]), p.X.Title, p.x.value(t.X[n]))))
			}
		}
		if len(parts) > 12 {
			parts = append(parts[:12], "…")
		}
		lines = append(lines, strings.TrimSuffix(cmp.Or(p.Title, p.Y.Title+" against "+p.X.Title)+": "+strings.Join(parts, "; "), ": "))
	}
	return strings.Join(lines, "\n")
}

// value writes a value of the axis.
func (s *scale) value(v float64) string {
	switch {
	case s.Percent:
		return table.Percent(v)
	case s.Whole:
		return table.Minus(fmt.Sprintf("%.0f", v))
	}
	return table.Minus(fmt.Sprintf("%.4g", v))
}

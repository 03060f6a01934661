package chart

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fedkit.example/fedkit/table"
)

// text says in a line or two what the sheet shows, for places that show nothing else.
func (s *sheet) text() string {
	var lines []string
	for _, p := range s.panels {
		var parts []string
		for _, t := range p.series {
			if n := len(t.X) - 1; t.Mark == Line && !t.Thin && s.start(t.when) && p.X.Names == nil && p.Y.Names == nil {
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s at %s %s",
					t.Name, p.y.value(t.Y[n]), p.X.Title, p.x.value(t.X[n]))))
			}
		}
		if parts == nil {
			parts = s.gist(p)
		}
		if p.Alt != "" {
			parts = []string{p.Alt}
		}
		if len(parts) > 12 {
			parts = append(parts[:12], "…")
		}
		lines = append(lines, strings.TrimSuffix(cmp.Or(p.Title, p.Y.Title+" against "+p.X.Title)+": "+strings.Join(parts, "; "), ": "))
	}
	for _, q := range s.picks {
		if at := each(q.options, func(o option) string { return o.key }); q.kind == "menu" {
			lines = append(lines, q.name+": "+strings.Join(at, ", "))
		}
	}
	return strings.Join(lines, "\n")
}

// gist says what a panel without curves shows: what is written in it, how far values go, or how much there is of what.
func (s *sheet) gist(p *panel) (parts []string) {
	var names []string
	count := map[string]int{}
	for _, t := range p.series {
		telling := slices.ContainsFunc(t.Tip, func(tip string) bool { return strings.Contains(tip, ": ") })
		switch {
		case !s.start(t.when) || t.Thin:
		case t.Text != nil && !telling:
			parts = append(parts, each(t.Text, func(words string) string { return strings.ReplaceAll(words, "\n", " ") })...)
		case t.Text == nil && t.bar != nil && len(t.Values) > 0:
			lo, hi := &scale{Axis: t.bar.Axis}, slices.Max(t.Values)
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s from %s to %s", t.Of, lo.value(slices.Min(t.Values)), lo.value(hi))))
		case telling && (t.Mark == Dots || t.Mark == Cells):
			parts = append(parts, t.Tip...)
		case t.Ink || t.Mark != Dots:
		case count[t.Name] == 0:
			names = append(names, t.Name)
			fallthrough
		default:
			count[t.Name] += len(t.X)
		}
	}
	for _, name := range names {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s (%d)", name, count[name])))
	}
	return parts
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

// Sizes of text in CSS pixels.
const (
	small     = 11.0 // labels, notes and names
	titleSize = 14.0
	nameStep  = 13.0 // from one line of a long name to the next
	longName  = 300. // names in a legend have lines no wider than this
	roomy     = 480  // titles and notes of a figure that stands alone have lines as wide as this
	tall      = 800  // figures this high have their x axis on top
)

// wide is about how wide words are in Helvetica or Arial, the longest line of them if there are several.
func wide(words string, size float64) (most float64) {
	for line := range strings.SplitSeq(words, "\n") {
		em := 0.0
		for _, r := range line {
			switch {
			case strings.ContainsRune("ijl'|.,:;!ftI /\u00a0\u202f", r):
				em += 0.27
			case strings.ContainsRune("r()[]-*⁻⁰¹²³⁴⁵⁶⁷⁸⁹", r):
				em += 0.36
			case strings.ContainsRune("mwMWG%@", r):
				em += 0.83
			case r >= 'A' && r <= 'Z':
				em += 0.69
			default:
				em += 0.55
			}
		}
		most = max(most, em*size)
	}
	return most
}

// broken puts line breaks into words, so that no line is much wider than this. A line ends at a space.
func broken(words string, size, width float64) string {
	line, done := "", ""
	for _, word := range strings.Split(words, " ") {
		switch {
		case line == "":
			line = word
		case wide(line+" "+word, size) > width:
			done, line = done+line+"\n", word
		default:
			line += " " + word
		}
	}
	return done + line
}

// alone is heading for a narrow panel that has room next to it.
func (p *panel) alone(words string, size float64) any {
	narrow, wide := broken(words, size, max(250, float64(p.Width))), broken(words, size, roomy)
	if narrow == wide && narrow == words {
		return words
	}
	return expr("room < %d ? %s : %s", roomy+60, quote(narrow), quote(wide))
}

// heading is the title or the note of a panel for Vega, in lines about as wide as the panel. One that the room makes narrower has
// others.
func (p *panel) heading(words string, size float64) any {
	before, says := "", ""
	for _, share := range []float64{1. / 3, 2. / 3, 1} {
		switch lines := broken(words, size, share*float64(p.Width)+p.right()); {
		case says == "":
			before, says = lines, quote(lines)
		case lines != before:
			before, says = lines, fmt.Sprintf("shrink < %.2g ? %s : %s", 0.98*share, says, quote(lines))
		}
	}
	if says == quote(words) {
		return words
	}
	return object{"expr": says}
}

// stubs returns a heading whose lines are a dot each.
func stubs(heading any) any {
	if e, is := heading.(object); is {
		return expr("%s", quoted.ReplaceAllString(e["expr"].(string), "'.'"))
	}
	return "."
}

// quoted is a text in an expression: see quote.
var quoted = regexp.MustCompile(`'(?:[^'\\]|\\.)*'`)

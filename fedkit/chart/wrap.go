package chart

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"fedkit.example/fedkit/table"
)

// wideFont is how much wider letters may be in a browser that has neither Helvetica nor Arial.
const wideFont = 1.15

// nameStep is from one line of a long name to the next.
const nameStep = 13

// broken puts line breaks into names, so that none of its lines is much wider than this. A line ends at a space.
func broken(names []string, style text.Style, width vg.Length) []string {
	all := slices.Clone(names)
	for i, name := range names {
		line, done := "", ""
		for _, word := range strings.Split(name, " ") {
			switch {
			case line == "":
				line = word
			case style.Width(line+" "+word) > width:
				done, line = done+line+"\n", word
			default:
				line += " " + word
			}
		}
		all[i] = done + line
	}
	return all
}

// wrapped is a text for Vega: as it is if it is at most tight wide, else broken into lines as wide as an expression in pixels.
func wrapped(words string, style text.Style, width string) any {
	wide := float64(style.Width(words))
	if wide <= tight {
		return words
	}
	return object{"expr": lines(quote(words), wide/float64(utf8.RuneCountInString(words)), width)}
}

// lines is the expression for the lines of some words, whose letters have this mean width. A line ends at a space; one that
// does not break stays.
func lines(words string, letter float64, width string) string {
	return fmt.Sprintf(`split(trim(replace(%s, regexp('(.{1,' + max(9, floor((%s) / %g)) + '})( +|$)', 'g'), '$1\n')), '\n')`,
		words, width, round(wideFont*letter, 3))
}

// allBound keeps the numbers of each on one line.
func allBound(words []string) []string {
	all := slices.Clone(words)
	for i := range all {
		all[i] = table.NoBreak(all[i])
	}
	return all
}

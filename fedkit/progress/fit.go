package progress

import (
	"regexp"
	"unicode"

	"golang.org/x/text/width"
)

// bars are drawn only where there is room for them.
var bars = regexp.MustCompile(`[█░]+ `)

// fit shortens a line to this many columns of a terminal, 0 for any: first by its bar, then at its end, which becomes "…". A line that
// wraps could not be overwritten.
func fit(line string, columns int) string {
	if columns <= 0 || columnsOf(line) <= columns {
		return line
	}
	if line = bars.ReplaceAllString(line, ""); columnsOf(line) <= columns {
		return line
	}
	used := 0
	for i, r := range line {
		if used += columnsOf(string(r)); used > columns-1 {
			return line[:i] + "…"
		}
	}
	return line
}

// columnsOf is the width of a text on a terminal: two columns for wide characters, none for marks that go onto others.
func columnsOf(line string) (n int) {
	for _, r := range line {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

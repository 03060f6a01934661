package table

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"fedkit.example/fedkit/internal/text"
)

// Percent writes a share: "93.1 %", "−0.4 %".
func Percent(v float64) string { return Minus(fmt.Sprintf("%.1f %%", 100*v)) }

// Minus writes the minus of a number as one, not as a hyphen, and drops that of one that rounds to 0: "-0.0".
func Minus(text string) string {
	number, negative := strings.CutPrefix(text, "-")
	if negative && strings.ContainsAny(text, "123456789") {
		return "−" + number
	}
	return number
}

// Bytes writes a number of bytes: "1.23 MB".
func Bytes(v float64) string {
	unit, size := text.ByteUnit(v)
	return Short(v/size) + " " + unit
}

// Seconds writes a duration: "1.23 s", "3 min 20 s", "2 h 05 min", "4 d 03 h".
func Seconds(s float64) string {
	if n := int(s + 0.5); n >= 3600 && n < 48*3600 {
		s = float64(n / 60 * 60) // full minutes
	}
	return SecondsLike(s, s)
}

// SecondsLike writes a duration in the units in which Seconds writes another, for what follows "±": "1 min 37 s" beside "6 min 29
// s", "4 s" beside it too, but "120 s" beside "80 s". One that is not 0 is not written as 0.
func SecondsLike(s, like float64) string {
	switch n := int(like + 0.5); {
	case like < 99.95:
		return Short(s) + " s"
	case n < 3600:
		return inTwo(s, 1, 60, "min", "s")
	case n < 48*3600:
		return inTwo(s, 60, 60, "h", "min")
	default:
		return inTwo(s, 3600, 24, "d", "h")
	}
}

// inTwo writes a duration in two units, the larger of which is this many of the smaller.
func inTwo(s, smaller float64, many int, large, small string) string {
	n := int(s/smaller + 0.5)
	if s > 0 {
		n = max(n, 1)
	}
	if n < many {
		return fmt.Sprintf("%d %s", n, small)
	}
	return fmt.Sprintf("%d %s %02d %s", n/many, large, n%many, small)
}

// Short writes a nonnegative number with three digits, 1.23, 12.3, 123, but 12 for a whole number.
func Short(v float64) string {
	switch {
	case v == math.Trunc(v) || v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// NoBreak keeps numbers and their units on one line: no line breaks inside "60.0 ± 1.4 %" or "3 min 20 s".
func NoBreak(words string) string {
	for _, gap := range gaps {
		words = gap.ReplaceAllString(words, "$1\u00a0$2")
	}
	return words
}

var gaps = []*regexp.Regexp{
	regexp.MustCompile(`(\d) (%|(?:[kMGTPEZY]?B|ms|s|min|h|d|days)\b)`),
	regexp.MustCompile(`(\d\x{a0}(?:min|h|d)) (\d\d\x{a0})`),
	regexp.MustCompile(`(±) (\d)`),
	regexp.MustCompile(`([\d%sB]) (±)`),
}

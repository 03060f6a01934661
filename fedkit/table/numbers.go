package table

import (
	"fmt"
	"math"
	"regexp"

	"fedkit.example/fedkit/internal/text"
)

// Percent writes a share: "93.1 %", "−0.4 %".
func Percent(v float64) string { return Minus(fmt.Sprintf("%.1f %%", 100*v)) }

// Minus writes a number of package fmt for readers: with a true minus, without one if it rounds to 0 ("-0.0"), and with a power of ten
// in place of an exponent: "−0.4", "0.0", "1.5×10⁻⁶", "10⁻⁶".
func Minus(number string) string { return text.Minus(number) }

// Bytes writes a number of bytes: "1.23 MB".
func Bytes(v float64) string {
	unit, size := text.ByteUnit(math.Abs(v))
	return Short(v/size) + " " + unit
}

// Seconds writes a duration: "1.23 s", "3 min 20 s", "2 h 05 min", "4 d 03 h". Beside an interval, in tables of package compare, it has a
// single unit: "6.5 ± 1.6 min".
func Seconds(s float64) string {
	switch n := int(math.Abs(s) + 0.5); {
	case math.Abs(s) < 99.95:
		return Short(s) + " s"
	case s < 0:
		return "−" + Seconds(-s)
	case n < 3600:
		return inTwo(n, 60, "min", "s")
	case n < 48*3600:
		return inTwo(n/60, 60, "h", "min")
	default:
		return inTwo((n+1800)/3600, 24, "d", "h")
	}
}

// inTwo writes a duration in two units, the larger of which is this many of the smaller.
func inTwo(n, many int, large, small string) string {
	return fmt.Sprintf("%d %s %02d %s", n/many, large, n%many, small)
}

// Short writes a number with three digits, 1.23, 12.3, 123, but 12 for a whole number.
func Short(v float64) string {
	switch size := math.Abs(v); {
	case v == math.Trunc(v) || size >= 99.95:
		return Minus(fmt.Sprintf("%.0f", v))
	case size >= 9.995:
		return Minus(fmt.Sprintf("%.1f", v))
	}
	return Minus(fmt.Sprintf("%.2f", v))
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

package chart

import (
	"fmt"
	"math"
	"regexp"
	"slices"
)

// Percent writes a share: "93.1 %".
func Percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// Bytes writes a number of bytes: "1.23 MB".
func Bytes(v float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if v < 999.5 {
			return Short(v) + " " + unit
		}
		v /= 1000
	}
	return Short(v) + " TB"
}

// Seconds writes a duration: "1.23 s", "3 min 20 s", "2 h 05 min", "4 d 03 h".
func Seconds(s float64) string {
	switch n := int(s + 0.5); {
	case s < 99.95:
		return Short(s) + " s"
	case n < 3600:
		return fmt.Sprintf("%d min %02d s", n/60, n%60)
	case n < 48*3600:
		return fmt.Sprintf("%d h %02d min", n/3600, n%3600/60)
	default:
		n = (n + 1800) / 3600
		return fmt.Sprintf("%d d %02d h", n/24, n%24)
	}
}

// Short writes a number that is not negative with three digits, 1.23, 12.3, 123, but 12 for a whole number.
func Short(v float64) string {
	switch {
	case v == math.Trunc(v) || v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// bound keeps numbers and what belongs to them on one line: none ends inside "60.0 ± 1.4 %" or "3 min 20 s".
func bound(words string) string {
	for _, gap := range gaps {
		words = gap.ReplaceAllString(words, "$1\u00a0$2")
	}
	return words
}

var gaps = []*regexp.Regexp{
	regexp.MustCompile(`(\d) (%|(?:[kMGT]?B|ms|s|min|h|d|days)\b)`),
	regexp.MustCompile(`(\d\x{a0}(?:min|h|d)) (\d\d\x{a0})`),
	regexp.MustCompile(`(±) (\d)`),
	regexp.MustCompile(`([\d%sB]) (±)`),
}

func allBound(words []string) []string {
	all := slices.Clone(words)
	for i := range all {
		all[i] = bound(all[i])
	}
	return all
}

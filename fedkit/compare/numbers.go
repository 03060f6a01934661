package compare

import (
	"math"
	"strconv"
	"strings"

	"fedkit.example/fedkit/table"
)

// unitNumber writes numbers in a unit: "%" and "points" of shares in [0, 1] with one decimal, others with enough significant digits.
type unitNumber string

// write writes a number ± half of its interval, if it has one, with the unit.
func (u unitNumber) write(v, half float64) string {
	if !finite(v) {
		return "–"
	}
	if u.share() {
		v, half = 100*v, 100*half
	}
	text := decimal(v, u.digits(v, 3))
	if finite(half) && half != 0 {
		digits := u.digits(half, 2)
		text = decimal(v, digits) + " ± " + decimal(half, digits)
	}
	return strings.TrimSpace(text + " " + string(u))
}

// gap writes a difference with its sign; that of shares is in points.
func (u unitNumber) gap(v float64) string {
	if u == "%" {
		u = "points"
	}
	return u.signed(v, math.NaN())
}

// signed is write with a sign before positive numbers too.
func (u unitNumber) signed(v, half float64) string {
	text := u.write(v, half)
	if v > 0 && !zero(u.write(v, math.NaN())) {
		text = "+" + text
	}
	return text
}

func (u unitNumber) share() bool { return u == "%" || u == "points" }

// digits returns the number of decimals: one for shares, else enough for some significant digits.
func (u unitNumber) digits(v float64, some int) int {
	switch {
	case u.share():
		return 1
	case v == math.Trunc(v):
		return 0
	}
	return max(0, some-1-int(math.Floor(math.Log10(math.Abs(v)))))
}

// zero reports whether a number is written as 0, and so without a sign.
func zero(text string) bool { return !strings.ContainsAny(text, "123456789") }

// decimal writes a number with a true minus sign. A number that is not 0 is not written as 0.
func decimal(v float64, digits int) string {
	if digits > 6 {
		return table.Minus(strconv.FormatFloat(v, 'g', 3, 64))
	}
	return table.Minus(strconv.FormatFloat(v, 'f', digits, 64))
}

func finites(v []float64) (kept []float64) {
	for _, x := range v {
		if finite(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

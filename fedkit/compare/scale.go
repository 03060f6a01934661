package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/table"
)

// scale is how the numbers of a column are written: value and interval in one unit, and all with one number of decimals.
type scale struct {
	unit     string  // what follows a number: " MB", "×10⁻⁶"
	size     float64 // of the unit
	decimals int
}

// fill writes the texts of a column's cells, in one scale unless their sizes are too different: then each has its own.
func (q Quantity) fill(of []cell, signed bool) {
	least, most := sizes(of)
	s := q.scale(of)
	for i := range of {
		if most > 1000*least || most > 50*least && (q.Unit == "B" || q.Unit == "s") {
			s = q.scale(of[i : i+1])
		}
		of[i].text = q.text(&of[i], s, signed)
	}
}

// text writes a cell.
func (q Quantity) text(c *cell, s scale, signed bool) string {
	mean := c.numbers[0]
	if !finite(mean) {
		return "–" + c.count
	}
	write, unit := s.write, s.unit
	if q.Format != nil {
		write, unit = func(v float64) string { return table.Minus(q.Format(v)) }, ""
	}
	text := write(mean)
	if signed && mean > 0 && !zero(text) {
		text = "+" + text
	}
	if c.vary {
		half := write(c.numbers[1])
		if value, of, one := strings.Cut(text, " "); one && strings.HasSuffix(half, " "+of) { // the unit once
			text = value
		}
		if strings.HasPrefix(unit, "×") {
			text += unit
		}
		text += " ± " + half
	}
	text += unit
	if signed {
		text = strings.ReplaceAll(text, " %", " points")
	}
	return text + c.count
}

// sizes returns the least and the greatest size of the means but 0; those within their own interval do not count as small.
func sizes(of []cell) (least, most float64) {
	for _, c := range of {
		size := math.Abs(c.numbers[0])
		if !finite(size) || size == 0 {
			continue
		}
		most = max(most, size)
		if !c.vary || c.numbers[1] <= size {
			least = min(cmp.Or(least, size), size)
		}
	}
	return cmp.Or(least, most), most
}

// scale returns that of cells: shares have one decimal, others enough for three digits, four without a unit.
func (q Quantity) scale(of []cell) scale {
	_, most := sizes(of)
	digits := 3
	s := scale{size: 1}
	switch q.Unit {
	case "%":
		return scale{unit: " %", size: 0.01, decimals: 1}
	case "B":
		s.unit, s.size = text.ByteUnit(most)
		s.unit = " " + s.unit
	case "s":
		s = durations(most)
	case "1":
	default:
		if digits = 4; most > 0 && (most < 1e-3 || most >= 1e6) {
			e := exponent(most, digits)
			s.unit, s.size = strings.TrimPrefix(table.Minus(fmt.Sprintf("2e%d", e)), "2"), math.Pow10(e)
		}
	}
	s.decimals = decimals(of, s.size, digits)
	for q.Unit == "" && s.decimals > 0 && !slices.ContainsFunc(of, s.needed) {
		s.decimals--
	}
	return s
}

// write writes a number without its unit.
func (s scale) write(v float64) string {
	if s.size < 1 { // a product, as table.Percent has it: a quotient rounds another way
		v *= math.Round(1 / s.size)
	} else {
		v /= s.size
	}
	return table.Minus(strconv.FormatFloat(v, 'f', s.decimals, 64))
}

// needed reports whether the last decimal of a cell is not 0.
func (s scale) needed(c cell) bool {
	return finite(c.numbers[0]) && !strings.HasSuffix(s.write(c.numbers[0]), "0") || c.vary && !strings.HasSuffix(s.write(c.numbers[1]), "0")
}

// durations returns the unit in which Seconds begins.
func durations(s float64) scale {
	switch {
	case s > 0 && s < 0.0995:
		return scale{unit: " ms", size: 1e-3}
	case s < 99.95:
		return scale{unit: " s", size: 1}
	case s < 3600:
		return scale{unit: " min", size: 60}
	case s < 48*3600:
		return scale{unit: " h", size: 3600}
	}
	return scale{unit: " d", size: 86400}
}

// decimals returns as many as the largest mean needs for these digits, and the smallest for two. Whole numbers need none. With
// intervals, their median has two digits if that takes at most two decimals more than the means do.
func decimals(of []cell, size float64, digits int) (n int) {
	least, most := sizes(of)
	whole, halves := true, []float64(nil)
	for _, c := range of {
		whole = whole && !(c.numbers[0]/size != math.Round(c.numbers[0]/size) && finite(c.numbers[0]))
		if c.vary && c.numbers[1] > 0 {
			halves = append(halves, c.numbers[1])
		}
	}
	if !whole {
		n = max(0, digits-1-exponent(most/size, digits), 1-exponent(least/size, 2))
	}
	if halves != nil {
		slices.Sort(halves)
		n = max(0, -exponent(least/size, 1), min(n+2, 1-exponent(halves[len(halves)/2]/size, 2)))
	}
	return n
}

// exponent returns the power of ten of a number that is rounded to these digits; 0 for 0.
func exponent(v float64, digits int) int {
	_, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
	n, _ := strconv.Atoi(e)
	return n
}

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

// finites returns the values that are finite.
func finites(v []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(v), func(x float64) bool { return !finite(x) })
}

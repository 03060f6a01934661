package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"fedkit.example/fedkit/internal/fault"
)

// CheckRanges refuses a field of a struct, embedded ones included, that is outside the range of its tag, an interval with open or
// closed ends:
//
//	Beta float64 `range:"[0,1)" default:"0.9"` // β
//
// In a field with a default, 0 stands for the default.
func CheckRanges(part any) error {
	v := reflect.Indirect(reflect.ValueOf(part))
	if v.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		r, tagged := f.Tag.Lookup("range")
		x, err := v.FieldByIndexErr(f.Index)
		if !tagged || err != nil { // in an embedded nil pointer
			continue
		}
		usual, optional := f.Tag.Lookup("default")
		if n := number(x); !(optional && n == 0) && !holds(r, n) {
			return fault.Invalid(f.Name, x.Interface(), Allowed(r, usual, !x.CanFloat()))
		}
	}
	return nil
}

func number(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	}
	return v.Float()
}

// interval returns the ends of a range "[lo,hi)". It does not validate tags: the tests of the types do.
func interval(r string) (lo, hi float64) {
	a, b, _ := strings.Cut(r[1:len(r)-1], ",")
	lo, _ = strconv.ParseFloat(a, 64)
	hi, _ = strconv.ParseFloat(b, 64)
	return lo, hi
}

func holds(r string, v float64) bool {
	lo, hi := interval(r)
	return (v > lo || v == lo && r[0] == '[') && (v < hi || v == hi && r[len(r)-1] == ']')
}

// Allowed words a range: "in (0, 1), 0 for the default of 0.9, or fedkit.Zero".
func Allowed(r, usual string, whole bool) string {
	lo, hi := interval(r)
	zero := r[0] == '[' && lo == 0 && usual != "" // 0 stands for the default, so 0 itself is fedkit.Zero
	if zero {
		r = "(" + r[1:]
	}
	text := "in " + strings.Replace(r, ",", ", ", 1)
	if whole {
		text = fmt.Sprintf("at least %g", lo)
	} else if math.IsInf(hi, 1) {
		text = fmt.Sprintf("a number %s %g", map[byte]string{'(': ">", '[': "≥"}[r[0]], lo) + map[byte]string{']': " or +Inf"}[r[len(r)-1]]
	}
	if usual == "" {
		return text
	}
	if _, err := strconv.ParseFloat(strings.Fields(usual)[0], 64); err == nil {
		usual = "the default of " + usual
	}
	if zero {
		return text + ", 0 for " + usual + ", or fedkit.Zero"
	}
	return text + ", or 0 for " + usual
}

package fedkit

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/fault"
)

// Checker is a strategy, or a part of one at any depth, that validates its options. Check is called once, before anything
// runs, with the federation and n, the number of clients per round. The error names the part's own field; the caller prefixes
// the part's path: "Aggregator.F".
//
// The range of a number is better declared at the field, by tags that are checked in the same walk:
//
//	Beta float64 `range:"[0,1)" default:"0.9"` // β
//
// A range is an interval with open or closed ends. In a field with a default, 0 stands for the default.
type Checker interface {
	Check(fed *Federation, n int) error // made by Invalid, or nil
}

// Check checks a part that is used outside a strategy: its options, and whether it suits n clients. The error names the part by
// its type: "Krum.F". fed may be nil; then a part whose Check needs a federation is an error.
func Check(part any, fed *Federation, n int) error {
	if err := check("", part, fed, n); err != nil {
		return fault.Within(config.Of(part).Name(), err)
	}
	return nil
}

// check checks v and all of its parts; path is where v itself stands.
func check(path string, v any, fed *Federation, n int) (err error) {
	defer func() {
		p := recover() // in the Check of a part
		if _, ok := p.(runtime.Error); ok && fed == nil {
			err = fmt.Errorf("%w: panic without one: %v", Invalid("federation", "nil", "made by fedkit.New"), p)
		} else if p != nil {
			err = fmt.Errorf("panic while checking options: %w", fault.Panicked(p))
		}
	}()
	if err := checkNils(path, v); err != nil { // in all of v, before any method is called
		return err
	}
	return config.Walk(v, func(at string, part any) error {
		at = under(path, at)
		if err := checkRanges(reflect.Indirect(reflect.ValueOf(part))); err != nil {
			return fault.Within(at, err)
		}
		if o, ok := part.(Optimizer); ok {
			if err := checkKey(at, o); err != nil {
				return err
			}
		}
		if c, ok := part.(Checker); ok {
			return fault.Within(at, checkOptions(c, fed, n))
		}
		return nil
	})
}

// checkKey refuses a part that cannot be a key of the program cache, where equal values must mean equal programs: one that is not
// comparable, and a pointer, behind which a field may change.
func checkKey(field string, part any) error {
	v := reflect.ValueOf(part)
	switch {
	case v.Kind() == reflect.Pointer:
		return Invalid(field, fmt.Sprintf("a %T", part), fmt.Sprintf("a %v: a value, not a pointer to one", v.Type().Elem()))
	case !v.Comparable() || hasPointer(v):
		return Invalid(field, fmt.Sprintf("a %T", part), "of a comparable type, without pointers, slices, maps or functions")
	}
	return nil
}

// hasPointer reports whether a comparable value contains a pointer or a channel.
func hasPointer(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		return true
	case reflect.Interface:
		return !v.IsNil() && hasPointer(v.Elem())
	case reflect.Struct:
		for _, f := range v.Fields() {
			if hasPointer(f) {
				return true
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			if hasPointer(v.Index(i)) {
				return true
			}
		}
	}
	return false
}

// under joins the path of v to that of a part of v; either may be "".
func under(path, part string) string {
	if path == "" || part == "" || part[0] == '[' {
		return path + part
	}
	return path + "." + part
}

// checkNils refuses interfaces in v that hold a nil pointer or function.
func checkNils(path string, v any) error {
	if at, nothing := config.Unset(v); nothing != nil {
		return Invalid(under(path, at), fmt.Sprint("nil ", nothing), "a value, or left out for the default")
	}
	return nil
}

func isNil(v reflect.Value) bool {
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}

// checkRanges refuses a field, embedded ones included, that is outside the range of its tag.
func checkRanges(v reflect.Value) error {
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
			return Invalid(f.Name, x.Interface(), allowed(r, usual, !x.CanFloat()))
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

// allowed words a range: "in (0, 1), 0 for the default of 0.9, or fedkit.Zero".
func allowed(r, usual string, whole bool) string {
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

// cohort returns a strategy's cohort size: from the participation rate in its field Fraction, or all clients if it has none.
func cohort(all []Strategy, m int) (int, error) {
	f, tag := field(all, "Fraction")
	if !f.IsValid() || f.Kind() != reflect.Float64 {
		return m, nil
	}
	share := f.Float()
	if !(share >= 0 && share <= 1) {
		return 0, Invalid("Fraction", share, allowed("(0,1]", cmp.Or(tag.Get("default"), "every client"), false))
	}
	if usual, err := strconv.ParseFloat(tag.Get("default"), 64); err == nil && share == 0 {
		share = usual
	}
	return cohortSize(share, m), nil
}

// cohortSize returns the cohort size for a participation rate: rounded to the nearest of m clients, at least one; 0 stands for all.
func cohortSize(fraction float64, m int) int {
	if fraction == 0 {
		return m
	}
	return max(1, int(math.Round(fraction*float64(m))))
}

package fedkit

import (
	"fmt"
	"math"
	"reflect"
	"runtime"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/nested"
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
		if _, ok := p.(runtime.Error); ok && fed.made() != nil {
			err = fmt.Errorf("%w: panic without one: %v", fed.made(), p)
		} else if p != nil {
			err = fmt.Errorf("panic while checking options: %w", fault.Panicked(p))
		}
	}()
	if err := checkNils(path, v); err != nil { // in all of v, before any method is called
		return err
	}
	return config.Walk(v, func(at string, part any) error {
		at = under(path, at)
		if err := config.CheckRanges(part); err != nil {
			return fault.Within(at, err)
		}
		if o, ok := part.(Optimizer); ok {
			if err := engine.CheckKey(at, o); err != nil {
				return err
			}
		}
		if s, ok := part.(Strategy); ok { // its Check sees its defaults
			filled, err := nested.Filled(s)
			if err != nil {
				return err
			}
			part = filled
		}
		if c, ok := part.(Checker); ok {
			return fault.Within(at, c.Check(fed, n))
		}
		return nil
	})
}

// under joins the path of v to that of a part of v; either may be "".
func under(path, part string) string {
	if path == "" || part == "" || part[0] == '[' {
		return path + part
	}
	return path + "." + part
}

// checkNils refuses interfaces in v that hold a nil pointer or function, and parts that contain themselves.
func checkNils(path string, v any) error {
	at, wrong, cycle := config.Unset(v)
	switch {
	case cycle:
		return Invalid(under(path, at), wrong, "one that does not contain itself")
	case wrong != nil:
		return Invalid(under(path, at), fmt.Sprint("nil ", wrong), "a value, or left out for the default")
	}
	return nil
}

func isNil(v reflect.Value) bool {
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}

// cohortSize returns the cohort size for a participation rate: rounded to the nearest of m clients, at least one; 0 stands for all.
func cohortSize(fraction float64, m int) int {
	if fraction == 0 {
		return m
	}
	return max(1, int(math.Round(fraction*float64(m))))
}

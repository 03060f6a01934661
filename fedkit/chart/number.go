package chart

import (
	"math"
	"strconv"
)

func finite(v float64) bool { return v-v == 0 }

// round5 keeps five significant digits, and whole numbers as they are.
func round5(v float64) float64 {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return v + 0 // -0 becomes 0
	}
	return round(v, 5)
}

// round keeps this many significant digits.
func round(v float64, digits int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return r
}

// Thin keeps at most n of the elements, evenly spread, the first and the last included.
func Thin[T any](a []T, n int) []T {
	if len(a) <= n || n < 2 {
		return a
	}
	b := make([]T, n)
	for i := range b {
		b[i] = a[i*(len(a)-1)/(n-1)]
	}
	return b
}

// each returns f of every element.
func each[A, B any](all []A, f func(A) B) []B {
	of := make([]B, len(all))
	for i, a := range all {
		of[i] = f(a)
	}
	return of
}

// indices returns 0, 1, …, n−1.
func indices(n int) []int {
	a := make([]int, n)
	for i := range a {
		a[i] = i
	}
	return a
}

// pick returns the elements at these indices, nil if one of them is not there.
func pick[T any](a []T, at []int) (b []T) {
	for _, i := range at {
		if i >= len(a) {
			return nil
		}
		b = append(b, a[i])
	}
	return b
}

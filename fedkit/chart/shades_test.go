package chart

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A value lies in the step whose name says so, and darker means larger.
func TestShades(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, log := range []bool{false, true} {
		s, values := Series{Mark: Cells}, make([]float64, 60)
		for i := range values {
			v := rng.Float64()
			if log {
				v = 0.001 + v*v*v
			}
			values[i] = v
			s.X, s.X2 = append(s.X, 1), append(s.X2, 2)
			s.Y, s.Y2 = append(s.Y, float64(i)), append(s.Y2, float64(i+1))
			s.Tip = append(s.Tip, fmt.Sprint(v))
		}
		seen, before := 0, 0.0
		for _, step := range Shades(s, values) {
			var lo, hi float64
			if _, err := fmt.Sscanf(step.Name, "%g to %g", &lo, &hi); err != nil {
				t.Fatal(step.Name, err)
			}
			if step.Shade <= before {
				t.Errorf("%q is not darker than the step before", step.Name)
			}
			before = step.Shade
			for i := range step.X {
				v := values[int(step.Y[i])]
				if v < lo || v > hi || step.Tip[i] != fmt.Sprint(v) || step.Y2[i] != step.Y[i]+1 {
					t.Errorf("%v, %q, is in %q", v, step.Tip[i], step.Name)
				}
				seen++
			}
		}
		if seen != 60 {
			t.Errorf("%d of 60 cells are drawn", seen)
		}
	}
	dark := func(s float64) int {
		c := (&Series{Shade: s}).style(0).color
		return int(c.R) + int(c.G) + int(c.B)
	}
	for s := 0.1; s < 0.95; s += 0.1 {
		if dark(s) <= dark(s+0.1) {
			t.Errorf("shade %.1f is not lighter than %.1f", s, s+0.1)
		}
	}
}

func TestShadesOfOddValues(t *testing.T) {
	s := Series{X: []float64{1, 2, 3}, Y: []float64{1, 2, 3}, Tip: []string{"one"}}
	for _, c := range []struct {
		values []float64
		points int
	}{{nil, 0}, {[]float64{nan, nan, nan}, 0}, {[]float64{nan, 5}, 1}, {[]float64{1, 1, 1, 1}, 3}, {[]float64{0, 1e300, -1e300}, 3}} {
		n := 0
		for _, step := range Shades(s, c.values) {
			n += len(step.X)
		}
		if n != c.points {
			t.Errorf("%v: %d points, want %d", c.values, n, c.points)
		}
	}
}

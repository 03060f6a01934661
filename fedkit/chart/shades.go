package chart

import "sort"

// Shades divides a series by one value for each of its points: into one series for each step of a scale, the larger the values
// the darker, named for its range. The steps are even, or even in logarithms if the values span more than a factor of 30. Points
// without a finite value are left out, and so are steps without a point. Covers are values that the scale includes beside the
// data: figures with equal ones have the same steps.
func Shades(s Series, values []float64, covers ...float64) (steps []Series) {
	return s.shades(values, 8, scale.shade, covers...)
}

// shades is Shades in about n steps, with the shade of the k-th step of a scale.
func (s Series) shades(values []float64, n int, shade func(x scale, k int) float64, covers ...float64) (steps []Series) {
	x := newScale(Axis{Include: covers})
	var points []int
	for i, v := range values[:min(len(values), len(s.X))] {
		if x.holds(v) {
			points = append(points, i)
			x.cover(values[i:i+1], 0)
		}
	}
	if points == nil {
		return nil
	}
	x.coverOwn()
	x.Log = x.lo > 0 && x.hi > 30*x.lo
	x.finish(n, n, n)
	members := make([][]int, len(x.ticks)-1)
	for _, i := range points {
		k := sort.SearchFloat64s(x.ticks, values[i]) - 1
		k = max(0, min(k, len(members)-1))
		members[k] = append(members[k], i)
	}
	for k, at := range members {
		if at != nil {
			t := s.at(at)
			t.Name = x.label(x.ticks[k]) + " to " + x.label(x.ticks[k+1])
			t.Shade = shade(x, k)
			steps = append(steps, t)
		}
	}
	return steps
}

// shade is the larger the higher the step, 1 for the highest.
func (s scale) shade(k int) float64 { return float64(k+1) / float64(len(s.ticks)-1) }

// side is shade unless the scale has both signs. Then it has the sign of the step, and grows with the distance from 0.
func (s scale) side(k int) float64 {
	if !(s.lo < 0 && s.hi > 0) {
		return s.shade(k)
	}
	if end := s.ticks[k+1]; end > 0 {
		return end / max(-s.lo, s.hi)
	}
	return s.ticks[k] / max(-s.lo, s.hi)
}

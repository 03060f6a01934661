package datasets

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/mathext/prng"
)

// MNIST1D returns MNIST-1D, which is made, not read: 4,000 training and 1,000 test curves of 10 classes, Shape [40], Floats of
// mean 0 and variance 1. A curve is one of ten drawn by hand, at a random place, size and slope in noise. It is solved by
// convolutions (94 % in the paper), hardly by linear models (32 %).
//
// It is what the Python package mnist1d 0.0.2.post1 makes (make_dataset) with its own settings and the seed 42, from NumPy's
// random numbers: the same rows in the same order, each value the nearest float32. The file that the package downloads
// by default has not been compared.
//
// Source: S. Greydanus, D. Kobak, Scaling Down Deep Learning with MNIST-1D, 2024 (arXiv 2011.14439); the package has the
// Apache license.
func MNIST1D() *Dataset {
	const train, test, length = 4000, 1000, 40
	templates := mnist1DTemplates()
	rng := numpyRandom{src: prng.NewMT19937()}
	rng.src.Seed(42)
	var curves [][]float64
	for _, template := range templates {
		for range (train + test) / len(templates) {
			curves = append(curves, rng.curve(template, length))
		}
	}
	order := make([]int, len(curves))
	for i := range order {
		order[i] = i
	}
	for i := len(order) - 1; i > 0; i-- {
		j := rng.below(uint32(i + 1))
		order[i], order[j] = order[j], order[i]
	}
	all := make([]float64, 0, len(curves)*length)
	for _, i := range order {
		all = append(all, curves[i]...)
	}
	standardized(all)
	d := &Dataset{Name: "mnist-1d", Shape: []int{length}, Classes: len(templates)}
	for k, i := range order {
		s := &d.Train
		if k >= train {
			s = &d.Test
		}
		for _, v := range all[k*length : (k+1)*length] {
			s.Floats = append(s.Floats, float32(v))
		}
		s.Labels = append(s.Labels, int32(i/(len(curves)/len(templates))))
	}
	return d
}

// mnist1DTemplates returns the ten curves, [10, 12], which begin with 0.
func mnist1DTemplates() [][]float64 {
	templates := [][]float64{
		{5, 6, 6.5, 6.75, 7, 7, 7, 7, 6.75, 6.5, 6, 5},
		{5, 3, 3, 3.4, 3.8, 4.2, 4.6, 5, 5.4, 5.8, 5, 5},
		{5, 6, 6.5, 6.5, 6, 5.25, 4.75, 4, 3.5, 3.5, 4, 5},
		{5, 6, 6.5, 6.5, 6, 5, 5, 6, 6.5, 6.5, 6, 5},
		{5, 4.4, 3.8, 3.2, 2.6, 2.6, 5, 5, 5, 5, 5, 5},
		{5, 3, 3, 3, 3, 5, 6, 6.5, 6.5, 6, 4.5, 5},
		{5, 4, 3.5, 3.25, 3, 3, 3, 3, 3.25, 3.5, 4, 5},
		{5, 7, 7, 6.6, 6.2, 5.8, 5.4, 5, 4.6, 4.2, 5, 5},
		{5, 4, 3.5, 3.5, 4, 5, 5, 4, 3.5, 3.5, 4, 5},
		{5, 4, 3.5, 3.5, 4, 5, 5, 5, 5, 4.7, 4.3, 5},
	}
	for _, x := range templates {
		standardized(x)
		for i := len(x) - 1; i >= 0; i-- {
			x[i] = (x[i] - x[0]) / 6
		}
	}
	return templates
}

// standardized shifts and scales x to mean 0 and variance 1.
func standardized(x []float64) {
	n := float64(len(x))
	mean := pairwise(x) / n
	squares := make([]float64, len(x))
	for i, v := range x {
		squares[i] = (v - mean) * (v - mean)
	}
	sd := math.Sqrt(pairwise(squares) / n)
	for i, v := range x {
		x[i] = (v - mean) / sd
	}
}

// pairwise sums in NumPy's order.
func pairwise(x []float64) (sum float64) {
	if n := len(x); n > 128 {
		half := n / 2
		half -= half % 8
		return pairwise(x[:half]) + pairwise(x[half:])
	}
	if len(x) >= 8 {
		r := [8]float64(x)
		for x = x[8:]; len(x) >= 8; x = x[8:] {
			for i := range r {
				r[i] += x[i]
			}
		}
		sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
	}
	for _, v := range x {
		sum += v
	}
	return sum
}

// numpyRandom are the random numbers of NumPy's RandomState.
type numpyRandom struct {
	src   *prng.MT19937
	spare float64 // the second of two normal numbers, if ready
	ready bool
}

// uniform returns a number in [0, 1).
func (r *numpyRandom) uniform() float64 {
	a, b := r.src.Uint32()>>5, r.src.Uint32()>>6
	return (float64(a)*(1<<26) + float64(b)) / (1 << 53) // exact until the division
}

// below returns a whole number in [0, n), n > 1: bits, until they are one.
func (r *numpyRandom) below(n uint32) uint32 {
	mask := uint32(1)<<bits.Len32(n-1) - 1
	for {
		if v := r.src.Uint32() & mask; v < n {
			return v
		}
	}
}

// normals returns n numbers of N(0, scale²), by the polar method.
func (r *numpyRandom) normals(n int, scale float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		if r.ready {
			x[i], r.ready = scale*r.spare, false
			continue
		}
		a, b, square := 0., 0., 0.
		for square >= 1 || square == 0 {
			a, b = 2*r.uniform()-1, 2*r.uniform()-1
			square = float64(a*a) + float64(b*b)
		}
		f := math.Sqrt(-2 * math.Log(square) / square)
		x[i], r.spare, r.ready = scale*(f*b), f*a, true
	}
	return x
}

// curve returns a template with padding, stretched to 72 points, scaled, moved along, in noise, on a slope, and with n points in
// the end. Products are rounded before sums, so that no processor fuses the two.
func (r *numpyRandom) curve(template []float64, n int) []float64 {
	const points = 12 + 60
	x := make([]float64, len(template)+36+int(r.uniform()*25))
	for i, v := range template {
		x[i] = v + 1e-8
	}
	x = resampled(x, points)
	scale := 1 + float64(0.4*(r.uniform()-0.5))
	for i := range x {
		x[i] *= scale
	}
	k := int(r.below(48))
	x = append(x[points-k:points:points], x[:points-k]...)
	correlated, noise := blurred(r.normals(points, 0.25)), r.normals(points, 0.02)
	slope := 0.75 * (r.uniform() - 0.5)
	for i, t := range steps(-0.5, 0.5, points) {
		if x[i] == 0 {
			x[i] = correlated[i]
		}
		x[i] = x[i] + noise[i] - float64(slope*t)
	}
	return resampled(x, n)
}

// steps returns n numbers from a to b at equal distances.
func steps(a, b float64, n int) []float64 {
	x, step := make([]float64, n), (b-a)/float64(n-1)
	for i := range x {
		x[i] = float64(float64(i)*step) + a
	}
	x[n-1] = b
	return x
}

// resampled interpolates linearly between the values y at equal distances, to n of them.
func resampled(y []float64, n int) []float64 {
	at, to, j := steps(0, 1, len(y)), steps(0, 1, n), 0
	for i, t := range to {
		for j+1 < len(at) && at[j+1] <= t {
			j++
		}
		if at[j] == t {
			to[i] = y[j]
		} else {
			to[i] = float64((y[j+1]-y[j])/(at[j+1]-at[j])*(t-at[j])) + y[j]
		}
	}
	return to
}

// blurred convolves x with a Gaussian of standard deviation 2 up to a distance of 8; beyond the ends x is mirrored.
func blurred(x []float64) []float64 {
	const radius = 8
	var kernel [2*radius + 1]float64
	for i := range kernel {
		d := float64(i - radius)
		kernel[i] = math.Exp(-0.5 / 4 * d * d)
	}
	sum := pairwise(kernel[:])
	for i := range kernel {
		kernel[i] /= sum
	}
	at := func(i int) float64 {
		if i < 0 {
			i = -1 - i
		} else if i >= len(x) {
			i = 2*len(x) - 1 - i
		}
		return x[i]
	}
	y := make([]float64, len(x))
	for i := range y {
		y[i] = x[i] * kernel[radius]
		for d := radius; d > 0; d-- {
			y[i] += float64((at(i-d) + at(i+d)) * kernel[radius-d])
		}
	}
	return y
}

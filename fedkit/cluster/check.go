package cluster

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// largest bounds coordinates and distances, so that no sum of their squares overflows.
const largest = 1e100

func invalid(field string, value any, allowed string) error {
	return fmt.Errorf("cluster: %s = %v: must be %s", field, value, allowed)
}

// check refuses k < 1, and points that cannot be clustered.
func (p *Points) check(k int) error {
	if k < 1 {
		return invalid("k", k, "at least 1")
	}
	return p.finite()
}

// finite refuses an empty set of points, and values that are not finite or too large.
func (p *Points) finite() error {
	switch {
	case p.Len() < 1:
		return invalid("the number of points", 0, "at least 1")
	case p.x != nil:
		return finiteVectors(p.x)
	case p.distances != nil:
		return p.distances.check()
	}
	return p.finiteGram()
}

func finiteVectors(x *mat.Dense) error {
	for i := range x.RawMatrix().Rows {
		for j, v := range x.RawRowView(i) {
			if !(math.Abs(v) <= largest) {
				return invalid(fmt.Sprintf("feature %d of point %d", j, i), v, "a number, at most 1e100 in size")
			}
		}
	}
	return nil
}

func (d *Condensed) check() error {
	for i := range d.n {
		for o, v := range d.after(i) {
			if !(v >= 0 && v <= largest) {
				return invalid(fmt.Sprintf("the distance of points %d and %d", i, i+1+o), v, "a number in [0, 1e100]")
			}
		}
	}
	return nil
}

func (p *Points) finiteGram() error {
	g := p.gram.RawSymmetric()
	for i := range p.n {
		for o, v := range g.Data[i*g.Stride+i : i*g.Stride+p.n] {
			if !(math.Abs(v) <= largest*largest) {
				return invalid(fmt.Sprintf("the inner product of points %d and %d", i, i+o), v, "a number, at most 1e200 in size")
			}
		}
	}
	for i, v := range p.origin {
		if !(math.Abs(v) <= largest*largest) {
			return invalid(fmt.Sprintf("the inner product of point %d and the common part", i), v, "a number, at most 1e200 in size")
		}
	}
	if !(math.Abs(p.length) <= largest*largest) {
		return invalid("the squared length of the common part", p.length, "a number, at most 1e200 in size")
	}
	return nil
}

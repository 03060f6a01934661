package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// A Distribution draws one quantity of a device.
type Distribution interface {
	// Draw returns a number ≥ 0. It fails if a field is out of range.
	Draw(rng *rand.Rand) (float64, error)
}

// Constant is the same for all devices.
type Constant float64

// Draw returns the constant.
func (c Constant) Draw(*rand.Rand) (float64, error) {
	return float64(c), checkNumber("Constant", float64(c))
}

// String returns "0.01".
func (c Constant) String() string { return fmt.Sprintf("%v", float64(c)) }

// Uniform is drawn from [Low, High).
type Uniform struct {
	Low, High float64 // 0 ≤ Low ≤ High
}

// Draw returns Low + u·(High − Low), u ~ U[0, 1).
func (u Uniform) Draw(rng *rand.Rand) (float64, error) {
	if err := checkNumber("Uniform.Low", u.Low); err != nil {
		return 0, err
	}
	if !(u.High >= u.Low && u.High <= math.MaxFloat64) {
		return 0, invalid("Uniform.High", u.High, fmt.Sprintf("a number ≥ %v, which is Low", u.Low))
	}
	return u.Low + rng.Float64()*(u.High-u.Low), nil
}

// String returns "0.01 to 0.1".
func (u Uniform) String() string { return fmt.Sprintf("%v to %v", u.Low, u.High) }

// LogNormal has a normal logarithm: Median·exp(Sigma·z), z ~ N(0, 1). Measured speeds and rates of phones look like this.
type LogNormal struct {
	Median float64 // half of the devices are above it
	Sigma  float64 // σ ≥ 0 of the logarithm; at 1, one device in six has e times the median or more
}

// Draw returns Median·exp(Sigma·z).
func (l LogNormal) Draw(rng *rand.Rand) (float64, error) {
	if err := checkNumber("LogNormal.Median", l.Median); err != nil {
		return 0, err
	}
	return l.Median * math.Exp(l.Sigma*rng.NormFloat64()), checkNumber("LogNormal.Sigma", l.Sigma)
}

// String returns "log-normal, median 0.01, σ = 1".
func (l LogNormal) String() string {
	return fmt.Sprintf("log-normal, median %v, σ = %v", l.Median, l.Sigma)
}

// TwoClasses is one of two values. Quantities are independent; for devices that are slow in all respects, see Mixed.
type TwoClasses struct {
	Fast, Slow float64 // the two values
	Share      float64 // probability of Slow, in [0, 1]
}

// Draw returns Slow with probability Share, and Fast otherwise.
func (c TwoClasses) Draw(rng *rand.Rand) (float64, error) {
	if err := checkNumber("TwoClasses.Fast", c.Fast); err != nil {
		return 0, err
	}
	if err := checkNumber("TwoClasses.Slow", c.Slow); err != nil {
		return 0, err
	}
	if !(c.Share >= 0 && c.Share <= 1) {
		return 0, invalid("TwoClasses.Share", c.Share, "in [0, 1]")
	}
	if rng.Float64() < c.Share {
		return c.Slow, nil
	}
	return c.Fast, nil
}

// String returns "0.01, or 0.1 for 20 %".
func (c TwoClasses) String() string {
	return fmt.Sprintf("%v, or %v for %v %%", c.Fast, c.Slow, math.Round(1e4*c.Share)/100)
}

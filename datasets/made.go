package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

// random returns the generator for one purpose ("synthetic client") and client of a data set that is made: what one
// client draws does not depend on the others.
func random(seed uint64, purpose string, client int) *rand.Rand {
	b := binary.LittleEndian.AppendUint64(nil, seed)
	b = binary.LittleEndian.AppendUint64(b, uint64(client))
	return rand.New(rand.NewChaCha8(sha256.Sum256(append(b, purpose...))))
}

// normals returns n draws from N(mean, sd²).
func normals(rng *rand.Rand, n int, mean, sd float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = mean + sd*rng.NormFloat64()
	}
	return x
}

// option is one option of a data set that is made, in the form errors show it.
type option struct {
	name  string
	value float64
	least float64 // allowed
}

// checkOptions reports the first option of what that is not a finite number, or too small.
func checkOptions(what string, options ...option) error {
	for _, o := range options {
		if math.IsInf(o.value, 1) {
			return fmt.Errorf("datasets: %s: %s = %v: must be finite", what, o.name, o.value)
		}
		if !(o.value >= o.least) {
			return fmt.Errorf("datasets: %s: %s = %v: must be at least %v", what, o.name, o.value, o.least)
		}
	}
	return nil
}

// A data set that is made has at most so many values, and an optimum at most so many parameters, whose square is held.
const (
	maxValues     = 1 << 31
	maxParameters = 10_000
)

// checkSize reports a product of options that is too large; name writes it out.
func checkSize(what, name string, most float64, factors ...int) error {
	product := 1.0
	for _, f := range factors {
		product *= float64(f)
	}
	if product > most {
		return fmt.Errorf("datasets: %s: %s = %v: must be at most %v", what, name, product, most)
	}
	return nil
}

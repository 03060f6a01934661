package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"fedkit.example/fedkit/config"
)

// random returns the generator for one purpose ("synthetic client") and client of a synthetic data set: what one client
// draws does not depend on the others.
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

// inRange refuses a field outside the range of its tag.
func inRange(what string, of any) error {
	err := config.CheckRanges(of)
	if err != nil {
		err = fmt.Errorf("datasets: %s: %s", what, strings.TrimPrefix(err.Error(), "invalid: "))
	}
	return err
}

// maxValues limits the values of a data set that is made or read.
const maxValues = 1 << 31

// checkSize reports a product of options that is too large; name is the product in words.
func checkSize(what, name string, factors ...int) error {
	product := 1.0
	for _, f := range factors {
		product *= float64(uint(f)) // an overflowed sum is large, too
	}
	if product > maxValues {
		return fmt.Errorf("datasets: %s: %s = %v: must be at most %v", what, name, product, float64(maxValues))
	}
	return nil
}

// finite returns the data set, or an error if options near the largest number have made values that float32 cannot hold.
func (d *Dataset) finite() (*Dataset, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	return d, nil
}

// part returns the training or the test part.
func (d *Dataset) part(train bool) *Split {
	if train {
		return &d.Train
	}
	return &d.Test
}

// addLabeled appends one example of an owner.
func (s *Split) addLabeled(x []float64, label, owner int) {
	for _, v := range x {
		s.Floats = append(s.Floats, float32(v))
	}
	s.Labels = append(s.Labels, int32(label))
	s.Owner = append(s.Owner, int32(owner))
}

package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"fedkit.example/datasets/regression"
	"fedkit.example/fedkit/config"
	"gonum.org/v1/gonum/mat"
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

// Limits: the values of a synthetic data set, and the parameters of an optimum, whose square is kept in memory.
const (
	maxValues     = 1 << 31
	maxParameters = 10_000
)

// checkSize reports a product of options that is too large; name is the product in words.
func checkSize(what, name string, most float64, factors ...int) error {
	product := 1.0
	for _, f := range factors {
		product *= float64(uint(f)) // an overflowed sum is large, too
	}
	if product > most {
		return fmt.Errorf("datasets: %s: %s = %v: must be at most %v", what, name, product, most)
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

// Optimum is the minimum of the objective of a synthetic data set,
//
//	F(w) = Σ_i (n_i/N) f_i(w) = the mean loss of all N training examples (+ (λ/2)‖w‖²),
//
// where f_i is the mean loss of client i's n_i examples: the objective of federated averaging over all clients. It is
// computed in float64 from the float32 values of the data set.
type Optimum struct {
	W    []float64 // [d], in the order of the model's parameters: weights [f] or [f, classes], then the bias or biases
	Loss float64   // F(W)

	gap func(w []float64) float64
}

// Gap returns the optimality gap F(w) − F(W) ≥ 0 of the parameters w [d] of a model. It is computed in float64, with far
// more digits than a float32 loss has.
func (o *Optimum) Gap(w []float32) (float64, error) {
	if o == nil || o.gap == nil {
		return 0, errors.New("datasets: Optimum.Gap: the optimum is not one that Make returned")
	}
	if len(w) != len(o.W) {
		return 0, fmt.Errorf("datasets: Optimum.Gap: w has %d values: must have %d", len(w), len(o.W))
	}
	wide := make([]float64, len(w))
	for i, v := range w {
		wide[i] = float64(v)
	}
	return max(0, o.gap(wide)), nil
}

// problem returns the regression of rows with f features on the targets or, with several outputs, on the labels.
func problem(s *Split, f, outputs int, l2 float64) *regression.Problem {
	of := &regression.Problem{X: mat.NewDense(s.Len(), f+1, nil), K: outputs, Labels: outputs > 1, L2: l2}
	for i := range s.Len() {
		row := of.X.RawRowView(i)
		for j, v := range s.Floats[i*f : (i+1)*f] {
			row[j] = float64(v)
		}
		if row[f] = 1; of.Labels {
			of.Y = append(of.Y, float64(s.Labels[i]))
		} else {
			of.Y = append(of.Y, float64(s.Targets[i]))
		}
	}
	return of
}

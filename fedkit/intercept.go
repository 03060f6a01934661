package fedkit

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/fault"
)

// Interceptor stands between the clients and the server: it sees what the clients return, and says what arrives. Attacks
// are made of it, and so is noise.
type Interceptor interface {
	// Intercept returns what arrives instead of u.Models, [n, d]; all randomness comes from rng.
	Intercept(u *Updates, rng *rand.Rand) *Matrix
	// String describes it in a few words, for histories.
	String() string
}

// nobody stands for an interceptor that has no description: one that is nil, or whose String panics.
type nobody struct{ err error }

func (nobody) Intercept(u *Updates, _ *rand.Rand) *Matrix { return u.Models }
func (nobody) String() string                             { return "nil" }
func (n nobody) Check(*Federation, int) error             { return n.err }

// Intercept returns the same federation with one more interceptor, after those it has. The two share the data on the device and
// the programs compiled for it. A run on the federation refuses a nil interceptor, one whose String panics, and a federation that
// was not made by New.
func (f *Federation) Intercept(by Interceptor) *Federation {
	if f == nil {
		return nil
	}
	words, err := describeInterceptor(by)
	if err != nil {
		by = nobody{err}
	}
	g := *f
	g.Rule, g.interceptors = f.Rule+"; "+words, append(slices.Clone(f.interceptors), by)
	return &g
}

func describeInterceptor(by Interceptor) (words string, err error) {
	defer fault.Recovered("interceptor", &err)
	if by == nil || isNil(reflect.ValueOf(by)) {
		return "nil", Invalid("interceptor", "nil", "a fedkit.Interceptor")
	}
	return by.String(), nil
}

// WithData returns the same federation on other data of the same shape, such as a copy with labels changed; note says
// what differs, for histories. Errors: a federation that was not made by New, data that do not fit.
func (f *Federation) WithData(d *datasets.Dataset, note string) (*Federation, error) {
	if err := f.made(); err != nil {
		return nil, fmt.Errorf("fedkit: with data: %w", err)
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	if !slices.Equal(d.Shape, f.Data.Shape) || d.Classes != f.Data.Classes || d.Train.Len() != f.Data.Train.Len() || d.Test.Len() != f.Data.Test.Len() {
		return nil, Invalid("data", fmt.Sprintf("%v, %d classes, %d and %d examples", d.Shape, d.Classes, d.Train.Len(), d.Test.Len()),
			fmt.Sprintf("like the federation's: %v, %d classes, %d and %d examples", f.Data.Shape, f.Data.Classes, f.Data.Train.Len(), f.Data.Test.Len()))
	}
	g := *f
	g.Rule, g.Data, g.lazy = f.Rule+"; "+note, d, newLazyEngine(f.lazy.rows)
	if f.Unseen != nil {
		unseen := *f.Unseen
		unseen.Data, unseen.lazy, unseen.origin = d, g.lazy, originOf(d, unseen.Clients, g.Task)
		g.Unseen = &unseen
	}
	g.manifest, g.origin = g.manifestOf(), originOf(d, g.Clients, g.Task)
	return &g, nil
}

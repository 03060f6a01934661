package fedkit

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/fault"
)

// Interceptor changes updates between the clients and the server, as an attack or added noise does.
type Interceptor interface {
	// Intercept returns what the server receives instead of u.Models, [n, d]; all randomness must come from rng.
	Intercept(u *Updates, rng *rand.Rand) *Matrix
	// String describes it in a few words, for histories.
	String() string
}

// invalidInterceptor takes the place of an invalid interceptor, nil or with a String that panics, until a run reports err.
type invalidInterceptor struct{ err error }

func (invalidInterceptor) Intercept(u *Updates, _ *rand.Rand) *Matrix { return u.Models }
func (invalidInterceptor) String() string                             { return "nil" }
func (n invalidInterceptor) Check(*Federation, int) error             { return n.err }

// Intercept returns the same federation with one more interceptor, after those it has. The two share the data on the device and
// the compiled programs. Run refuses a nil interceptor, one whose String panics, and a federation that was not made by New.
func (f *Federation) Intercept(by Interceptor) *Federation {
	if f == nil {
		return nil
	}
	words, err := describeInterceptor(by)
	if err != nil {
		by = invalidInterceptor{err}
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

// WithData returns the same federation on other data of the same shape, such as a copy with changed labels; note describes the
// difference in histories. Errors: a federation that was not made by New, data that do not fit.
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

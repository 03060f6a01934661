package compare

import (
	"cmp"
	"fmt"
	"slices"
)

// Basis is the kind of scores that runs are compared by.
type Basis int

const (
	GlobalModel Basis = iota // scores of the one global model
	OwnModels                // means over the clients, each under the model it uses
)

// Name is short enough for a label: "global", "clients' own".
func (b Basis) Name() string { return []string{"global", "clients' own"}[b&1] }

// String says what scores are of: "of the global model".
func (b Basis) String() string {
	return []string{"of the global model", "of the clients' models (mean)"}[b&1]
}

// Points returns a run's scores.
func (b Basis) Points(r *Run) []Point {
	r = cmp.Or(r, &Run{})
	if b == GlobalModel {
		return r.Global
	}
	return r.Own
}

// Other returns the other basis.
func (b Basis) Other() Basis { return 1 - b&1 }

// CommonBasis is the global model if every run has one, else the mean over the clients' own models.
//
// Errors: one run has only a global model, and another only the clients' own; one is a regression, and another is not.
func CommonBasis(all []*Run) (Basis, error) {
	all = followed(all)
	if a := slices.IndexFunc(all, (*Run).regression); a >= 0 {
		if b := slices.IndexFunc(all, func(r *Run) bool { return r.evaluated() && !r.regression() }); b >= 0 {
			return 0, fmt.Errorf("history %q is a regression, which has R², and %q has an accuracy: they cannot be compared", all[a].Name, all[b].Name)
		}
	}
	noGlobal := slices.IndexFunc(all, func(r *Run) bool { return len(r.Global) == 0 })
	if noGlobal < 0 {
		return GlobalModel, nil
	}
	if i := slices.IndexFunc(all, func(r *Run) bool { return len(r.Own) == 0 }); i >= 0 {
		return 0, fmt.Errorf("history %q has only a global model and %q only the clients' own: they cannot be compared",
			all[i].Name, all[noGlobal].Name)
	}
	return OwnModels, nil
}

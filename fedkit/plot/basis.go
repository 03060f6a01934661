package plot

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
)

// basis is what histories can be compared by.
type basis struct {
	name   string // of a curve: "FedPRISM, global"
	of     string // axis title: "accuracy of the global model" has of = "of the global model"
	points func(*track) []point
}

var (
	globalModel = basis{"global", "of the global model", func(t *track) []point { return t.global }}
	ownModels   = basis{"clients' own", "of the clients' models (mean)", func(t *track) []point { return t.own }}
)

// commonBasis is the global model if every run has one, else the mean over the clients' own models.
func commonBasis(all []*track) (basis, error) {
	noGlobal := slices.IndexFunc(all, func(t *track) bool { return len(t.global) == 0 })
	if noGlobal < 0 {
		return globalModel, nil
	}
	if i := slices.IndexFunc(all, func(t *track) bool { return len(t.own) == 0 }); i >= 0 {
		return basis{}, fmt.Errorf("history %q has only a global model and %q only the clients' own: they cannot be compared",
			all[i].name, all[noGlobal].name)
	}
	return ownModels, nil
}

// compared is evaluated, with what the histories can be compared by.
func compared(h []*fedkit.History) ([]*track, basis, error) {
	all, err := evaluated(h)
	if err != nil {
		return nil, basis{}, err
	}
	b, err := commonBasis(all)
	return all, b, err
}

// other is the other basis.
func (b basis) other() basis {
	if b.name == globalModel.name {
		return ownModels
	}
	return globalModel
}

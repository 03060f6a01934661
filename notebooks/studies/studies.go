// Package studies has the studies of the notebooks' full parts: which algorithms run, in which federations, with which options and
// seeds. There is a file for each notebook. Its cells draw what has been computed,
//
//	studies.Full("08_fedprism").Draw(func(runs study.Runs) { … })
//
// and ./scripts/study 08_fedprism computes what is missing. No data are loaded before a run needs them.
package studies

import (
	"iter"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/study"
)

// All are the studies, by the names of their notebooks.
var All = []struct {
	Name string
	Plan func() study.Plan
}{
	{"08_fedprism", FedPRISM},
}

// The data sets of most studies.
const (
	mnist  = datasets.Name("mnist")
	cifar  = datasets.Name("cifar-10")
	digits = datasets.Name("digits")
)

// named is a strategy with the name of its runs.
type named struct {
	name     string
	strategy fedkit.Strategy
}

// list is a study that is being written down.
type list study.Plan

// add adds a run. Labels are pairs of a key and a value.
func (l *list) add(w study.World, name string, s fedkit.Strategy, o fedkit.Options, seed uint64, labels ...any) {
	o.Name, o.Seed = name, seed
	*l = append(*l, &study.Trial{World: w, Strategy: s, Options: o, Labels: labels})
}

// seeds are 1 to n.
func seeds(n uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for seed := uint64(1); seed <= n && yield(seed); seed++ {
		}
	}
}

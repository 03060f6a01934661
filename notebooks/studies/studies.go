// Package studies has the studies of the notebooks' full parts: which algorithms run, in which federations, with which options and
// seeds. There is a file for each notebook. Its cells draw what has been computed,
//
//	studies.Full("08_fedprism").Draw(func(runs study.Runs) { … })
//
// and ./scripts/study 08_fedprism computes what is missing. No data are loaded before a run needs them.
package studies

import (
	"cmp"
	"iter"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/study"
)

// All are the studies, by the names of their notebooks. First are the parts that complete a table or five seeds soonest.
var All = []study.Named{
	{Name: "01_fedavg", Plan: FedAvg},
	{Name: "03_server_optimizers", Plan: ServerOptimizers},
	{Name: "03_clients", Plan: ClientOptimizers},
	{Name: "04_robust", Plan: Robust},
	{Name: "05_client_drift", Plan: ClientDrift},
	{Name: "05_stragglers", Plan: Stragglers},
	{Name: "06_personal", Plan: Personal},
	{Name: "07_smart_selection", Plan: SmartSelection},
	{Name: "07_decisions", Plan: Decisions},
	{Name: "08_fedprism", Plan: FedPRISM},
	{Name: "09_fedclust", Plan: FedClust, First: []string{"paper, 40 rounds"}},
	{Name: "10_adaptive_clustering", Plan: AdaptiveClustering},
	{Name: "11_ifca", Plan: IFCA, First: []string{"m = 4800"}},
	{Name: "12_fedcluster", Plan: FedCluster},
	{Name: "13_fedsc", Plan: FedSC},
	{Name: "14_fedac", Plan: FedAC},
	{Name: "15_which_clustering", Plan: WhichClustering},
	{Name: "15_cfla", Plan: CFLA},
	{Name: "16_ccfl", Plan: CCFL},
	{Name: "17_fedeff", Plan: FedEff},
	{Name: "19_machines", Plan: Machines, Live: true},
	{Name: "20_compare_all", Plan: CompareAll},
	{Name: "20_long", Plan: Long},
	{Name: "20_tuning", Plan: Tuning, Ends: true},
	{Name: "22_models", Plan: Models},
	{Name: "22_speed", Plan: Speed, First: []string{"cifar-10"}},
	{Name: "23_text", Plan: Text},
}

// Full returns what has been computed of the study of this name: see study.Full. There are no runs of a name that is not in All; the
// command that Found.String names says which ones are.
func Full(name string) *study.Found {
	for _, s := range All {
		if s.Name == name {
			return study.Full(name, s.Plan())
		}
	}
	return study.Full(name, nil)
}

// The data sets of most studies.
const (
	mnist  = datasets.Name("mnist")
	cifar  = datasets.Name("cifar-10")
	digits = datasets.Name("digits")
)

// totals keeps no scores and results per client in the history.
var totals = fedkit.Keep{Scores: fedkit.Never, Results: fedkit.Never}

// named is a strategy with the name of its runs.
type named struct {
	name     string
	strategy fedkit.Strategy
}

// list is a study that is being written down.
type list study.Plan

// add adds a run. Labels are pairs of a key and a value.
func (l *list) add(w study.World, s named, o fedkit.Options, seed uint64, labels ...any) {
	o.Name, o.Seed = s.name, seed
	*l = append(*l, &study.Trial{World: w, Strategy: s.strategy, Options: o, Labels: labels})
}

// seeds are 1 to n.
func seeds(n uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for seed := uint64(1); seed <= n && yield(seed); seed++ {
		}
	}
}

// zero is x, or fedkit.Zero: in the options that it is for, 0 stands for a default.
func zero(x float64) float64 { return cmp.Or(x, fedkit.Zero) }

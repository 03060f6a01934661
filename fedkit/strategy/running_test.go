package strategy_test

import (
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// A strategy that does not average models would make running values that no data has: it is refused by field, before round 1.
// Those that average keep variances positive.
func TestRunningValues(t *testing.T) {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 4}, model.BatchNormMLP(4)))
	since := ": must be one that averages the clients' models, since bn1/mean of BN-MLP-4 is a running value"
	for want, s := range map[string]fedkit.Strategy{
		"FedOpt: invalid: Server.LR = 1.5":         &strategy.FedOpt{Server: server.SGD{LR: 1.5}},
		"FedAvgM: invalid: Server = server.Moment": &strategy.FedAvgM{},
		"FedAdagrad: invalid: Server = server.Ada": &strategy.FedAdagrad{},
		"FedAdam: invalid: Server = server.Adam":   &strategy.FedAdam{},
		"FedYogi: invalid: Server = server.Yogi":   &strategy.FedYogi{},
		"FedOpt: invalid: Server = server.AMSGrad": &strategy.FedOpt{Server: server.AMSGrad{}},
		"SCAFFOLD: invalid: Server = server.Adam":  &strategy.SCAFFOLD{Server: server.Adam{}},
		"FedSGD: invalid: LR = 2":                  &strategy.FedSGD{LR: 2},
		"IFCA: invalid: Gamma = 2":                 &strategy.IFCA{Gradients: true, Gamma: 2},
		"FedSC: invalid: Eta = 2":                  &strategy.FedSC{Parallel: true, Eta: 2},
		"AdaptiveClustering: invalid: AsPublished": &strategy.AdaptiveClustering{AsPublished: true},
		"FedSplit: invalid: strategy = FedSplit":   &strategy.FedSplit{},
		"FedPRISM: invalid: strategy = FedPRISM":   &strategy.FedPRISM{},
		"FedBuff: invalid: strategy = FedBuff":     &strategy.FedBuff{},
		"CCFL: invalid: strategy = CCFL":           &strategy.CCFL{},
		"FedAsync: invalid: Updates = true":        &strategy.FedAsync{Updates: true},
	} {
		expect.Invalid(t, want, since)(fedkit.Describe(fed, s, fedkit.Options{Rounds: 1}))
	}
	local := fedkit.Local{Batch: 16, LR: 0.1}
	avg, scaffold := &strategy.FedAvg{Local: local}, &strategy.SCAFFOLD{Local: local}
	for s, x := range map[fedkit.Strategy]func() *fedkit.Matrix{avg: func() *fedkit.Matrix { return avg.X }, scaffold: func() *fedkit.Matrix { return scaffold.State.X }} {
		run(t, fed, s, fedkit.Options{Rounds: 3, EvalEvery: 3})
		w, variance := must.M1(x().Host()), must.M1(fed.Task.Mask("bn1/variance"))
		for j := range w {
			if variance[j] == 1 && !(w[j] > 0 && w[j] != 1) {
				t.Errorf("%T: a running variance is %v after three rounds", s, w[j])
			}
		}
	}
}

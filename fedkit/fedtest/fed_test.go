package fedtest_test

import (
	"fmt"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"github.com/janpfeifer/must"
)

// few are 30 digits of each of four clients.
func few(m fedkit.Model) *fedkit.Federation {
	return must.M1(fedkit.New(datasets.Digits(), partition.Take{Of: partition.IID{Clients: 4, Seed: 1}, Train: 30, Test: 20}, m))
}

// Flaws are found on any federation too, even if another suite has compiled their programs before.
func TestSuiteOnAnyFederation(t *testing.T) {
	expect.Long(t, "one run after the other")
	fed := few(model.LogisticRegression())
	timed := must.M1(fed.WithDevices(sim.Devices{PerExample: sim.Constant(0.01)}))
	local := fedkit.Local{Steps: 5, Batch: 8, LR: 0.05}
	for _, c := range []struct {
		suite      fedtest.Suite
		flaw, want string
	}{
		{fedtest.Suite{}, "", ""},
		{fedtest.Suite{Loss: 0.1}, "", "learns: the loss is"},
		{fedtest.Suite{Loss: 1.9, Rounds: 60}, "", ""},
		{fedtest.Suite{}, "frozen", "after 20 rounds, want < 2.3"},
		{fedtest.Suite{}, "compiles", "compilations: 5 programs were compiled after round 1"},
		{fedtest.Suite{}, "compiles", "compilations: 5 programs were compiled after round 1"},
		{fedtest.Suite{Fed: must.M1(fed.HoldOut(1, 1))}, "lost", "unseen clients: the loss of unseen client 0 is NaN"},
		{fedtest.Suite{Fed: timed}, "", ""},
		{fedtest.Suite{NoClock: true}, "", "clock: on devices: <nil>, want an error"},
	} {
		if c.suite.Fed == nil {
			c.suite.Fed = fed
		}
		expect.Outcome(t, c.want)(c.suite.Test(&partway{Fraction: 0.5, Local: local, flaw: c.flaw}))
	}
}

// An image model on a few digits.
func ExampleSuite_Test() {
	s := fedtest.Suite{Fed: few(model.LogisticRegression()), Loss: 2, Rounds: 40}
	fmt.Println(s.Test(&partway{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}}))
	// Output: <nil>
}

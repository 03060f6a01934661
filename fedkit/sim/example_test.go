package sim_test

import (
	"fmt"
	"strings"

	"fedkit.example/fedkit/sim"
)

func ExampleDevices() {
	rule := sim.Devices{
		PerExample: sim.LogNormal{Median: 0.01, Sigma: 1},
		Up:         sim.Uniform{Low: 1e5, High: 1e6},
		Latency:    sim.Constant(0.05),
		Seed:       1,
	}
	devices, err := rule.Draw(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rule)
	for i, d := range devices {
		fmt.Printf("client %d: %.1f s for 600 examples, %.1f s to send 1 MB\n", i, d.Compute(600, 0), d.Send(1e6))
	}
	// Output:
	// s per example log-normal, median 0.01, σ = 1, bytes/s up 100000 to 1e+06, s latency 0.05, seed 1
	// client 0: 5.0 s for 600 examples, 1.3 s to send 1 MB
	// client 1: 4.4 s for 600 examples, 4.1 s to send 1 MB
	// client 2: 74.0 s for 600 examples, 1.2 s to send 1 MB
}

func ExampleMixed() {
	phone := sim.Devices{PerExample: sim.Constant(0.1), Up: sim.Constant(1e5)}
	computer := sim.Devices{PerExample: sim.Constant(0.01), Up: sim.Constant(1e7)}
	rule := sim.Mixed{Classes: []sim.Class{{Share: 0.6, Of: phone}, {Share: 0.4, Of: computer}}}
	devices, err := rule.Draw(5)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, d := range devices {
		fmt.Printf("client %d: %v s per example\n", i, d.PerExample)
	}
	// Output:
	// client 0: 0.01 s per example
	// client 1: 0.1 s per example
	// client 2: 0.01 s per example
	// client 3: 0.1 s per example
	// client 4: 0.1 s per example
}

func ExampleReadTrace() {
	devices, err := sim.ReadTrace(strings.NewReader(`per_example,up,on
0.02,2e5,0:28800 86400:115200
0.15,1e5,28800:57600
0.01,1e7,always
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, d := range devices {
		fmt.Printf("client %d: work of an hour that begins at second 28000 ends at %v\n", i, d.On.Finish(28000, 3600))
	}
	// Output:
	// client 0: work of an hour that begins at second 28000 ends at 89200
	// client 1: work of an hour that begins at second 28000 ends at 32400
	// client 2: work of an hour that begins at second 28000 ends at 31600
}

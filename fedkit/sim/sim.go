// Package sim describes the clients' devices for runs in simulated time: compute speed, bandwidth, availability and
// dropout. Nothing here sleeps or reads a clock.
//
//	devices     Devices draws each quantity independently, Mixed has classes, Trace reads a file; Given, by hand
//	quantities  Constant, Uniform, LogNormal, TwoClasses
//	events      Queue
//
// A rule is written as a literal. The same rule and seed give everyone the same devices.
//
//	sim.Devices{PerExample: sim.LogNormal{Median: 0.01, Sigma: 1}, Up: sim.Uniform{Low: 1e5, High: 1e6}, Seed: 1}
//
// Times are in seconds, sizes in bytes and rates in bytes per second.
package sim

// A Rule draws the devices of a federation's clients.
type Rule interface {
	// Draw returns n devices, that of client i at i. The same rule (with the same Seed) gives the same devices every time.
	Draw(n int) ([]Device, error)
	// String describes the rule in a few words.
	String() string
}

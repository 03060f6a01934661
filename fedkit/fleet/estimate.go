package fleet

import (
	"cmp"
	"math"

	"fedkit.example/fedkit/config"
)

// Estimate predicts the cost of a round on a fleet by formula: how many workers pay off, and what limits them. A round has G
// calls of t seconds, each with b bytes of its own arguments; a model has d parameters. W workers have S slots each, and the hub
// runs beside the notebook, behind a link of B bytes per second.
//
//	Seconds(W) = max(chain, work, notebook, link)
//	chain      = o + 5 L + G c + ⌈G / (W S)⌉ t + (sent + received) / P + (up + received) / B
//	work       = R G t / (W S)
//	notebook   = R (G c + (sent + received) / P)
//	link       = R max(up, received) / B
//
//	sent       = 4 d k + G (b + 1300)           from the notebook to the hub
//	received   = G (4 d k + 550)                from the hub to the notebook
//	up         = min(W, G) 4 d k + G (b + 1300) from the hub to the workers
//
// If there are at most two calls, models travel with each of them: sent and up have 2 · 4 d k.
//
// The steps of one run follow each other: models are sent, clients train, and only then are means taken. That critical path is
// the chain. R runs that share the fleet fill each other's gaps, until workers, notebook or link are saturated. So one run is
// never faster than its chain, and gains nothing from more than G / S workers.
//
// The largest terms are counted, not fitted: a model is 4 d bytes, goes to each worker once per round, and one mean per call
// comes back, however many clients the call trained. Left out are one-time costs (programs, the data), evaluations, heartbeats
// (0.7 kB per second and worker), and strategies that need the rows of all clients, which receive 4 d n bytes instead.
type Estimate struct {
	Calls     int     // G, per round: groups of clients that train side by side. Required
	Seconds   float64 // t, of one call in a slot of a worker. Measure it in a process with the worker's processors
	Params    int     // d
	Models    int     // k, initial models sent, and means taken. Default 1
	Arguments float64 // b, bytes of a call's own arguments: 4 for each example of each epoch, in rows of batches
	Slots     int     // S, calls that a worker runs at once. Default 1
	Runs      int     // R, concurrent runs. Default 1

	Rate    float64 // B, bandwidth of the hub's link each way, bytes/s. Default no limit
	Latency float64 // L, round-trip time from the hub to a worker, s. Five times per round: to find and to fetch the model, for call, answer and mean

	// Overheads. By default a round and a call take twice what ./scripts/bench fleet measured, to be on the safe side.
	PerRound   float64 `default:"0.005"` // o, s
	PerCall    float64 `default:"0.001"` // c, s
	Throughput float64 `default:"200e6"` // P, throughput of notebook and hub without any network, bytes/s
}

// Bytes of a call that are neither batches nor models: names, shapes, numbers per client, overhead of NATS.
const (
	sentWith     = 1300
	receivedWith = 550
)

// Sent returns the bytes per round and run from the notebook to the hub: Fleet.Bytes counts them.
func (e Estimate) Sent() float64 { return e.Up(1) }

// Received returns the bytes per round and run from the hub to the notebook: Fleet.Bytes counts them.
func (e Estimate) Received() float64 { return e.calls() * (e.models() + receivedWith) }

// Up returns the bytes per round and run from the hub to n workers. They send it as many as Received.
func (e Estimate) Up(n int) float64 {
	models := min(float64(n), e.calls())
	if e.Calls <= 2 {
		models = e.calls()
	}
	return models*e.models() + e.calls()*(e.Arguments+sentWith)
}

// Round returns the seconds that n workers take for one round of every run.
func (e Estimate) Round(n int) float64 {
	e = config.Defaults(e)
	slots, runs := float64(n*max(1, e.Slots)), float64(max(1, e.Runs))
	calls := e.calls() * e.PerCall
	passing := (e.Sent() + e.Received()) / e.Throughput
	rate := cmp.Or(e.Rate, math.Inf(1))
	chain := e.PerRound + 5*e.Latency + calls + math.Ceil(e.calls()/slots)*e.Seconds + passing + (e.Up(n)+e.Received())/rate
	return max(chain, runs*e.calls()*e.Seconds/slots, runs*(calls+passing), runs*max(e.Up(n), e.Received())/rate)
}

// Alone returns the seconds that a process like one worker takes for one round of every run, without a fleet: R G t / S, or ⌈G /
// S⌉ t if that is more.
func (e Estimate) Alone() float64 {
	slots := float64(max(1, e.Slots))
	return e.Seconds * max(math.Ceil(e.calls()/slots), float64(max(1, e.Runs))*e.calls()/slots)
}

// Speedup returns Alone() / Round(n).
func (e Estimate) Speedup(n int) float64 { return e.Alone() / e.Round(n) }

func (e Estimate) calls() float64 { return float64(e.Calls) }

// models returns the bytes of k models.
func (e Estimate) models() float64 { return 4 * float64(e.Params) * float64(max(1, e.Models)) }

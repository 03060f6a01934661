package fedkit

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"fedkit.example/fedkit/sim"
)

// Cloud is the server as an end of a link: see Round.Send.
const Cloud = -1

// Edge returns edge server e, from 0, as an end of a link: see Round.Send.
func Edge(e int) int { return -2 - e }

// WithEdges returns the same federation with devices for n edge servers, drawn by the rule: on a federation with devices, messages
// from and to them take their time too (see Round.Send). Only their rates, latency and hours count. Edges beyond n, all of them by
// default, have no limits.
func (f *Federation) WithEdges(n int, rule sim.Rule) (*Federation, error) {
	fail := func(err error) (*Federation, error) { return nil, fmt.Errorf("fedkit: edges: %w", err) }
	if err := f.made(); err != nil {
		return fail(err)
	}
	if n < 1 {
		return fail(Invalid("n", n, "at least 1"))
	}
	if rule == nil {
		return fail(Invalid("rule", "nil", "a sim.Rule"))
	}
	if err := checkNils("rule", rule); err != nil {
		return fail(err)
	}
	edges, words, err := drawDevices(rule, n)
	if err != nil {
		return fail(err)
	}
	g := *f
	g.edges, g.Rule = edges, fmt.Sprintf("%s; %d edges: %s", f.Rule, n, words)
	return &g, nil
}

// Send sends models over links between clients, edge servers and the cloud: message k is from from[k] to to[k], which are clients, an
// Edge or Cloud, and has that many models of Task.Bytes bytes, or a part of one. A single end stands for as many as the others are.
//
//	r.Send([]int{0, 1, 2}, []int{1, 2, 0}, 1)                             // around a ring of three clients
//	r.Send([]int{fedkit.Cloud}, []int{fedkit.Edge(0), fedkit.Edge(1)}, 1) // to two edges
//
// Bytes are counted in Record.Links by the kinds of the ends, such as "client_to_edge"; those between Cloud and clients in BytesDown
// and BytesUp. A client that has no frozen parameters yet receives them too. To train models that travel this way, set Job.Relayed.
//
// On the simulated clock, the messages of one call travel at the same time. An end sends its own one after another, once it has done
// what it did before, and receives one after another: one message takes the longer of the sender's and the receiver's time. An end has
// what it receives, and goes on, when all senders have sent all of their messages and it has had the time to receive all of its. The
// round ends when all ends are done.
func (r *Round) Send(from, to []int, models float64) {
	defer r.restoreStage(r.stage)
	if !r.enter("send") || r.quiet {
		return
	}
	switch {
	case len(from) == 1:
		from = slices.Repeat(from, len(to))
	case len(to) == 1:
		to = slices.Repeat(to, len(from))
	}
	if len(from) != len(to) {
		r.Fail(Invalid("len(to)", len(to), fmt.Sprintf("%d, one per message", len(from))))
		return
	}
	if !(models >= 0) || math.IsInf(models, 0) {
		r.Fail(Invalid("models", models, "a number ≥ 0"))
		return
	}
	x := exchange{r: r, sends: map[int]float64{}, receives: map[int]float64{}, earliest: map[int]float64{}, last: map[int]float64{}}
	for k := range from {
		if err := checkEnds(from[k], to[k], r.Clients()); err != nil {
			r.Fail(err)
			return
		}
		x.message(from[k], to[k], models)
	}
	if r.devices() != nil {
		x.pass(from, to)
	}
}

// checkEnds refuses clients that do not exist, and messages to oneself.
func checkEnds(from, to, m int) error {
	for _, end := range []int{from, to} {
		if end >= m {
			return Invalid("client", end, fmt.Sprintf("in [0, %d), an Edge, or Cloud", m))
		}
	}
	return refuse(from == to, "message", kindOf(from)+" to itself", "between two ends")
}

// kindOf names the kind of an end.
func kindOf(end int) string {
	switch {
	case end >= 0:
		return "client"
	case end == Cloud:
		return "cloud"
	}
	return "edge"
}

// exchange is one call of Send.
type exchange struct {
	r               *Round
	sends, receives map[int]float64 // by end, the seconds that all of its messages take
	earliest        map[int]float64 // by receiver, s of the clock at which the first sender is ready
	last            map[int]float64 // by receiver, s of the clock at which it has received from the last sender
}

// message counts a message.
func (x *exchange) message(from, to int, models float64) {
	r := x.r
	bytes := models * float64(r.Fed.Task.Bytes())
	if to >= 0 {
		if base := r.base(to, models); base > 0 {
			bytes += base
			r.sent(to)
		}
	}
	switch whole := int64(math.Round(bytes)); {
	case from == Cloud && to >= 0:
		r.record.BytesDown += whole
	case to == Cloud && from >= 0:
		r.record.BytesUp += whole
	default:
		if r.record.Links == nil {
			r.record.Links = map[string]Float{}
		}
		r.record.Links[kindOf(from)+"_to_"+kindOf(to)] += Float(whole)
	}
	if r.devices() != nil {
		begin, takes := r.clock.at(from), r.device(to).Receive(bytes)
		x.sends[from] += r.device(from).Send(bytes)
		x.receives[to] += takes
		if first, ok := x.earliest[to]; !ok || begin < first {
			x.earliest[to] = begin
		}
		x.last[to] = max(x.last[to], r.device(to).On.Finish(begin, takes))
	}
}

// pass sets the times at which the ends are done.
func (x *exchange) pass(from, to []int) {
	c, done := x.r.clock, map[int]float64{}
	sent := func(end int) float64 { return x.r.device(end).On.Finish(c.at(end), x.sends[end]) }
	for k := range from {
		done[from[k]] = max(done[from[k]], sent(from[k]))
		done[to[k]] = max(done[to[k]], sent(from[k]), x.last[to[k]], x.r.device(to[k]).On.Finish(x.earliest[to[k]], x.receives[to[k]]))
	}
	for _, end := range slices.Sorted(maps.Keys(done)) {
		c.set(end, max(c.at(end), done[end]))
	}
}

// device returns what an end's messages travel from and to.
func (r *Round) device(end int) *sim.Device {
	switch e := -2 - end; {
	case end >= 0:
		return &r.Fed.Devices[end]
	case end != Cloud && e < len(r.Fed.edges):
		return &r.Fed.edges[e]
	}
	return new(sim.Device)
}

// at returns when an end has done all that it did in the round so far.
func (c *clock) at(end int) float64 {
	switch {
	case end >= 0:
		return max(c.now, c.ready[end])
	case end == Cloud:
		return c.now
	}
	return max(c.now, c.edges[end])
}

func (c *clock) set(end int, t float64) {
	c.end = max(c.end, t)
	switch {
	case end >= 0:
		c.ready[end] = t
	case end == Cloud:
		c.now = t
	default:
		if c.edges == nil {
			c.edges = map[int]float64{}
		}
		c.edges[end] = t
	}
}

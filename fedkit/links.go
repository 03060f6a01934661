package fedkit

import (
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit/sim"
)

// Cloud is the server as an end of a link: see Round.Send.
const Cloud = sim.Cloud

// Edge returns edge server e, from 0, as an end of a link: see Round.Send.
func Edge(e int) int { return sim.Edge(e) }

// WithEdges returns the same federation with devices for n edge servers, drawn by the rule: on a federation with devices, messages
// from and to them take their time too (see Round.Send). Only their rates, latency and hours count. Edges beyond n, all of them by
// default, have no limits.
func (f *Federation) WithEdges(n int, rule sim.Rule) (_ *Federation, err error) {
	defer within("edges: ", &err)
	if err := f.made(); err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, Invalid("n", n, "at least 1")
	}
	edges, words, err := drawDevices(rule, n)
	if err != nil {
		return nil, err
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
// On the simulated clock, the messages of one call travel at the same time, each end's own one after another: see sim.Clock.Send. The
// round ends when all ends are done.
func (r *Round) Send(from, to []int, models float64) {
	if r.quiet {
		return
	}
	r.in("send", func() error {
		switch {
		case len(from) == 1:
			from = slices.Repeat(from, len(to))
		case len(to) == 1:
			to = slices.Repeat(to, len(from))
		}
		if len(from) != len(to) {
			return Invalid("len(to)", len(to), fmt.Sprintf("%d, one per message", len(from)))
		}
		if !(models >= 0) || math.IsInf(models, 0) {
			return Invalid("models", models, "a number ≥ 0")
		}
		var messages []sim.Message
		for k := range from {
			if err := checkEnds(from[k], to[k], r.Clients()); err != nil {
				return err
			}
			messages = append(messages, sim.Message{From: from[k], To: to[k], Bytes: r.message(from[k], to[k], models)})
		}
		if c := r.time(); c != nil {
			c.Send(messages)
		}
		return nil
	})
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

// message counts a message, and returns its bytes.
func (r *Round) message(from, to int, models float64) float64 {
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
	return bytes
}

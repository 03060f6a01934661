package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// Cloud is the server as an end of a Message. Clients are ends from 0.
const Cloud = -1

// Edge returns edge server e, from 0, as an end of a Message.
func Edge(e int) int { return -2 - e }

// Clock is the simulated time of a run: of the server, and of the clients and edge servers that do something in a round. The caller
// says what they do, with how many bytes and examples; it takes the time of their devices.
type Clock struct {
	Now        float64  // s, the server's time. Only this outlives a round
	Clients    []Device // by client; nil: nothing takes time
	Edges      []Device // by edge server; those beyond have no limits
	Operations float64  // floating-point operations of a forward and backward pass, per example

	done map[int]float64 // by end, s at which it has done all that it began in this round
	last float64         // s at which the last message has arrived
}

// Times are those of a client's job, in s of the clock: it receives, trains, and sends, one after the other.
type Times struct {
	Client   int     // its index
	Begin    float64 // when it begins to receive
	Received float64 // when it has received, and begins to train
	Trained  float64 // when it has trained, and begins to send
	Arrived  float64 // when the server has what it sends
	Lost     bool    // the client drops out at Arrived
}

// Time returns the times of a job that a client begins when it has done all before: it receives down bytes, trains on a number of
// examples, and sends up bytes. rng draws whether it drops out.
func (c *Clock) Time(client int, down, examples, up float64, rng *rand.Rand) Times {
	d, t := c.device(client), Times{Client: client, Begin: c.at(client)}
	t.Received = d.On.Finish(t.Begin, d.Receive(down))
	t.Trained = d.On.Finish(t.Received, d.Compute(examples, c.Operations))
	t.Arrived = d.On.Finish(t.Trained, d.Send(up))
	if share := d.Dropout(rng); share < 1 {
		t.Lost, t.Arrived = true, t.Begin+share*(t.Arrived-t.Begin)
	}
	return t
}

// Wait is what the server waits for.
type Wait struct {
	For      int     // results, at most one per job
	Deadline float64 // s after which it goes on without the others; 0: none
	Apart    bool    // nothing comes back: it goes on at once, without a deadline
}

// limit returns when the server goes on at the latest.
func (c *Clock) limit(w Wait) float64 {
	if w.Deadline > 0 && !w.Apart {
		return c.Now + w.Deadline
	}
	return math.Inf(1)
}

// Most returns the most of n local steps with which a job meets the deadline, at least 1, and 0 if it need not take fewer: it is in
// time, or lost. job times it with a number of steps.
func (c *Clock) Most(w Wait, n int, job func(steps int) Times) int {
	late := func(t Times) bool { return t.Arrived > c.limit(w) }
	if t := job(n); t.Lost || !late(t) {
		return 0
	}
	return max(1, sort.Search(n, func(less int) bool { return late(job(less + 1)) })) // each step makes it longer
}

// Collect lets the server wait for jobs, which all begin now. It returns the positions of those whose results the server has in time,
// in ascending order, and calls missed with the others.
func (c *Clock) Collect(jobs []Times, w Wait, missed func(Times)) (in []int) {
	limit, kept := c.limit(w), make([]bool, len(jobs))
	for i, t := range jobs {
		if !t.Lost && t.Arrived <= limit {
			in = append(in, i)
		}
	}
	enough := len(in) >= w.For
	if enough {
		slices.SortStableFunc(in, func(i, j int) int { return cmp.Compare(jobs[i].Arrived, jobs[j].Arrived) })
		in = in[:w.For]
		slices.Sort(in)
	}
	for _, i := range in {
		kept[i] = true
	}
	end := limit
	if enough || math.IsInf(limit, 1) {
		end = c.Now
		for i, t := range jobs {
			if kept[i] || t.Lost && !enough {
				end = max(end, t.Arrived)
			}
		}
	}
	for i, t := range jobs {
		c.set(t.Client, t.Arrived)
		if !kept[i] {
			c.set(t.Client, min(t.Arrived, end)) // it stops
			missed(t)
		}
	}
	if !w.Apart {
		c.Now = end
	}
	return in
}

// Score times a client that receives bytes of models and computes their outputs, on a number of examples in all. It returns when it
// is done.
func (c *Clock) Score(client int, bytes, examples float64) float64 {
	d := c.device(client)
	received := d.On.Finish(c.at(client), d.Receive(bytes))
	c.set(client, d.On.Finish(received, d.Compute(examples, c.Operations)/3)) // a forward pass only
	return c.done[client]
}

// Train lets the server train on a number of examples with a device, and returns the seconds.
func (c *Clock) Train(on Device, examples float64) float64 {
	begin := c.Now
	c.Now = on.On.Finish(begin, on.Compute(examples, c.Operations))
	return c.Now - begin
}

// On reports whether a client's device is on.
func (c *Clock) On(client int) bool {
	return c.device(client).On.Next(c.Now) == c.Now
}

// Await waits until a client's device is on, of those that are not busy; nil: of all.
func (c *Clock) Await(busy []bool) {
	if c.Clients == nil {
		return
	}
	next := math.Inf(1)
	for i, d := range c.Clients {
		if busy == nil || !busy[i] {
			next = min(next, d.On.Next(c.Now))
		}
	}
	c.Now = next
}

// Message goes from one end to another.
type Message struct {
	From, To int     // clients, an Edge, or Cloud
	Bytes    float64 // 0: nothing is sent
}

// Send sends messages at the same time. An end sends its own one after another, once it has done what it did before, and receives one
// after another: one message takes the longer of the sender's and the receiver's time. An end has what it receives, and goes on, when
// all senders have sent all of their messages and it has had the time to receive all of its.
func (c *Clock) Send(messages []Message) {
	sends, receives := map[int]float64{}, map[int]float64{} // by end, s that all of its messages take
	first, last := map[int]float64{}, map[int]float64{}     // by receiver, s at which the first sender is ready, and it has received from the last
	for _, m := range messages {
		begin, takes := c.at(m.From), c.device(m.To).Receive(m.Bytes)
		sends[m.From] += c.device(m.From).Send(m.Bytes)
		receives[m.To] += takes
		if earliest, ok := first[m.To]; !ok || begin < earliest {
			first[m.To] = begin
		}
		last[m.To] = max(last[m.To], c.device(m.To).On.Finish(begin, takes))
	}
	done := map[int]float64{}
	for _, m := range messages {
		sent := c.device(m.From).On.Finish(c.at(m.From), sends[m.From])
		done[m.From] = max(done[m.From], sent)
		done[m.To] = max(done[m.To], sent, last[m.To], c.device(m.To).On.Finish(first[m.To], receives[m.To]))
	}
	for end, t := range done {
		t = max(c.at(end), t)
		if c.last = max(c.last, t); end == Cloud {
			c.Now = t
		} else {
			c.set(end, t)
		}
	}
}

// Settle ends the round: the server waits for the clients that trained, and for all messages.
func (c *Clock) Settle(trained []int) {
	for _, client := range trained {
		c.Now = max(c.Now, c.done[client])
	}
	c.Now = max(c.Now, c.last)
	clear(c.done)
}

// at returns when an end has done all that it began in the round so far.
func (c *Clock) at(end int) float64 { return max(c.Now, c.done[end]) }

func (c *Clock) set(end int, t float64) {
	if c.done == nil {
		c.done = map[int]float64{}
	}
	c.done[end] = t
}

// device returns what an end works with; without limits if it is not given.
func (c *Clock) device(end int) *Device {
	switch e := -2 - end; {
	case end >= 0 && end < len(c.Clients):
		return &c.Clients[end]
	case end < Cloud && e < len(c.Edges):
		return &c.Edges[e]
	}
	return new(Device)
}

package sim

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

func draw() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// fourSpeeds is a clock of four clients that receive a message of 1 byte in 1 s, train on 100 examples in 1, 2, 3 and 4 s, and send it
// in 2 s.
func fourSpeeds(change func(i int, d *Device)) *Clock {
	c := &Clock{}
	for i := range 4 {
		d := Device{PerExample: 0.01 * float64(i+1), Down: 1, Up: 0.5}
		if change != nil {
			change(i, &d)
		}
		c.Clients = append(c.Clients, d)
	}
	return c
}

func times(c *Clock) (jobs []Times) {
	for i := range c.Clients {
		jobs = append(jobs, c.Time(i, 1, 100, 1, draw()))
	}
	return jobs
}

func TestClockWaits(t *testing.T) {
	off := func(i int, d *Device) {
		if i == 0 {
			d.On = Hours{Intervals: []Interval{{From: 30, To: 60}}}
		}
	}
	drops := func(i int, d *Device) {
		if i == 3 {
			d.Drop = 0.999999
		}
	}
	for _, test := range []struct {
		name   string
		change func(i int, d *Device)
		wait   Wait
		now    float64
		in     []int
	}{
		{"for all", nil, Wait{For: 4}, 7, []int{0, 1, 2, 3}},
		{"for two", nil, Wait{For: 2}, 5, []int{0, 1}},
		{"until a deadline", nil, Wait{For: 4, Deadline: 5.5}, 5.5, []int{0, 1}},
		{"until there are enough before a deadline", nil, Wait{For: 1, Deadline: 5.5}, 4, []int{0}},
		{"for nobody", nil, Wait{For: 4, Deadline: 5.5, Apart: true}, 0, []int{0, 1, 2, 3}},
		{"for one that is off", off, Wait{For: 4}, 34, []int{0, 1, 2, 3}},
		{"for one that drops out", drops, Wait{For: 4}, 6, []int{0, 1, 2}},
	} {
		c, missed := fourSpeeds(test.change), 0
		in := c.Collect(times(c), test.wait, func(Times) { missed++ })
		expect.That(t, c.Now == test.now && reflect.DeepEqual(in, test.in) && missed == 4-len(in),
			"%s: %v s with %v, %d missed; want %v s with %v", test.name, c.Now, in, missed, test.now, test.in)
	}
}

// Of ten steps of 10 examples, as many as meet the deadline: client 2 has 2.5 s for them, of 3.
func TestClockPartialWork(t *testing.T) {
	c := fourSpeeds(nil)
	for client, want := range []int{0, 0, 8, 6} {
		job := func(steps int) Times { return c.Time(client, 1, float64(10*steps), 1, draw()) }
		got := c.Most(Wait{Deadline: 5.5}, 10, job)
		expect.That(t, got == want, "client %d: %d steps, want %d", client, got, want)
	}
}

// What a client does next begins when it is done, and the server waits for those that trained.
func TestClockOneAfterAnother(t *testing.T) {
	c := fourSpeeds(nil)
	c.Operations = 3
	end := c.Score(3, 2, 75)
	expect.That(t, end == 3, "scores at %v s, want 3", end) // 2 s, and a third of 3 s
	job := c.Time(3, 1, 100, 1, draw())
	expect.That(t, job == Times{Client: 3, Begin: 3, Received: 4, Trained: 8, Arrived: 10}, "trained %+v", job)
	c.Collect([]Times{job}, Wait{For: 1, Apart: true}, nil)
	c.Settle([]int{3})
	expect.That(t, c.Now == 10, "the round ends at %v s, want 10", c.Now)
	if took := c.Train(Device{PerExample: 0.5, Reference: 6}, 8); took != 2 || c.Now != 12 {
		t.Errorf("the server trains for %v s until %v, want 2 and 12", took, c.Now)
	}
}

func TestClockAwaits(t *testing.T) {
	c := &Clock{Clients: []Device{{On: Hours{Intervals: []Interval{{From: 5, To: 6}}}}, {On: Hours{Intervals: []Interval{{From: 3, To: 9}}}}}}
	c.Await(nil)
	expect.That(t, c.Now == 3 && !c.On(0) && c.On(1),
		"at %v s client 0 is on: %v, client 1: %v; want 3 s with client 1", c.Now, c.On(0), c.On(1))
	if c.Await([]bool{false, true}); c.Now != 5 {
		t.Errorf("client 0 is on at %v s, want 5", c.Now)
	}
	var none Clock
	if none.Await(nil); none.Now != 0 || !none.On(7) {
		t.Error("without devices, nobody is always on")
	}
}

// Times by hand, for messages of 156 bytes. Those of a call travel at the same time; those of one end one after another.
func TestClockSends(t *testing.T) {
	to := func(from, to int) Message { return Message{from, to, 156} }
	for name, test := range map[string]struct {
		clients, edges []Device
		calls          [][]Message
		want           float64
	}{
		"the slower end":        {[]Device{{Up: 2}, {Down: 1}}, nil, [][]Message{{to(0, 1)}}, 156},
		"one after another":     {[]Device{{Up: 2}, {Down: 4}, {Down: 4}}, nil, [][]Message{{to(0, 1), to(0, 2)}}, 2 * 78},
		"from two at a time":    {[]Device{{Down: 2}, {Up: 4}, {Up: 4}}, nil, [][]Message{{to(1, 0), to(2, 0)}}, 2 * 78},
		"both ways":             {[]Device{{Up: 2, Down: 2}, {Up: 2, Down: 2}}, nil, [][]Message{{to(0, 1), to(1, 0)}}, 78},
		"around a ring":         {[]Device{{Up: 2}, {Up: 2}, {Up: 1}}, nil, [][]Message{{to(0, 1), to(1, 2), to(2, 0)}}, 156},
		"then on":               {[]Device{{Up: 2}, {Up: 2}, {}}, nil, [][]Message{{to(0, 1)}, {to(1, 2)}}, 2 * 78},
		"side by side":          {[]Device{{Up: 2}, {Up: 2}, {}}, nil, [][]Message{{to(0, 2)}, {to(1, 2)}}, 78},
		"latency":               {[]Device{{Latency: 3}, {Latency: 5}}, nil, [][]Message{{to(0, 1)}}, 5},
		"off until 100":         {[]Device{{Up: 2}, {Down: 2, On: Hours{Intervals: []Interval{{100, 1000}}}}}, nil, [][]Message{{to(0, 1)}}, 178},
		"over an edge":          {[]Device{{Up: 4}, {Down: 4}}, []Device{{Up: 2, Down: 2}}, [][]Message{{to(0, Edge(0))}, {to(Edge(0), 1)}}, 2 * 78},
		"an edge without limit": {[]Device{{Up: 4}, {Down: 4}}, []Device{{Up: 2, Down: 2}}, [][]Message{{to(0, Edge(7))}, {to(Edge(7), 1)}}, 2 * 39},
		"the cloud waits":       {[]Device{{}, {Down: 4}}, []Device{{Up: 2}}, [][]Message{{to(Edge(0), Cloud)}, {to(Cloud, 1)}}, 78 + 39},
		"nothing":               {[]Device{{Up: 2, Latency: 3}, {Latency: 5}}, nil, [][]Message{{{0, 1, 0}}}, 0},
	} {
		c := &Clock{Clients: test.clients, Edges: test.edges}
		for round := range 2 {
			for _, call := range test.calls {
				c.Send(call)
			}
			if c.Settle(nil); c.Now != float64(round+1)*test.want && name != "off until 100" || round == 0 && c.Now != test.want {
				t.Errorf("%s: round %d ends at %v s, want %v a round", name, round+1, c.Now, test.want)
			}
		}
	}
}

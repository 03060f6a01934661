package fedkit

import (
	"context"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/sim"
)

// post sends what the test says, and trains nobody.
type post struct {
	send  func(r *Round)
	State struct{ X *Matrix }
}

func (s *post) Start(r *Round) error { s.State.X = r.Models(1); return r.Err() }
func (s *post) Round(r *Round) error { s.send(r); return r.Err() }
func (s *post) Serve(r *Round) Serving {
	r.Send([]int{0}, []int{1}, 1) // in an evaluation, which costs no bytes
	return Serving{Global: s.State.X}
}

// Every kind of link has its bytes, those between the cloud and clients where they were, and a file has them all.
func TestLinks(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	model := Float(fed.Task.Bytes())
	path := filepath.Join(t.TempDir(), "h")
	s := &post{send: func(r *Round) {
		if r.T == 2 {
			return
		}
		r.Send([]int{0, 1, 2}, []int{1, 2, 0}, 1)
		r.Send([]int{0, 1}, []int{Edge(0)}, 0.5)
		r.Send([]int{Edge(1)}, []int{2}, 1)
		r.Send([]int{Edge(0), Edge(1)}, []int{Cloud}, 2)
		r.Send([]int{Cloud}, []int{Edge(0)}, 1)
		r.Send([]int{Edge(3)}, []int{Edge(4)}, 1)
		r.Send([]int{Cloud}, []int{0, 1, 2}, 1)
		r.Send([]int{2}, []int{Cloud}, 1)
		r.Send(nil, nil, 1)
		r.Send([]int{Cloud}, nil, 1)
	}}
	h := expect.Value(Run(context.Background(), fed, s, Options{Rounds: 2, History: path}))(t)
	want := map[string]Float{"client_to_client": 3 * model, "client_to_edge": model, "edge_to_client": model, "edge_to_cloud": 4 * model, "cloud_to_edge": model, "edge_to_edge": model}
	for _, h := range []*History{h, expect.Value(Load(path))(t), expect.Value(history.LoadLight(path))(t)} {
		if r := h.Rounds[0]; !maps.Equal(r.Links, want) || r.LinkBytes() != float64(11*model) || Float(r.BytesDown) != 3*model || Float(r.BytesUp) != model || h.Rounds[1].Links != nil {
			t.Errorf("%+v", h.Rounds)
		}
	}
	if said := h.String(); !strings.Contains(said, "other links") {
		t.Error(said)
	}
}

// What a client lacks of the frozen parameters comes with its first model, whichever way.
func TestFrozenTravelsOnLinks(t *testing.T) {
	fed, _ := frozen(t, 4, 9, 2)
	s := &post{send: func(r *Round) { r.Send([]int{Edge(0)}, []int{0, 1}, 1); r.Send([]int{0}, []int{1}, 1) }}
	h := expect.Value(Run(context.Background(), fed, s, Options{Rounds: 2}))(t)
	for i, want := range []map[string]Float{{"edge_to_client": 2 * (76 + 80), "client_to_client": 76}, {"edge_to_client": 2 * 76, "client_to_client": 76}} {
		if !maps.Equal(h.Rounds[i].Links, want) {
			t.Errorf("round %d: %v, want %v", i+1, h.Rounds[i].Links, want)
		}
	}
}

// Times by hand, for a model of 156 s at 1 byte per second.
func TestLinksOnTheClock(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	for name, c := range map[string]struct {
		devices, edges sim.Given
		send           func(r *Round)
		want           float64
	}{
		"the slower end":        {sim.Given{{Up: 2}, {Down: 1}, {}}, nil, func(r *Round) { r.Send([]int{0}, []int{1}, 1) }, 156},
		"one after another":     {sim.Given{{Up: 2}, {Down: 4}, {Down: 4}}, nil, func(r *Round) { r.Send([]int{0}, []int{1, 2}, 1) }, 2 * 78},
		"from two at a time":    {sim.Given{{Down: 2}, {Up: 4}, {Up: 4}}, nil, func(r *Round) { r.Send([]int{1, 2}, []int{0}, 1) }, 2 * 78},
		"both ways":             {sim.Given{{Up: 2, Down: 2}, {Up: 2, Down: 2}, {}}, nil, func(r *Round) { r.Send([]int{0, 1}, []int{1, 0}, 1) }, 78},
		"then on":               {sim.Given{{Up: 2}, {Up: 2}, {}}, nil, func(r *Round) { r.Send([]int{0}, []int{1}, 1); r.Send([]int{1}, []int{2}, 1) }, 2 * 78},
		"side by side":          {sim.Given{{Up: 2}, {Up: 2}, {}}, nil, func(r *Round) { r.Send([]int{0}, []int{2}, 1); r.Send([]int{1}, []int{2}, 1) }, 78},
		"latency":               {sim.Given{{Latency: 3}, {Latency: 5}, {}}, nil, func(r *Round) { r.Send([]int{0}, []int{1}, 1) }, 5},
		"off until 100":         {sim.Given{{Up: 2}, {Down: 2, On: sim.Hours{Intervals: []sim.Interval{{From: 100, To: 1000}}}}, {}}, nil, func(r *Round) { r.Send([]int{0}, []int{1}, 1) }, 178},
		"over an edge":          {sim.Given{{Up: 4}, {Down: 4}, {}}, sim.Given{{Up: 2, Down: 2}}, func(r *Round) { r.Send([]int{0}, []int{Edge(0)}, 1); r.Send([]int{Edge(0)}, []int{1}, 1) }, 2 * 78},
		"an edge without limit": {sim.Given{{Up: 4}, {Down: 4}, {}}, sim.Given{{Up: 2, Down: 2}}, func(r *Round) { r.Send([]int{0}, []int{Edge(7)}, 1); r.Send([]int{Edge(7)}, []int{1}, 1) }, 2 * 39},
		"the cloud waits":       {sim.Given{{}, {Down: 4}, {}}, sim.Given{{Up: 2}}, func(r *Round) { r.Send([]int{Edge(0)}, []int{Cloud}, 1); r.Send([]int{Cloud}, []int{1}, 1) }, 78 + 39},
		"nothing":               {sim.Given{{Up: 2, Latency: 3}, {Latency: 5}, {}}, nil, func(r *Round) { r.Send([]int{0}, []int{1}, 0) }, 0},
	} {
		timed := expect.Value(fed.WithDevices(c.devices))(t)
		if c.edges != nil {
			timed = expect.Value(timed.WithEdges(len(c.edges), c.edges))(t)
		}
		h := expect.Value(Run(context.Background(), timed, &post{send: c.send}, Options{Rounds: 2}))(t)
		if a, b := float64(h.Rounds[0].Clock), float64(h.Rounds[1].Clock); a != c.want || b != 2*c.want && name != "off until 100" {
			t.Errorf("%s: %v and %v s, want %v and twice as many", name, a, b, c.want)
		}
	}
}

func TestLinksAreRefused(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	for want, send := range map[string]func(r *Round){
		"send: invalid: client = 3: must be in [0, 3), an Edge, or Cloud": func(r *Round) { r.Send([]int{0}, []int{3}, 1) },
		"message = client to itself: must be between two ends":            func(r *Round) { r.Send([]int{0, 1}, []int{1}, 1) },
		"len(to) = 3: must be 2, one per message":                         func(r *Round) { r.Send([]int{0, 1}, []int{2, 2, 2}, 1) },
		"models = NaN: must be a number ≥ 0":                              func(r *Round) { r.Send([]int{0}, []int{1}, math.NaN()) },
		"Job.Relayed = true: must be false if StayLocal":                  func(r *Round) { r.Train(Job{Clients: []int{0}, Start: r.Models(1), Relayed: true, Up: 1}) },
	} {
		_, err := Run(context.Background(), fed, &post{send: send}, Options{Rounds: 1})
		expect.Invalid(t, want)(err)
	}
	expect.Invalid(t, "edges: invalid: n = 0: must be at least 1")(fed.WithEdges(0, sim.Devices{}))
	expect.Invalid(t, "edges: invalid: rule = nil")(fed.WithEdges(1, nil))
	expect.Invalid(t, "edges: invalid: sim.Given: 1 devices: must be 2")(fed.WithEdges(2, sim.Given{{}}))
	timed := expect.Value(fed.WithDevices(sim.Devices{}))(t)
	edged := expect.Value(timed.WithEdges(2, sim.Devices{Up: sim.Constant(1)}))(t)
	a := expect.Value(Run(context.Background(), timed, &post{send: func(*Round) {}}, Options{Rounds: 1}))(t)
	b := expect.Value(Run(context.Background(), edged, &post{send: func(*Round) {}}, Options{Rounds: 1}))(t)
	if a.DevicesHash == b.DevicesHash || !strings.HasSuffix(b.Partition, "; 2 edges: bytes/s up 1") {
		t.Errorf("%s and %s: %s", a.DevicesHash, b.DevicesHash, b.Partition)
	}
}

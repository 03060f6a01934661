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
		expect.That(t, maps.Equal(h.Rounds[i].Links, want), "round %d: %v, want %v", i+1, h.Rounds[i].Links, want)
	}
}

// Times by hand, for a model of 156 bytes: see also sim.TestClockSends.
func TestLinksOnTheClock(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	timed := expect.Value(fed.WithDevices(sim.Given{{Up: 4}, {Down: 4}, {Down: 1}}))(t)
	timed = expect.Value(timed.WithEdges(1, sim.Given{{Up: 2, Down: 2}}))(t)
	s := &post{send: func(r *Round) { r.Send([]int{0}, []int{Edge(0), 2}, 1); r.Send([]int{Edge(0)}, []int{1}, 0.5) }}
	h := expect.Value(Run(context.Background(), timed, s, Options{Rounds: 2}))(t)
	if a, b := float64(h.Rounds[0].Clock), float64(h.Rounds[1].Clock); a != 156 || b != 2*156 {
		t.Errorf("%v and %v s, want 156 and twice as many", a, b)
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
	expect.That(t, a.DevicesHash != b.DevicesHash && strings.HasSuffix(b.Partition, "; 2 edges: bytes/s up 1"),
		"%s and %s: %s", a.DevicesHash, b.DevicesHash, b.Partition)
}

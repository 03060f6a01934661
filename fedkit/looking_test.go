package fedkit

import (
	"bytes"
	"container/list"
	"context"
	"encoding/gob"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/sim"
)

// queued keeps what came back, and a list whose elements lead to each other.
type queued struct {
	Local Local
	State struct {
		X     *Matrix
		Last  *Matrix
		Queue *list.List
	}
}

func (s *queued) Start(r *Round) error {
	s.State.X, s.State.Queue = r.Models(1), list.New()
	for i := range 40 {
		s.State.Queue.PushBack(i)
	}
	return r.Err()
}

func (s *queued) Round(r *Round) error {
	u := r.Train(Job{Clients: r.AllClients(), Start: s.State.X, Local: s.Local})
	s.State.X, s.State.Last = u.Models.Mean(nil), u.Models
	return r.Err()
}

func (s *queued) Serve(*Round) Serving { return Serving{Global: s.State.X} }

// A State may lead back to itself.
func TestStateInACircle(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	if _, err := Run(context.Background(), fed, &queued{Local: Local{Batch: 4, LR: 0.1}}, Options{Rounds: 2}); err != nil {
		t.Error(err)
	}
}

// chained keeps an element of a list that turns into a circle in some round: 0 is the start.
type chained struct {
	Local  Local
	Circle int // round
	State  struct {
		X    *Matrix
		Head struct{ Kids []*ringlet }
	}
}

type ringlet struct {
	X    *Matrix
	Next *ringlet
}

func (s *chained) Start(r *Round) error {
	s.State.X = r.Models(1)
	s.State.Head.Kids = []*ringlet{{}, {X: s.State.X, Next: &ringlet{}}}
	return s.turn(r)
}

func (s *chained) turn(r *Round) error {
	if r.T == s.Circle {
		s.State.Head.Kids[1].Next.Next = s.State.Head.Kids[1]
	}
	return r.Err()
}

func (s *chained) Round(r *Round) error { return s.turn(r) }

func (s *chained) Serve(*Round) Serving { return Serving{Global: s.State.X} }

// What has to be copied has an end: a State in a circle is refused where it is saved, or put back after a round without clients,
// and the history so far comes back.
func TestStateInACircleIsNotSaved(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	drops := expect.Value(fed.WithDevices(sim.Devices{Drop: sim.Constant(0.1)}))(t)
	const path = "the strategy's State cannot be saved: invalid: State.Head.Kids[1].Next.Next = what holds it: must be a value that"
	for _, c := range []struct {
		fed    *Federation
		o      Options
		circle int
		rounds int // before the error
		want   string
	}{
		{fed, Options{Checkpoint: "c"}, 0, 0, "fedkit: chained: start: " + path},
		{fed, Options{Checkpoint: "c"}, 3, 3, "fedkit: chained: round 3: checkpoint: " + path},
		{fed, Options{Checkpoint: "c"}, -1, 4, ""},
		{drops, Options{}, 0, 0, "fedkit: chained: start: " + path},
		{drops, Options{}, 2, 2, "fedkit: chained: round 3: " + path},
		{fed, Options{NotFinite: Skip}, 0, 4, ""},
		{fed, Options{}, 0, 4, ""},
	} {
		if c.o.Rounds = 4; c.o.Checkpoint != "" {
			c.o.Checkpoint = filepath.Join(t.TempDir(), c.o.Checkpoint)
		}
		h, err := Run(context.Background(), c.fed, &chained{Circle: c.circle}, c.o)
		if h == nil || len(h.Rounds) != c.rounds || (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("circle in round %d, %+v: %v, error %v, want %s", c.circle, c.o, h, err, c.want)
		}
	}
	expect.Error(t, "start: the strategy's State cannot be saved: invalid: List.root = unexported: must be exported")(
		Run(context.Background(), drops, &queued{Local: Local{Batch: 4, LR: 0.1}}, Options{Rounds: 2}))
}

// hoard keeps numbers in every way, in circles too.
type hoard struct {
	stateless
	State struct {
		X, Same *Matrix
		Wide    [][]float64
		Rows    []struct {
			V [2][]float32
			S []string
		}
		At    [][3]float64
		Of    map[string][]int
		Any   []any
		Loop  []loop
		queue *list.List
	}
}

type loop struct {
	V    []int8
	Kids []loop
}

func (s *hoard) Start(r *Round) error {
	st := &s.State
	st.X = r.Models(2)                                            // 2 · 4d
	st.Same = st.X                                                // once
	st.Wide = [][]float64{make([]float64, 3), make([]float64, 4)} // 56
	st.Rows = append(st.Rows, struct {
		V [2][]float32
		S []string
	}{[2][]float32{nil, make([]float32, 5)}, []string{"a"}}) // 20
	st.At = make([][3]float64, 2)            // 48
	st.Of = map[string][]int{"a": {1, 2}}    // 16
	st.Any = []any{nil, 7, "a", []uint16{1}} // 2
	st.Any[0] = st.Any
	st.Loop = []loop{{V: []int8{1, 2, 3}}} // 3
	st.Loop[0].Kids = st.Loop
	st.queue = list.New()
	st.queue.PushBack([]float64{1}) // 8
	return s.stateless.Start(r)
}

// Kept is the bytes of all matrices and slices of numbers.
func TestKept(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	h := expect.Value(Run(context.Background(), fed, &hoard{}, Options{Rounds: 1}))(t)
	if got, want := h.Last().StateBytes, int64(8*fed.Task.Dim()+56+20+48+16+2+3+8); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// tuned keeps the clients' models as they came back, and fine-tunes them where it serves them. It prefers clients that it
// knows.
type tuned struct {
	Local Local
	State struct{ X, All *Matrix }
}

func (s *tuned) Start(r *Round) error {
	s.State.X, s.State.All = r.Models(1), nil
	return r.Err()
}

func (s *tuned) Round(r *Round) error {
	if s.State.All != nil {
		s.State.X = s.State.All.Mean(nil)
	}
	known := r.AllClients()
	slices.SortStableFunc(known, func(a, b int) int { return len(r.Past(b)) - len(r.Past(a)) })
	s.State.All = r.Train(Job{Clients: known[:21], Start: s.State.X, Local: s.Local}).Models
	return r.Err()
}

func (s *tuned) Serve(r *Round) Serving {
	u := r.Train(Job{Clients: r.AllClients(), Start: s.State.X, Local: s.Local})
	return Serving{Global: s.State.X, Models: u.Models, Assign: r.AllClients()}
}

// Neither a checkpoint nor an evaluation, and what it looks at or trains, changes what a run comes to.
func TestLookingChangesNothing(t *testing.T) {
	fed, _ := toy(t, slices.Repeat([]int{7, 5, 9}, 8)...)
	fed = fed.Intercept(plusOne{})
	outcome := func(o Options) ([]byte, *Record) {
		s := &tuned{Local: Local{Batch: 4, LR: 0.1}}
		o.Rounds, o.Seed = 6, 1
		h := expect.Value(Run(context.Background(), fed, s, o))(t)
		var b bytes.Buffer
		expect.OK(t, gob.NewEncoder(&b).Encode(s.State))
		return b.Bytes(), h.Last()
	}
	want, r := outcome(Options{EvalEvery: 6})
	if len(r.Results) != 21 {
		t.Errorf("%d clients in the record of an evaluated round, want the 21 that trained in Round", len(r.Results))
	}
	for name, o := range map[string]Options{
		"evaluated in every round": {}, "evaluated every second": {EvalEvery: 2},
		"with a checkpoint": {EvalEvery: 6, Checkpoint: filepath.Join(t.TempDir(), "a")},
	} {
		if got, _ := outcome(o); !bytes.Equal(got, want) {
			t.Errorf("%s, the State differs", name)
		}
	}
}

// embedding and embeddingPointer wrap what they embed.
type (
	embedding struct {
		mean
		Other int
	}
	Inner            struct{ mean }
	embeddingPointer struct {
		*Inner
		Other int
	}
	embeddingValue struct {
		Inner
		Other int
	}
)

func (s *embeddingPointer) Unwrap() Strategy { return s.Inner }
func (s *embeddingValue) Unwrap() Strategy   { return &s.Inner }

// A wrapper may embed the strategy it wraps, by value or by pointer.
func TestWrappersThatEmbed(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	for _, make := range []func() Strategy{
		func() Strategy { return &embedding{} },
		func() Strategy { return &embeddingPointer{Inner: &Inner{}} },
		func() Strategy { return &embeddingValue{} },
	} {
		o := Options{Rounds: 4, Seed: 2}
		straight := expect.Value(Run(context.Background(), fed, make(), o))(t)
		o.Checkpoint, o.Rounds = filepath.Join(t.TempDir(), "checkpoint"), 2
		expect.Value(Run(context.Background(), fed, make(), o))(t)
		o.Rounds = 4
		if h := expect.Value(Run(context.Background(), fed, make(), o))(t); h.Last().Global.Loss != straight.Last().Global.Loss {
			t.Errorf("%T: loss %v after a resume, %v without", make(), h.Last().Global.Loss, straight.Last().Global.Loss)
		}
	}
}

// A State of another make is not read, and one that cannot be saved is refused before round 1.
func TestStatesThatAreLost(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	o := Options{Rounds: 1, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	expect.Value(Run(context.Background(), fed, &keeps[struct{ V *Matrix }]{}, o))(t)
	expect.Error(t, "belongs to another run")(Run(context.Background(), fed, &keeps[struct{ Velocity *Matrix }]{}, o)) // the name of the type differs too
	_, err := Run(context.Background(), fed, &missing{}, o)
	if expect.Error(t, "State cannot be saved")(err); strings.Contains(err.Error(), "round 1:") {
		t.Error(err)
	}
}

// missing has a place for every client's matrix, and nothing in it yet.
type missing struct {
	stateless
	State struct{ All []*Matrix }
}

func (s *missing) Start(r *Round) error {
	s.State.All = make([]*Matrix, r.Clients())
	return s.stateless.Start(r)
}

// Models and rows that nobody has room for are errors.
func TestHugeMatrices(t *testing.T) {
	fed, _ := toy(t, 4)
	for name, do := range map[string]func(r *Round, x *Matrix) *Matrix{
		"models":        func(r *Round, _ *Matrix) *Matrix { return r.Models(1 << 42) },
		"Matrix.Repeat": func(_ *Round, x *Matrix) *Matrix { return x.Repeat(1 << 42) },
	} {
		expect.Error(t, name, "are free")(Run(context.Background(), fed, &scripted{do: do}, Options{Rounds: 1}))
	}
}

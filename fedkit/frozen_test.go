package fedkit

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/sim"
)

// frozen is the toy federation with its first layer's weights frozen: 20 of 39 parameters, 80 bytes of 156.
func frozen(t testing.TB, sizes ...int) (fed, plain *Federation) {
	t.Helper()
	plain, _ = toy(t, sizes...)
	return expect.Value(New(plain.Data, partition.Given(plain.Clients), func(*datasets.Dataset) (*Task, error) { return plain.Task.Freeze("w1") }))(t), plain
}

// Frozen parameters are those of a mask in every job, bit by bit, also with an optimizer that would move them and with a mask of the
// job's own.
func TestFrozenIsMasked(t *testing.T) {
	fed, plain := frozen(t, 4, 9, 2)
	local := Local{Epochs: 2, Batch: 4, LR: 0.1, Optimizer: WeightDecay{Lambda: 0.1, Then: Adam{}}}
	for _, own := range []string{"w1", "b1"} {
		a := &mean{Local: local, Before: func(r *Round, j *Job) { j.Mask = r.Mask("w1", own).Not() }}
		b := &mean{Local: local}
		if own != "w1" {
			b.Before = func(r *Round, j *Job) { j.Mask = r.Mask(own).Not() }
		}
		expect.Value(Run(context.Background(), plain, a, Options{Rounds: 3}))(t)
		expect.Value(Run(context.Background(), fed, b, Options{Rounds: 3}))(t)
		if x, y := expect.Value(a.State.X.Host())(t), expect.Value(b.State.X.Host())(t); !slices.Equal(x, y) {
			t.Errorf("%s: %v, want %v", own, y, x)
		}
	}
}

// sending is a mean of clients to which models are sent in several ways.
type sending struct {
	mean
	Kind  string
	State struct {
		X        *Matrix
		InFlight InFlight
	}
}

func (s *sending) Start(r *Round) error {
	s.State.X, s.State.InFlight = r.Models(1), InFlight{}
	return r.Err()
}

func (s *sending) Serve(*Round) Serving { return Serving{Global: s.State.X} }

func (s *sending) Round(r *Round) error {
	job := Job{Clients: []int{0}, Start: s.State.X, Local: s.Local}
	switch s.Kind {
	case "all":
		job.Clients = r.AllClients()
	case "one by one":
		job.Clients = []int{r.T / 2}
	case "a part":
		job.Communicated = r.Mask("w1", "b1")
	case "nothing":
		job.StayLocal = true
	case "losses before":
		r.Losses(r.Models(2), datasets.TrainPart, job.Clients)
		job.Down = Zero
	case "asynchronous":
		job.Clients = nil
		u := r.TrainAsync(&s.State.InFlight, Async{Concurrency: 2, Selector: SelectorFunc(func(r *Round, n int) []int { return r.Candidates()[:n] }), Job: job})
		s.State.X = u.Models.Mean(nil)
		return r.Err()
	}
	u := r.Train(job)
	s.State.X = u.Models.Mean(u.Examples())
	return r.Err()
}

// A model travels without its frozen parameters, which a client receives with its first one: also if it only compares losses, in an
// asynchronous round, or after a resume.
func TestFrozenTravelsOnce(t *testing.T) {
	fed, _ := frozen(t, 4, 9, 2)
	const model, base = 76, 80
	if got := fed.Task.Bytes(); got != model {
		t.Fatalf("%d bytes, want %d", got, model)
	}
	local := Local{Epochs: 1, Batch: 4, LR: 0.1}
	for kind, c := range map[string]struct{ down, up []int64 }{ // by round
		"all":           {[]int64{3 * (model + base), 3 * model, 3 * model}, []int64{3 * model, 3 * model, 3 * model}},
		"one by one":    {[]int64{model + base, model + base, model}, []int64{model, model, model}},
		"a part":        {[]int64{base + 16, 16, 16}, []int64{16, 16, 16}},
		"nothing":       {[]int64{0, 0, 0}, []int64{0, 0, 0}},
		"losses before": {[]int64{2*model + base, 2 * model, 2 * model}, []int64{model, model, model}},
		"asynchronous":  {[]int64{2 * (model + base), model, model}, []int64{model, model, model}},
	} {
		s := &sending{mean: mean{Local: local}, Kind: kind}
		o := Options{Rounds: 2, Checkpoint: filepath.Join(t.TempDir(), "c")}
		expect.Value(Run(context.Background(), fed, s, o))(t)
		o.Rounds = 3
		h := expect.Value(Run(context.Background(), fed, s, o))(t)
		var down, up []int64
		for _, r := range h.Rounds {
			down, up = append(down, r.BytesDown), append(up, r.BytesUp)
		}
		if !slices.Equal(down, c.down) || !slices.Equal(up, c.up) {
			t.Errorf("%s: down %v, up %v, want %v and %v", kind, down, up, c.down, c.up)
		}
	}
}

// On the simulated clock, a client's first download is longer.
func TestFrozenTakesItsTime(t *testing.T) {
	fed, _ := frozen(t, 4, 9, 2)
	fed = expect.Value(fed.WithDevices(sim.Devices{Down: sim.Constant(4), Up: sim.Constant(2)}))(t)
	s := &mean{Local: Local{Epochs: 1, Batch: 4, LR: 0.1}, Before: func(r *Round, j *Job) { j.Clients = []int{0} }}
	h := expect.Value(Run(context.Background(), fed, s, Options{Rounds: 2}))(t)
	if a, b := h.Rounds[0].Clock, h.Rounds[1].Clock-h.Rounds[0].Clock; a != (76+80)/4+76/2 || b != 76/4+76/2 {
		t.Errorf("%v and %v s", a, b)
	}
}

// louder adds 1 to all that it sees.
type louder struct{ seen *[]float32 }

func (l louder) Intercept(u *Updates, _ *rand.Rand) *Matrix {
	*l.seen, _ = u.Models.Host()
	ones := make([]float32, u.Models.Cols())
	for i := range ones {
		ones[i] = 1
	}
	return u.Models.Add(NewMatrix(ones, 1, len(ones)))
}
func (louder) String() string { return "louder" }

// Interceptors neither see nor change frozen parameters, and all models that are drawn have the same.
func TestFrozenIsNotSeen(t *testing.T) {
	fed, _ := frozen(t, 4, 9, 2)
	var seen []float32
	s := &mean{Local: Local{Epochs: 1, Batch: 4, LR: 0.1}}
	expect.Value(Run(context.Background(), fed.Intercept(louder{&seen}), s, Options{Rounds: 1}))(t)
	models := expect.Value(expect.Value(fed.Models(3, 0))(t).Host())(t)
	x, d := expect.Value(s.State.X.Host())(t), fed.Task.Dim()
	for i := range d {
		if first := models[i]; i < 20 != (models[d+i] == first && models[2*d+i] == first && seen[i] == 0 && math.Abs(float64(x[i]-first)) < 1e-6) {
			t.Errorf("parameter %d: drawn %v, %v and %v, seen %v, trained %v", i, first, models[d+i], models[2*d+i], seen[i], x[i])
		}
	}
}

func TestFreezeRefuses(t *testing.T) {
	fed, plain := frozen(t, 4, 9, 2)
	expect.Invalid(t, `layer = "w3": must be one of w1, b1, w2, b2`)(plain.Task.Freeze("w3"))
	expect.Invalid(t, "layers = [w1 w2 b1 b2]: must be not all of them")(plain.Task.Freeze("w1", "w2", "b1", "b2"))
	expect.Invalid(t, "layers = []: must be at least one")(plain.Task.Freeze())
	if fed.Task.Name != "toy, w1 frozen" || plain.Task.Params[0].Frozen {
		t.Errorf("%s, %v", fed.Task.Name, plain.Task.Params[0])
	}
	a, b := expect.Value(plain.fingerprint(nil, ""))(t), expect.Value(fed.fingerprint(nil, ""))(t)
	if a == b {
		t.Error("freezing changes no fingerprint")
	}
}

// The parameters of a layer need not be neighbors, and frozen ones are of none.
func TestLayers(t *testing.T) {
	task := &Task{Params: []Param{{Name: "a/w", Shape: []int{2}}, {Name: "a/b", Shape: []int{1}}, {Name: "b", Shape: []int{2}}, {Name: "c/d/w", Shape: []int{1}, Frozen: true}, {Name: "a/s", Shape: []int{1}}}}
	layers := task.Layers()
	if len(layers) != 2 || layers[0].Name != "a" || layers[0].Size != 4 || layers[1].Name != "b" || layers[1].Size != 2 {
		t.Fatalf("%+v", layers)
	}
	m := NewMatrix([]float32{1, 2, 4, 3, 4, 9, 10, 0, 0, 0, 0, 0, 9, 2}, 2, 7)
	norms := expect.Value(m.NormsBy(layers))(t)
	for i, want := range [][]float64{{11, 5}, {2, 0}} {
		if !slices.Equal(norms[i], want) {
			t.Errorf("row %d: %v, want %v", i, norms[i], want)
		}
	}
	if got := expect.Value(m.Layers(layers[1], layers[0]).Host())(t); !slices.Equal(got, []float32{3, 4, 1, 2, 4, 10, 0, 0, 0, 0, 0, 2}) {
		t.Error(got)
	}
	expect.Invalid(t, `layers = "a": must be one of models with 3 parameters`)(Zeros(1, 3).NormsBy(layers))
	expect.Invalid(t, "layers = none: must be at least one")(m.Layers().Host())
	expect.Error(t)(Failed(context.Canceled).NormsBy(layers))
}

package fedkit

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/memory"
	"fedkit.example/fedkit/internal/task"
	"github.com/gomlx/gomlx/core/graph"
)

// Zero stands for 0 itself in options whose zero value stands for a default.
const Zero = config.Zero

// FullBatch as Local.Batch uses all of a client's examples in every step.
const FullBatch = engine.FullBatch

// Local is a client's local solver. All algorithms share it; one local step is
//
//	w ← w − η · m ⊙ ( ∇f(w; batch) + μ (w − a) + s )
//
// with the Job's mask m, shift s and proximal center a: its Start, unless it has Pulls. Unused terms cost nothing. An Optimizer
// other than SGD replaces the gradient in the parentheses by its own direction. With ClipExamples, ∇f is the mean of clipped
// gradients of the batch's examples.
// The zero value stands for one epoch of SGD with batches of 32 and η = 0.1; in any other, LR is required.
type Local struct {
	Epochs    int       `range:"[1,inf)" default:"1"`                       // E, passes over the client's examples
	Steps     int       `range:"[1,inf)" default:"steps counted by Epochs"` // τ, steps instead of epochs
	Batch     int       `default:"32"`                                      // B, examples per step, or FullBatch; an epoch's last batch may be smaller, and weighs less
	LR        float64   // η, learning rate; required unless Local is empty
	Schedule  Schedule  // how η changes with the rounds; default: constant
	Optimizer Optimizer // default SGD{}
	Prox      float64   `range:"[0,inf)"` // μ of FedProx's proximal term (μ/2)‖w − a‖²; ignored in a Job with Pulls

	// LabelSmoothing is the ε with which labels are smoothed in training (Szegedy et al., arXiv 1512.00567, section 7): of K classes, the
	// loss of an example with label y becomes
	//
	//	(1 − ε) ℓ(out, y) + (ε/K) Σ_k ℓ(out, k),
	//
	// which for cross entropy is PyTorch's label_smoothing. An Objective gets it from Batch.Loss. ClientResult.Loss is smoothed,
	// evaluations are not. It needs data with one label per example. Default 0: labels as they are.
	LabelSmoothing float64 `range:"[0,1)"`

	// Augment changes the images of each batch at random, in training alone. Default: images as they are.
	Augment Augment

	// ClipExamples clips the gradient of every example to a norm of at most C, and Noise adds normal noise of z·C to their sum, as
	// DP-SGD does (Abadi et al., arXiv 1607.00133, Algorithm 1): for the n examples of a batch,
	//
	//	∇f = ( Σ_b g_b min(1, C/‖g_b‖₂) + N(0, z²C² I) ) / n.
	//
	// The norm is that of the parameters that the Job's Mask trains. The noise depends on the seed, the round, the call of Train, the
	// client and the step. Batches are shuffled again every epoch, while the moments accountant assumes that each example is drawn
	// independently. An Objective sees every example as a client of its own, with a batch of one. A batch takes the memory of two
	// models per example. Models without gradients of single examples are refused: GoMLX model functions, tasks with Train, running
	// values. Default 0: neither.
	ClipExamples float64 `range:"[0,inf)"` // C
	Noise        float64 `range:"[0,inf)"` // z, noise multiplier

	// KeepMemory keeps the memory of each client's optimizer, as Adam's m, v and t, from the end of one local solve to the start of
	// its next one, whichever model it then receives. That of a client that has not trained is empty. Each client has one memory, in
	// a strategy that makes several training jobs a round too; solves whose results the server does not get leave it as it was. It
	// stays on the client, so it is not traffic; a run holds that of all clients, M · Slots() · d numbers, counts them in
	// Record.StateBytes and saves them in checkpoints. Evaluations train from an empty memory. Default: the memory starts empty in
	// every solve. Asynchronous rounds refuse it.
	KeepMemory bool
}

// Augment changes images at random, in every step differently: it is cropped, mirrored, and gets noise. The numbers drawn depend on the seed,
// the round, the call of Train, the client, the step and the image's place in the batch, so that a run has the same bytes with any workers
// and after a resume. Evaluations have images as they are, and so does the full gradient of SCAFFOLD's option I. Rows that are no
// images, of Shape [height, width, channels], are refused.
type Augment struct {
	Crop  int     `range:"[0,inf)"` // p: the image is padded with p zeros on each side, and a part of its size is cut out; PyTorch's RandomCrop with padding=p
	Flip  bool    // mirrors an image, left to right, with probability ½
	Noise float64 `range:"[0,inf)"` // standard deviation of normal noise, in the unit of the model's inputs
}

// Check implements Checker.
func (a Augment) Check(fed *Federation, _ int) error {
	if a == (Augment{}) || fed == nil {
		return nil
	}
	if d := fed.Data; len(d.Shape) != 3 || d.Inputs != nil {
		return Invalid("", fmt.Sprintf("%+v", a), fmt.Sprintf("left out for rows of Shape %v, which are no images [height, width, channels]", d.Shape))
	}
	h, w := fed.Data.Shape[0], fed.Data.Shape[1]
	return refuse(a.Crop >= min(h, w), "Crop", a.Crop, fmt.Sprintf("less than %d, for images of %d × %d", min(h, w), h, w))
}

// WithDefaults returns l with its defaults filled in; one of Epochs and Steps stays 0.
func (l Local) WithDefaults() Local {
	if l.Schedule == nil && l.Optimizer == nil && l == (Local{}) {
		l.LR = 0.1
	}
	usual := Defaults(l)
	l.Batch = usual.Batch
	if l.Steps == 0 {
		l.Epochs = usual.Epochs
	}
	if l.Optimizer == nil {
		l.Optimizer = SGD{}
	}
	return l
}

// Rate returns η in round t.
func (l Local) Rate(t int) float64 {
	l = l.WithDefaults()
	if l.Schedule == nil {
		return l.LR
	}
	return l.LR * l.Schedule.Factor(t)
}

// StepSum returns ‖a‖₁ of arXiv 2007.07481, section 3: the sum of the weights that gradients have in the sum of τ steps. It is τ for SGD and
//
//	( τ − β(1 − β^τ)/(1 − β) ) / (1 − β)
//
// for Momentum, with WeightDecay around it or without. It is 0 for all else: other optimizers, and Momentum with KeepMemory.
func (l Local) StepSum(steps int) float64 {
	o := then(l.Optimizer)
	if decay, is := o.(WeightDecay); is {
		o = then(decay.Then)
	}
	switch o := o.(type) {
	case SGD:
		return float64(steps)
	case Momentum:
		if β := Defaults(o).Beta; !l.KeepMemory {
			return (float64(steps) - β*(1-math.Pow(β, float64(steps)))/(1-β)) / (1 - β)
		}
	}
	return 0
}

// Gradient returns a solver of the same loss whose one step, from w, ends at w − ∇f(w), over all of a client's examples.
func (l Local) Gradient() Local {
	return Local{Steps: 1, Batch: FullBatch, LR: 1, LabelSmoothing: l.LabelSmoothing}
}

// localOption is an option of Local: what it must be, beside the range in its tag, and the jobs that refuse it.
type localOption struct {
	name    string
	check   func(l Local, fed *Federation, n int) error // of l with its defaults, for n clients; fed may be nil
	refused map[jobKind]string                          // what it must be in such a job, and why
}

// jobKind is a kind of job that does not take all options of Local.
type jobKind int

const (
	asynchronous jobKind = iota // of Round.TrainAsync
	atServer                    // of Round.TrainServer
)

// localOptions has a row for each option whose value, or use, needs a check. What it does is for the engine: see Job.forEngine.
var localOptions = []localOption{
	{name: "Batch", check: func(l Local, _ *Federation, _ int) error {
		return refuse(l.Batch < 1 && l.Batch != FullBatch, "Batch", l.Batch, "at least 1, 0 for the default of 32, or fedkit.FullBatch")
	}},
	{name: "Augment", check: func(l Local, _ *Federation, _ int) error { // before LR, which is missing in a Local that has nothing else
		return fault.Within("Augment", config.CheckRanges(l.Augment))
	}},
	{name: "LR", check: func(l Local, _ *Federation, _ int) error {
		return refuse(!(l.LR > 0) || math.IsInf(l.LR, 0), "LR", l.LR, "a number > 0")
	}},
	{name: "Noise", check: func(l Local, _ *Federation, _ int) error {
		return refuse(l.Noise > 0 && l.ClipExamples == 0, "Noise", l.Noise, "0 without ClipExamples, of which it is a multiple")
	}},
	{name: "ClipExamples", check: func(l Local, fed *Federation, _ int) error {
		if l.ClipExamples == 0 || fed == nil {
			return nil
		}
		if fed.Task.Train != nil || fed.Task.Store != nil || task.Running(fed.Task) != "" {
			return Invalid("ClipExamples", l.ClipExamples, "0 for "+fed.Task.Name+": GoMLX model functions, tasks with Train and those with running values have no gradients of single examples")
		}
		return fed.fitsExamples(l)
	}},
	{name: "LabelSmoothing", check: func(l Local, fed *Federation, _ int) error {
		if l.LabelSmoothing == 0 || fed == nil {
			return nil
		}
		if !fed.Data.Labeled() {
			return Invalid("LabelSmoothing", l.LabelSmoothing, "0 for data without one label per example")
		}
		b, k := float64(fed.batch(l)), float64(fed.Data.Classes)
		return memory.Fits("Batch", fed.batch(l), b, 4*b*k*k, fmt.Sprintf("outputs for %.0f examples, with each of %.0f labels,", b, k))
	}},
	{name: "KeepMemory", check: func(l Local, fed *Federation, _ int) error {
		if slots := l.Optimizer.Slots(); l.KeepMemory {
			return fed.Fits("KeepMemory: Optimizer.Slots()", slots, float64(slots*fed.Size()))
		}
		return nil
	}, refused: map[jobKind]string{
		asynchronous: "false: work is computed as late as possible, not in the order in which a client does it",
		atServer:     "false at the server, which starts each job from an empty memory",
	}},
	{name: "Steps", check: func(l Local, fed *Federation, n int) error {
		if l.Steps > 0 && l.Epochs > 0 {
			return Invalid("Steps", l.Steps, "0 if Epochs is set: use one of them")
		}
		return fed.fitsLocal(l, n)
	}},
}

// Check implements Checker.
func (l Local) Check(fed *Federation, n int) error {
	l = l.WithDefaults()
	for _, o := range localOptions {
		if err := o.check(l, fed, n); err != nil {
			return err
		}
	}
	return nil
}

// refusedIn returns an error if an option is set that a kind of job refuses; path leads to l.
func (l Local) refusedIn(kind jobKind, path string) error {
	for _, o := range localOptions {
		if v := reflect.ValueOf(l).FieldByName(o.name); o.refused[kind] != "" && !v.IsZero() {
			return Invalid(path+"."+o.name, v.Interface(), o.refused[kind])
		}
	}
	return nil
}

// Optimizer is a client's local optimizer: SGD, Momentum, Adagrad, RMSProp, Adam or your own. Its slots are 0 at the start of every
// local solve, unless Local.KeepMemory is set.
// Equal values share a compiled program, so its type must be comparable.
type Optimizer interface {
	// Slots returns the number of state values per parameter.
	Slots() int
	// Direction returns d of the step w ← w − ηd, from the gradients g, and the new slots. w, g and d have an entry for each of
	// the model's parameters, [C, shape…] with the client axis in front; values of different clients must not be mixed.
	// slots[j] holds the j-th state values, shaped like w. t is the step's number from 1, a float32 scalar; with Local.KeepMemory it
	// counts each client's steps in all rounds, [C].
	Direction(w, g []*graph.Node, slots [][]*graph.Node, t *graph.Node) (d []*graph.Node, after [][]*graph.Node)
}

// SGD steps along the gradient.
type SGD struct{}

// Slots returns 0.
func (SGD) Slots() int { return 0 }

// Direction returns g.
func (SGD) Direction(_, g []*graph.Node, _ [][]*graph.Node, _ *graph.Node) ([]*graph.Node, [][]*graph.Node) {
	return g, nil
}

// Momentum is heavy-ball SGD: v ← βv + g, w ← w − ηv.
type Momentum struct {
	Beta float64 `range:"[0,1)" default:"0.9"` // β
}

// Slots returns 1: v.
func (Momentum) Slots() int { return 1 }

// Direction returns v ← βv + g.
func (m Momentum) Direction(_, g []*graph.Node, v [][]*graph.Node, _ *graph.Node) ([]*graph.Node, [][]*graph.Node) {
	d, beta := make([]*graph.Node, len(g)), Defaults(m).Beta
	for l := range g {
		d[l] = graph.Add(graph.MulScalar(v[0][l], beta), g[l])
	}
	return d, [][]*graph.Node{d}
}

// Adagrad divides by the root of the sum of all squared gradients (Duchi, Hazan and Singer, JMLR 12, 2011, with a diagonal matrix):
// v ← v + g², w ← w − η g/(√v + ε). Its steps only shrink, so the length of its memory matters: see Local.KeepMemory.
type Adagrad struct {
	Epsilon float64 `range:"(0,inf)" default:"1e-10"` // ε, as in PyTorch
}

// Slots returns 1: v.
func (Adagrad) Slots() int { return 1 }

// Direction returns g/(√v + ε).
func (a Adagrad) Direction(_, g []*graph.Node, v [][]*graph.Node, _ *graph.Node) ([]*graph.Node, [][]*graph.Node) {
	return scaled(g, v[0], 1, 1, Defaults(a).Epsilon)
}

// RMSProp divides by the root of a running mean of squared gradients (Tieleman and Hinton, lecture 6e of "Neural Networks for
// Machine Learning", 2012): v ← βv + (1−β)g², w ← w − η g/(√v + ε). v starts at 0 without a correction, so the first step from an
// empty memory is about η/√(1−β) long in every parameter.
type RMSProp struct {
	Beta    float64 `range:"[0,1)" default:"0.9"`    // β, as in the lecture; PyTorch has 0.99
	Epsilon float64 `range:"(0,inf)" default:"1e-8"` // ε
}

// Slots returns 1: v.
func (RMSProp) Slots() int { return 1 }

// Direction returns g/(√v + ε).
func (r RMSProp) Direction(_, g []*graph.Node, v [][]*graph.Node, _ *graph.Node) ([]*graph.Node, [][]*graph.Node) {
	r = Defaults(r)
	return scaled(g, v[0], r.Beta, 1-r.Beta, r.Epsilon)
}

// scaled returns g/(√v + ε) and the new v ← a v + b g².
func scaled(g, v []*graph.Node, a, b, epsilon float64) (d []*graph.Node, after [][]*graph.Node) {
	next := make([]*graph.Node, len(g))
	for l := range g {
		next[l] = graph.Add(graph.MulScalar(v[l], a), graph.MulScalar(graph.Square(g[l]), b))
		d = append(d, graph.Div(g[l], graph.AddScalar(graph.Sqrt(next[l]), epsilon)))
	}
	return d, [][]*graph.Node{next}
}

// Adam is the bias-corrected adaptive step of arXiv 1412.6980: w ← w − η m̂/(√v̂ + ε).
type Adam struct {
	Beta1   float64 `range:"[0,1)" default:"0.9"`    // β1
	Beta2   float64 `range:"[0,1)" default:"0.999"`  // β2
	Epsilon float64 `range:"(0,inf)" default:"1e-8"` // ε
}

// Slots returns 2: m and v.
func (Adam) Slots() int { return 2 }

// Direction returns m̂/(√v̂ + ε).
func (a Adam) Direction(_, g []*graph.Node, mv [][]*graph.Node, t *graph.Node) ([]*graph.Node, [][]*graph.Node) {
	a = Defaults(a)
	b1, b2 := a.Beta1, a.Beta2
	corrected := func(x *graph.Node, b float64) *graph.Node {
		share := graph.OneMinus(graph.Pow(graph.Scalar(t.Graph(), t.DType(), b), t))
		if !t.IsScalar() {
			share = byClient(share, x)
		}
		return graph.Div(x, share)
	}
	d, m, v := make([]*graph.Node, len(g)), make([]*graph.Node, len(g)), make([]*graph.Node, len(g))
	for l := range g {
		m[l] = graph.Add(graph.MulScalar(mv[0][l], b1), graph.MulScalar(g[l], 1-b1))
		v[l] = graph.Add(graph.MulScalar(mv[1][l], b2), graph.MulScalar(graph.Square(g[l]), 1-b2))
		d[l] = graph.Div(corrected(m[l], b1), graph.AddScalar(graph.Sqrt(corrected(v[l], b2)), a.Epsilon))
	}
	return d, [][]*graph.Node{m, v}
}

// byClient reshapes a number per client, [C], for operations with x, [C, …].
func byClient(v, x *graph.Node) *graph.Node {
	return graph.Reshape(v, append([]int{x.Shape().Dimensions[0]}, slices.Repeat([]int{1}, x.Rank()-1)...)...)
}

// Clip clips a client's gradient g to a global norm of at most Norm before another optimizer: g ← g · min(1, Norm/‖g‖₂).
type Clip struct {
	Norm float64   `range:"(0,inf)"` // largest global norm; required
	Then Optimizer // default SGD{}
}

// then returns the wrapped optimizer, SGD by default.
func then(o Optimizer) Optimizer { return cmp.Or[Optimizer](o, SGD{}) }

// Slots returns those of Then.
func (c Clip) Slots() int { return then(c.Then).Slots() }

// Direction returns that of Then for the clipped gradients.
func (c Clip) Direction(w, g []*graph.Node, slots [][]*graph.Node, t *graph.Node) ([]*graph.Node, [][]*graph.Node) {
	var squares *graph.Node // ‖g‖² by client, [C]
	for _, v := range g {
		s := graph.ReduceSum(graph.Reshape(graph.Square(v), v.Shape().Dimensions[0], -1), 1)
		if squares == nil {
			squares = s
		} else {
			squares = graph.Add(squares, s)
		}
	}
	// A gradient of 0 stays 0, and a non-finite one stays non-finite.
	by := graph.MinScalar(graph.Div(graph.Scalar(squares.Graph(), squares.DType(), c.Norm), graph.Sqrt(squares)), 1)
	clipped := make([]*graph.Node, len(g))
	for l, v := range g {
		clipped[l] = graph.Mul(v, byClient(by, v))
	}
	return then(c.Then).Direction(w, clipped, slots, t)
}

// WeightDecay adds weight decay to another optimizer's direction d: w ← w − η(d + λw). Around SGD this is the gradient of
// (λ/2)‖w‖², around Adam it is AdamW (arXiv 1711.05101). Parameters that a Job's Mask freezes do not decay.
type WeightDecay struct {
	Lambda float64   `range:"[0,inf)"` // λ
	Then   Optimizer // default SGD{}
}

// Slots returns those of Then.
func (o WeightDecay) Slots() int { return then(o.Then).Slots() }

// Direction returns that of Then, plus λw.
func (o WeightDecay) Direction(w, g []*graph.Node, slots [][]*graph.Node, t *graph.Node) ([]*graph.Node, [][]*graph.Node) {
	d, after := then(o.Then).Direction(w, g, slots, t)
	decayed := make([]*graph.Node, len(d))
	for l := range d {
		decayed[l] = graph.Add(d[l], graph.MulScalar(w[l], o.Lambda))
	}
	return decayed, after
}

// Schedule is the clients' learning-rate schedule over rounds.
type Schedule interface {
	// Factor returns the factor of η in round t, from 1; it must be > 0.
	Factor(t int) float64
}

// ScheduleFunc adapts a function to Schedule.
type ScheduleFunc func(t int) float64

// Factor calls f.
func (f ScheduleFunc) Factor(t int) float64 { return f(t) }

// Decay lowers η exponentially: the factor of round t is γ^⌊(t−1)/Every⌋.
type Decay struct {
	Gamma float64 `range:"(0,1]" default:"0.99"` // γ
	Every int     `range:"[1,inf)" default:"1"`  // rounds per step
}

// Factor implements Schedule.
func (d Decay) Factor(t int) float64 {
	d = Defaults(d)
	return math.Pow(d.Gamma, float64((t-1)/d.Every))
}

// Cosine anneals η along half a cosine, by a factor of 1 in round 1 to Floor from round Rounds on (arXiv 1608.03983, without
// restarts).
type Cosine struct {
	Rounds int     `range:"[2,inf)"`              // round in which Floor is reached; required
	Floor  float64 `range:"(0,1]" default:"0.01"` // final factor of η
}

// Factor implements Schedule.
func (c Cosine) Factor(t int) float64 {
	c = Defaults(c)
	done := min(1, float64(t-1)/float64(c.Rounds-1))
	return c.Floor + (1-c.Floor)*(1+math.Cos(math.Pi*done))/2
}

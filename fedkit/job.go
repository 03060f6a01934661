package fedkit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/random"
	"fedkit.example/fedkit/internal/rows"
	"fedkit.example/fedkit/internal/task"
	"github.com/gomlx/gomlx/core/tensors"
)

// Job is the local training of a round's clients: from Start, each iterates
//
//	w ← w − η_i · m ⊙ ( ∇f_i(w; batch) + Σ_k λ_k p_k ⊙ (w − a_k) + s )
//
// Matrices have one row for all clients, [1, d], or one per client of the job, [n, d].
//
// # Communication
//
// Traffic is counted in models of 4 bytes per parameter that is not frozen (see Param.Frozen). By default, each client receives one
// for Start, and one more for Shift, for every other target of Pulls, and for every Mask with one row per client; it sends one back,
// which interceptors such as attacks see. With Communicated, only a part of every model is communicated; with StayLocal, nothing but
// what Down says, and with Relayed, what Round.Send sends. Extra, PerExample and Weights are not counted. Down and Up override the
// counts, for example if the clients have the model already: after Round.Losses or Round.LowestLoss, which send all models, Down is Zero.
type Job struct {
	Clients []int   // S, each at most once
	Local   Local   // the local solver
	Start   *Matrix // initial model of each client

	// MaxClients is the largest cohort of a strategy whose cohorts vary in size, as with Poisson sampling: programs are made for as many
	// clients, and serve all smaller cohorts; only rounding changes. Round.Normal and Uniform take it over. Default: len(Clients), for
	// cohorts of one size. If the job has matrices with one row per client, take them from one with a row for all: m.Take(S...).
	MaxClients int

	// Rows are the training rows that the job uses, by client of the job: some of Clients[c].Train, each once, as for a curriculum, a window
	// of a stream or unlearning. An epoch is a pass over them, their number is the client's in ClientResult.Examples, and PerExample and
	// Weights are of them, in this order. Default: all.
	Rows [][]int

	Epochs []int     // E_i by client of the job, instead of Local.Epochs
	Steps  []int     // τ_i by client of the job, instead of Local.Epochs or Local.Steps; more than usual may compile a program of twice the capacity
	LR     []float64 // η_i by client of the job, instead of Local.LR; Local.Schedule still applies
	Pulls  []Pull    // λ_k, p_k and a_k, instead of Local.Prox, which pulls to Start
	Shift  *Matrix   // s; nil: 0
	Mask   *Matrix   // m, 1 for a trained parameter and 0 for a frozen one; nil: all are trained

	Objective Objective          // replaces the task's loss; default: the task's loss
	Extra     map[string]*Matrix // constants for the Objective by name, [1, g] or [n, g]; neither trained, averaged nor sent

	// PerExample has constants for the Objective that differ from example to example, such as a teacher's outputs: by name and by
	// client of the job, g numbers for each of its training examples, in the order of Clients[c].Train, [n_i · g].
	PerExample map[string][][]float32
	// Weights are factors of the examples' losses: by client of the job and by training example, as in PerExample, [n_i]. The mean
	// over a batch still divides by its number of examples. Default: 1.
	Weights [][]float32

	// ReuseBatches reuses the batches of an earlier call of Train in this round, counted from 1. Default 0: every call draws its
	// own.
	ReuseBatches int

	StayLocal    bool    // the trained models stay with their clients: nothing is sent back or intercepted, and only Down models are received
	Relayed      bool    // models travel by Round.Send, to an edge or other clients: this job communicates nothing, but they are intercepted
	Communicated *Matrix // 1 for a parameter that is communicated and 0 for one that stays with its client, [1, d]; nil: all are communicated
	Down, Up     float64 // models that each client receives and sends; 0: counted as above, Zero: none

	memory *Matrix   // of the clients' optimizers, [n, slots·d]; nil: empty
	before []float32 // by client of the job, the local steps behind memory
}

// solve solves the job as the call-th of a round, for the clients at the positions in only; nil: for all.
func (j *Job) solve(ctx context.Context, fed *Federation, on engine.Device, seed uint64, round, call int, only []int) (*Updates, error) {
	if err := j.check(fed, call); err != nil {
		return nil, err
	}
	e, err := fed.engine()
	if err != nil {
		return nil, err
	}
	rates, err := j.rates(round)
	if err != nil {
		return nil, err
	}
	draw := random.Draws{Seed: seed, Round: round, Call: call, Batches: cmp.Or(j.ReuseBatches, call)}
	work, err := j.forEngine(fed, rates, func(int) random.Draws { return draw })
	if err != nil {
		return nil, err
	}
	work.Only = only
	out, err := e.Solve(ctx, work, on)
	if err != nil {
		return nil, err
	}
	u := &Updates{Results: j.solves(fed, round, rates, out), Positions: sequence(len(j.Clients)), Start: j.Start}
	if only != nil {
		u.Results, u.Positions, out.Place = pick(u.Results, only), only, pick(out.Place, only)
		if j.Start.Rows() > 1 {
			u.Start = j.Start.Take(only...)
		}
	}
	u.Models = rows.FromPieces(out.Models, out.Place, j.MaxClients)
	u.Local = u.Models
	if out.Memory != nil {
		u.memory = rows.FromPieces(out.Memory, out.Place, j.MaxClients)
	}
	return u, nil
}

// pick returns the values at the given positions; nil for a nil list.
func pick[T any](values []T, at []int) (some []T) {
	for _, i := range at {
		if values != nil {
			some = append(some, values[i])
		}
	}
	return some
}

// forEngine converts the job to the engine's; draw returns the source of a client's randomness, by the engine's client number.
func (j *Job) forEngine(fed *Federation, rates []float64, draw func(client int) random.Draws) (work *engine.Job, err error) {
	onDevice := func(m *Matrix) (t *tensors.Tensor) {
		if m != nil && err == nil {
			t, err = rows.TensorFor(m, len(j.Clients), j.MaxClients)
		}
		return t
	}
	extra := map[string]*tensors.Tensor{}
	for name, m := range j.Extra {
		extra[name] = onDevice(m)
	}
	l, pull := j.Local.WithDefaults(), j.pull()
	work = &engine.Job{
		Clients: fed.numbers(j.Clients), Names: j.Clients, Rows: j.Rows, Most: j.MaxClients, Batch: l.Batch, Epochs: l.Epochs, EpochsOf: j.Epochs, Steps: l.Steps, StepsOf: j.Steps, Rate: rates, Optimizer: l.Optimizer,
		Memory: onDevice(j.memory), Before: j.before, Prox: j.mu(), Clip: l.ClipExamples, Noise: l.Noise * l.ClipExamples, ProxWeights: onDevice(pull.Mask), Anchor: onDevice(pull.To),
		Start: onDevice(j.Start), Shift: onDevice(j.Shift), Mask: onDevice(fed.only(j.Mask)), Extra: extra, PerExample: j.perExample(), Objective: j.objective(fed),
		Order:   func(client, epoch int) *rand.Rand { return draw(client).Order(client, epoch) },
		Key:     func(client int) [3]uint64 { return draw(client).Key(client, l.Noise > 0) },
		Augment: engine.Augment(l.Augment),
	}
	return work, err
}

// solves returns the clients' results in a round, at the given learning rates.
func (j *Job) solves(fed *Federation, round int, rates []float64, out *engine.Solved) []ClientResult {
	solves, mu := make([]ClientResult, len(j.Clients)), j.mu()
	for i, c := range j.Clients {
		solves[i] = ClientResult{Round: round, Client: c, Examples: len(j.rowsOf(fed, c)), Steps: out.Steps[i], Loss: Float(out.Loss[i]),
			Drift: Float(out.Drift[i]), LR: Float(rates[i]), StayedLocal: j.StayLocal}
		if mu != nil {
			solves[i].Mu = Float(mu[i])
		}
	}
	return solves
}

// rates returns the clients' learning rates η_i in a round.
func (j *Job) rates(round int) ([]float64, error) {
	factor := 1.0
	if s := j.Local.Schedule; s != nil {
		if factor = s.Factor(round); !(factor > 0) || math.IsInf(factor, 0) {
			return nil, Invalid("Local.Schedule", fmt.Sprintf("a factor of %v in round %d", factor, round), "a number > 0")
		}
	}
	rates := slices.Repeat([]float64{j.Local.WithDefaults().LR}, len(j.Clients))
	if j.LR != nil {
		rates = slices.Clone(j.LR)
	}
	for i := range rates {
		rates[i] *= factor
	}
	return rates, nil
}

// steps returns each client's local steps.
func (j *Job) steps(f *Federation) (steps []int) {
	l := j.Local.WithDefaults()
	for i, c := range j.Clients {
		epochs, s := l.Epochs, l.Steps
		if j.Epochs != nil {
			epochs = j.Epochs[i]
		}
		if j.Steps != nil {
			s = j.Steps[i]
		}
		_, _, pass := j.pass(f, c)
		steps = append(steps, cmp.Or(s, epochs*pass))
	}
	return steps
}

// examples returns how many examples a client processes in a number of local steps.
func (j *Job) examples(f *Federation, client, steps int) float64 {
	own, batch, pass := j.pass(f, client)
	return float64(steps/pass*own + steps%pass*batch)
}

// rowsOf returns the training rows of a client that the job uses.
func (j *Job) rowsOf(f *Federation, client int) []int {
	if j.Rows != nil {
		return j.Rows[slices.Index(j.Clients, client)]
	}
	return f.Clients[client].Train
}

// pass returns a client's examples, those of each batch of a pass over them but the last, which has the rest, and their number.
func (j *Job) pass(f *Federation, client int) (own, batch, batches int) {
	own, batch = len(j.rowsOf(f, client)), j.Local.WithDefaults().Batch
	if batch == FullBatch || batch > own {
		batch = own
	}
	return own, batch, (own + batch - 1) / batch
}

// apart reports whether the job sends nothing to the server, so that it does not wait for it.
func (j *Job) apart() bool { return j.StayLocal || j.Relayed }

// traffic returns how many models each client receives and sends.
func (j *Job) traffic(t *Task) (down, up float64, err error) {
	if j.apart() {
		return orDefault(j.Down, 0), 0, nil
	}
	up = 1
	if j.Communicated != nil {
		values, err := j.Communicated.Host()
		if err != nil {
			return 0, 0, err
		}
		shared, thaw := 0, task.Thaw(t)
		for i, v := range values {
			if v != 0 && (thaw == nil || thaw[i] != 0) {
				shared++
			}
		}
		up = float64(4*shared) / float64(t.Bytes())
	}
	down = up
	given, masks := []*Matrix{j.Shift}, []*Matrix{j.Mask}
	for _, p := range j.pulls() {
		given, masks = append(given, p.To), append(masks, p.Mask)
	}
	for i, m := range append(given, masks...) {
		if m != nil && m != j.Start && (i < len(given) || m.Rows() > 1) {
			down += up
		}
	}
	return orDefault(j.Down, down), orDefault(j.Up, up), nil
}

// orDefault resolves a value: usual for 0, and 0 for Zero.
func orDefault(v, usual float64) float64 {
	switch v {
	case 0:
		return usual
	case Zero:
		return 0
	}
	return v
}

// jobField is a field of a job, as checked.
type jobField struct {
	name  string
	once  bool  // it is set, which Async refuses: of earlier rounds, only Start and Local are kept
	wrong error // why the engine cannot run the job
}

// fields checks each field of the job, as the call-th of a round.
func (j *Job) fields(f *Federation, call int) []jobField {
	n, d := len(j.Clients), f.Task.Dim()
	positive := func(n int) bool { return n >= 1 }
	return []jobField{
		{"Clients", j.Clients != nil, j.checkClients(f)},
		{"MaxClients", j.MaxClients != 0, refuse(j.MaxClients != 0 && (j.MaxClients < n || j.MaxClients > len(f.Clients)), "Job.MaxClients", j.MaxClients,
			fmt.Sprintf("in [%d, %d]: at least the %d clients of the job, and at most all; or 0 for a cohort of one size", n, len(f.Clients), n))},
		{"Local", false, check("Local", j.Local, f, n)},
		{"Rows", j.Rows != nil, j.checkExamples(f)},
		{"Start", false, checkRows("Start", j.Start, n, d)},
		{"Epochs", j.Epochs != nil, cmp.Or(
			refuse(j.Epochs != nil && j.Local.Steps > 0, "Job.Epochs", j.Epochs, "nil if Local.Steps is set: use Job.Steps"),
			checkList("Epochs", j.Epochs, j.Clients, "at least 1", positive))},
		{"Steps", j.Steps != nil, cmp.Or(
			refuse(j.Steps != nil && j.Epochs != nil, "Job.Steps", j.Steps, "nil if Job.Epochs is set: use one of them"),
			checkList("Steps", j.Steps, j.Clients, "at least 1", positive))},
		{"LR", j.LR != nil, checkList("LR", j.LR, j.Clients, "a number > 0", func(lr float64) bool { return lr > 0 && !math.IsInf(lr, 0) })},
		{"Pulls", j.Pulls != nil, j.checkPulls(d)},
		{"Shift", j.Shift != nil, checkRows("Shift", j.Shift, n, d)},
		{"Mask", j.Mask != nil, checkRows("Mask", j.Mask, n, d)},
		{"Objective", false, engine.CheckKey("Job.Objective", j.Objective)},
		{"Extra", j.Extra != nil, j.checkExtra()},
		{"PerExample", j.PerExample != nil, j.checkPerExample(f)},
		{"Weights", j.Weights != nil, j.checkWeights(f)},
		{"ReuseBatches", j.ReuseBatches != 0, refuse(j.ReuseBatches < 0 || j.ReuseBatches > call, "Job.ReuseBatches", j.ReuseBatches,
			fmt.Sprintf("in [0, %d], the calls of Train in this round so far", call))},
		{"StayLocal", j.StayLocal, refuse(j.StayLocal && (j.Communicated != nil || j.Up != 0), "Job.StayLocal", true,
			"false if Communicated or Up is set: they say what is sent")},
		{"Relayed", j.Relayed, refuse(j.Relayed && (j.StayLocal || j.Down != 0 || j.Up != 0), "Job.Relayed", true,
			"false if StayLocal, Down or Up is set: Round.Send counts what travels")},
		{"Communicated", false, checkRows("Communicated", j.Communicated, 0, d)},
		{"Down", false, checkTraffic("Down", j.Down)},
		{"Up", false, checkTraffic("Up", j.Up)},
	}
}

// check refuses a job that the engine cannot run.
func (j *Job) check(f *Federation, call int) error {
	for _, field := range j.fields(f, call) {
		if field.wrong != nil {
			return field.wrong
		}
	}
	return j.fits(f)
}

// refuse returns an error if bad is set.
func refuse(bad bool, field string, value any, want string) error {
	if bad {
		return Invalid(field, value, want)
	}
	return nil
}

// checkClients refuses clients that do not exist, and duplicates: a client listed twice would draw the same batches twice, and
// have one row in the record.
func (j *Job) checkClients(f *Federation) error {
	if len(j.Clients) == 0 {
		return Invalid("Job.Clients", "[]", "at least one client")
	}
	seen := make([]bool, len(f.Clients))
	for _, c := range j.Clients {
		if c < 0 || c >= len(f.Clients) {
			return Invalid("Job.Clients", c, fmt.Sprintf("in [0, %d)", len(f.Clients)))
		}
		if seen[c] {
			return Invalid("Job.Clients", fmt.Sprintf("%d twice", c), "different clients: call Train once for each model that a client trains")
		}
		seen[c] = true
	}
	return nil
}

// checkList refuses a list without one value per client, or with a value that is not allowed.
func checkList[T any](name string, list []T, clients []int, allowed string, ok func(T) bool) error {
	if list != nil && len(list) != len(clients) {
		return Invalid("len(Job."+name+")", len(list), fmt.Sprintf("%d, one per client", len(clients)))
	}
	for i, v := range list {
		if !ok(v) {
			return Invalid("Job."+name, v, fmt.Sprintf("%s (client %d)", allowed, clients[i]))
		}
	}
	return nil
}

func checkTraffic(name string, models float64) error {
	return refuse(!(models >= 0) || math.IsInf(models, 0), "Job."+name, models, "a number ≥ 0: 0 for the usual, or fedkit.Zero")
}

// checkRows refuses a matrix that is not [1, d] or, unless n is 0, [n, d]. Only Start may not be nil.
func checkRows(name string, m *Matrix, n, d int) error {
	if m == nil && name != "Start" {
		return nil
	}
	if err := m.Err(); err != nil {
		return fmt.Errorf("job: %s: %w", name, err)
	}
	want := fmt.Sprintf("[1, %d]", d)
	if n > 0 {
		want += fmt.Sprintf(" or [%d, %d]", n, d)
	}
	return refuse(m.Cols() != d || m.Rows() != 1 && m.Rows() != n, "Job."+name, fmt.Sprintf("[%d, %d]", m.Rows(), m.Cols()), want)
}

// checkExamples refuses Rows that are not some of each client's.
func (j *Job) checkExamples(f *Federation) error {
	if j.Rows == nil || j.checkClients(f) != nil {
		return nil
	}
	if len(j.Rows) != len(j.Clients) {
		return Invalid("len(Job.Rows)", len(j.Rows), fmt.Sprintf("%d, one list per client", len(j.Clients)))
	}
	for i, c := range j.Clients {
		name, own := fmt.Sprintf("Job.Rows[%d]", i), map[int]bool{}
		for _, row := range f.Clients[c].Train {
			own[row] = true
		}
		if len(j.Rows[i]) == 0 {
			return Invalid(name, "[]", "at least one row: leave a client without any out of Job.Clients")
		}
		for _, row := range j.Rows[i] {
			if !own[row] {
				return Invalid(name, row, fmt.Sprintf("one of the %d training rows of client %d, at most once", len(f.Clients[c].Train), c))
			}
			own[row] = false
		}
	}
	return nil
}

func (j *Job) checkExtra() error {
	n := len(j.Clients)
	for name, m := range j.Extra {
		if err := m.Err(); err != nil {
			return fmt.Errorf("job: Extra[%q]: %w", name, err)
		}
		if m.Rows() != 1 && m.Rows() != n {
			return Invalid(fmt.Sprintf("Job.Extra[%q]", name), fmt.Sprintf("[%d, %d]", m.Rows(), m.Cols()), fmt.Sprintf("[1, g] or [%d, g]", n))
		}
	}
	return nil
}

func (j *Job) checkPerExample(f *Federation) error {
	for name, lists := range j.PerExample {
		if name == weights {
			return Invalid("Job.PerExample", strconv.Quote(name), "names that are not empty")
		}
		if err := j.checkLists(f, fmt.Sprintf("PerExample[%q]", name), lists, 0); err != nil {
			return err
		}
	}
	return nil
}

func (j *Job) checkWeights(f *Federation) error {
	if j.Weights == nil {
		return nil
	}
	return j.checkLists(f, "Weights", j.Weights, 1)
}

// checkLists refuses lists without g values for every training example of each client; g = 0 stands for any number that is the same
// for all. checkClients has its own error.
func (j *Job) checkLists(f *Federation, name string, lists [][]float32, g int) error {
	if j.checkClients(f) != nil || j.checkExamples(f) != nil {
		return nil
	}
	if len(lists) != len(j.Clients) {
		return Invalid("len(Job."+name+")", len(lists), fmt.Sprintf("%d, one per client", len(j.Clients)))
	}
	if g == 0 {
		g = max(1, len(lists[0])/len(j.rowsOf(f, j.Clients[0])))
	}
	for i, c := range j.Clients {
		if n := len(j.rowsOf(f, c)); len(lists[i]) != n*g {
			return Invalid(fmt.Sprintf("len(Job.%s[%d])", name, i), len(lists[i]), fmt.Sprintf("%d, %d for each training example of client %d", n*g, g, c))
		}
	}
	return nil
}

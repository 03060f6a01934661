// Package fedtest tests strategies and their parts: one call holds yours to the same standard as fedkit's own.
//
//	func TestHalfWay(t *testing.T) {
//		if err := fedtest.TestStrategy(&HalfWay{Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}}); err != nil {
//			t.Error(err)
//		}
//	}
//
// It runs on least squares, or on any federation: Suite{Fed: fed}.Test. The parts have calls of their own, such as TestSelector.
// Nothing here needs package testing, so the same calls work in a notebook cell.
package fedtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/tree"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/sim"
)

// Suite is the conformance test of a strategy. The zero value suits most strategies.
type Suite struct {
	// Fed is the federation that all of it runs on: small, as there are some hundred rounds. It is for strategies that need classes, or a
	// model of their own. Default Quadratic, with two clients held out. If Fed has no unseen clients, copies stand in.
	Fed *fedkit.Federation

	Rounds            int     // of the test of learning; default 400, on Fed 20
	Loss              float64 // test loss that these rounds must reach; default 1e-3, on Fed any below that of the initial model. Negative: no limit
	Warmup            int     // rounds after which every program of the strategy has run once; default 1
	FullParticipation bool    // it stops with an error if a round has too few clients: on the clock, nobody is late or drops out

	NoClock bool // it refuses federations with devices, which is tested in place of the clock

	Devices sim.Rule // of the clients, for strategies that need a clock; default none
}

// TestStrategy tests a strategy, a pointer to a struct whose options suit Quadratic, as Suite{}.Test does.
func TestStrategy(s fedkit.Strategy) error { return Suite{}.Test(s) }

// Test runs copies of the strategy on Fed or Quadratic, whose six clients have between 8 and 40 examples, and returns an
// error for everything that does not hold:
//
//   - it learns: on Quadratic the clients share an optimum, and the loss comes near 0;
//   - the same seed gives the same bytes, for any number of workers;
//   - clients that never took part find a model, and that changes nothing: see fedkit.UnseenServer;
//   - a run that was interrupted and resumed ends with the same bytes;
//   - on devices that take no time it does the same, and on others, which are late and drop out, it keeps its bytes too;
//   - after the first round nothing is compiled, and nothing in another run, since programs that compute the same are shared;
//   - options outside the range in their tag are refused by name, before anything runs;
//   - an option of 0 means the default in its tag.
func (c Suite) Test(s fedkit.Strategy) error {
	v := reflect.ValueOf(s)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("fedtest: %T: %w", s, fedkit.Invalid("strategy", fmt.Sprintf("%T", s), "a pointer to a struct"))
	}
	return hold(s, []trial[fedkit.Strategy]{
		{"learns", c.learns}, {"bytes", c.sameBytes}, {"clock", c.onClock}, {"unseen clients", c.unseen}, {"compilations", c.compiles}, {"ranges", c.ranges}, {"defaults", c.defaults},
	})
}

// trial is one thing that must hold.
type trial[P any] struct {
	name string
	run  func(P) error
}

// hold returns what does not hold of a strategy or a part.
func hold[P any](part P, trials []trial[P]) error {
	one.Lock() // programs are counted for the whole process
	defer one.Unlock()
	var failed []error
	for _, t := range trials {
		if err := caught(func() error { return t.run(part) }); err != nil {
			failed = append(failed, fmt.Errorf("fedtest: %T: %s: %w", part, t.name, err))
		}
	}
	return errors.Join(failed...)
}

var one sync.Mutex

// caught turns a panic into an error.
func caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// federation is what the suite runs on, with its devices.
func (c Suite) federation() (*fedkit.Federation, error) {
	fed, err := c.plain()
	if err != nil || c.Devices == nil {
		return fed, err
	}
	return fed.WithDevices(c.Devices)
}

// plain is what the suite runs on.
func (c Suite) plain() (*fedkit.Federation, error) {
	if c.Fed == nil {
		return shared()
	}
	return c.Fed, nil
}

func (c Suite) learns(s fedkit.Strategy) error {
	if c.Loss < 0 {
		return nil
	}
	fed, err := c.federation()
	if err != nil {
		return err
	}
	rounds, most, than := 400, 1e-3, ""
	if c.Fed != nil {
		rounds = 20
	}
	rounds, most = cmp.Or(c.Rounds, rounds), cmp.Or(c.Loss, most)
	h, err := fedkit.Run(context.Background(), fed, fresh(s), fedkit.Options{Rounds: rounds, EvalEvery: rounds, Seed: 5})
	if err != nil {
		return err
	}
	if c.Fed != nil && c.Loss == 0 {
		at, err := fedkit.Run(context.Background(), c.Fed, &idle{}, fedkit.Options{Rounds: 1, Seed: 5})
		if err != nil {
			return err
		}
		first := at.Last()
		if h.Last().Global == nil {
			first.Global = nil
		}
		most, than = float64(first.Score().Loss), ", that of the initial model"
	}
	if loss := float64(h.Last().Score().Loss); !(loss < most) {
		return fmt.Errorf("the loss is %v after %d rounds, want < %v%s", loss, len(h.Rounds), most, than)
	}
	return nil
}

// idle serves the initial model, and never trains it.
type idle struct{ host }

// Round implements fedkit.Strategy.
func (*idle) Round(*fedkit.Round) error { return nil }

// eight is a run of eight rounds.
func eight(fed *fedkit.Federation, s fedkit.Strategy, o fedkit.Options) ([]byte, error) {
	o.Rounds, o.EvalEvery, o.Seed = 8, 2, 6
	h, err := fedkit.Run(context.Background(), fed, s, o)
	if err != nil {
		return nil, err
	}
	if len(h.Rounds) != 8 {
		return nil, fmt.Errorf("%d rounds in the history, want 8", len(h.Rounds))
	}
	return Outcome(s, h)
}

// Outcome returns a strategy's State and what was recorded, except for times, byte for byte.
func Outcome(s fedkit.Strategy, h *fedkit.History) ([]byte, error) {
	var b bytes.Buffer
	e := gob.NewEncoder(&b)
	for s != nil {
		if state, _ := config.Field(s, "State"); state.IsValid() && state.Type().Size() > 0 {
			if path, found := tree.Cycle(state); found { // gob would not come to an end
				return nil, fedkit.Invalid("State"+path, "what holds it", "a value without cycles, so that it can be saved")
			}
			if err := e.EncodeValue(state); err != nil {
				return nil, fmt.Errorf("the State: %w", err)
			}
		}
		outer, _ := s.(interface{ Unwrap() fedkit.Strategy })
		if s = nil; outer != nil {
			s = outer.Unwrap()
		}
	}
	for _, r := range cmp.Or(h, &fedkit.History{}).Rounds {
		r.Seconds, r.EvalTime = 0, 0
		record, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		b.Write(record)
	}
	return b.Bytes(), nil
}

// sameBytes runs the strategy with other numbers of workers, and interrupted and resumed: always with the same outcome.
func (c Suite) sameBytes(s fedkit.Strategy) error {
	fed, err := c.federation()
	if err != nil {
		return err
	}
	return again(fed, s)
}

// again is sameBytes on a federation.
func again(fed *fedkit.Federation, s fedkit.Strategy) error {
	first := fresh(s)
	want, err := eight(fed, first, fedkit.Options{})
	if err != nil {
		return err
	}
	before := xla.Compilations()
	for _, n := range []int{1, 4} {
		got, err := eight(fed, fresh(s), fedkit.Options{Concurrency: n})
		if err == nil && !bytes.Equal(want, got) {
			err = fmt.Errorf("the bytes differ with %d workers", n)
		}
		if err != nil {
			return err
		}
	}
	if n := xla.Compilations() - before; n != 0 {
		return fmt.Errorf("%d programs were compiled in another run, want 0: they differ from those of the first run, such as by a number in them that belongs in their arguments, or in the parameter of fedkit.NewPrograms", n)
	}
	runtime.KeepAlive(first) // and its own programs, which those of another run share if they compute the same
	got, err := resumed(fed, s, fedkit.Pace{})
	if err == nil && !bytes.Equal(want, got) {
		err = errors.New("a resumed run ends with different bytes")
	}
	return err
}

// refused holds a strategy to refuse devices.
func refused(fed *fedkit.Federation, s fedkit.Strategy) error {
	fed, err := fed.WithDevices(sim.Devices{})
	if err != nil {
		return err
	}
	if _, err = fedkit.Describe(fed, fresh(s), fedkit.Options{Rounds: 1}); !errors.Is(err, fedkit.ErrInvalid) {
		return fmt.Errorf("on devices: %v, want an error that is fedkit.ErrInvalid", err)
	}
	return nil
}

// onClock runs the strategy on devices.
func (c Suite) onClock(s fedkit.Strategy) error {
	fed, err := c.plain()
	switch {
	case err != nil:
	case c.NoClock:
		return refused(fed, s)
	case c.Devices == nil && fed.Devices == nil:
		err = withoutDelay(fed, s)
	}
	if err != nil {
		return err
	}
	return c.late(fed, s)
}

// late runs the strategy on devices that are late, off or drop out.
func (c Suite) late(fed *fedkit.Federation, s fedkit.Strategy) error {
	examples, d := 0., float64(fed.Task.Dim()) // times are about those of Quadratic, with 140 examples and 5 parameters, whatever the federation
	for _, client := range fed.Clients {
		examples += float64(len(client.Train))
	}
	devices := sim.Devices{PerExample: sim.LogNormal{Median: 1e-3 * 140 / 6 * float64(fed.Size()) / examples, Sigma: 1}, Up: sim.Uniform{Low: 1e3 / 5 * d, High: 1e4 / 5 * d}, Seed: 3}
	o := fedkit.Options{Concurrency: 1}
	if !c.FullParticipation {
		devices.Drop, devices.OnFor, devices.OffFor = sim.Constant(0.1), sim.Constant(0.4), sim.Constant(0.1)
		o.Pace = fedkit.Pace{Deadline: 0.3, OverSelection: 0.2}
	}
	timed, err := fed.WithDevices(devices)
	if err != nil {
		return err
	}
	want, err := eight(timed, fresh(s), o)
	if err != nil {
		return err
	}
	got, err := resumed(timed, s, o.Pace)
	if err == nil && !bytes.Equal(want, got) {
		err = errors.New("on devices, a resumed run ends with different bytes")
	}
	return err
}

// withoutDelay runs the strategy on devices that take no time.
func withoutDelay(fed *fedkit.Federation, s fedkit.Strategy) error {
	want, err := eight(fed, fresh(s), fedkit.Options{})
	if err != nil {
		return err
	}
	instant, err := fed.WithDevices(sim.Devices{})
	if err != nil {
		return err
	}
	got, err := eight(instant, fresh(s), fedkit.Options{})
	if err == nil && !bytes.Equal(want, got) {
		err = errors.New("the bytes differ on devices that take no time")
	}
	return err
}

// unseen runs the strategy with clients that never take part, and without.
func (c Suite) unseen(s fedkit.Strategy) error {
	fed, err := c.federation()
	if err != nil {
		return err
	}
	with, without, alone := fresh(s), fresh(s), *fed
	alone.Unseen = nil
	if fed.Unseen == nil {
		standIns, open := alone, alone
		open.Unseen = &standIns
		fed = &open
	}
	h, err := fedkit.Run(context.Background(), fed, with, fedkit.Options{Rounds: 4, EvalEvery: 2, Seed: 6})
	if err != nil {
		return err
	}
	for i, score := range h.Last().Unseen {
		if loss := float64(score.Loss); math.IsNaN(loss) || math.IsInf(loss, 0) {
			return fmt.Errorf("the loss of unseen client %d is %v", i, loss)
		}
	}
	if n := len(h.Last().Unseen); n != fed.Unseen.Size() {
		return fmt.Errorf("%d unseen clients have a score, want %d", n, fed.Unseen.Size())
	}
	for i := range h.Rounds {
		h.Rounds[i].Unseen = nil
	}
	a, err := Outcome(with, h)
	if err != nil {
		return err
	}
	if h, err = fedkit.Run(context.Background(), &alone, without, fedkit.Options{Rounds: 4, EvalEvery: 2, Seed: 6}); err != nil {
		return err
	}
	b, err := Outcome(without, h)
	if err == nil && !bytes.Equal(a, b) {
		err = errors.New("a run with unseen clients ends with different bytes than one without: ServeUnseen must change nothing")
	}
	return err
}

// resumed is eight in two parts: the second goes on from the checkpoint of round 5, which was not evaluated.
func resumed(fed *fedkit.Federation, s fedkit.Strategy, pace fedkit.Pace) ([]byte, error) {
	dir, err := os.MkdirTemp("", "fedtest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	o := fedkit.Options{Rounds: 8, EvalEvery: 2, Seed: 6, Pace: pace, Checkpoint: filepath.Join(dir, "checkpoint")}
	for h, err := range fedkit.Rounds(context.Background(), fed, fresh(s), o) {
		if err != nil {
			return nil, err
		}
		if len(h.Rounds) == 5 {
			break
		}
	}
	// A part that remembers something itself, and not in the State, now remembers another run.
	if _, err := fedkit.Run(context.Background(), fed, fresh(s), fedkit.Options{Rounds: 2, EvalEvery: 2, Seed: 7, Pace: pace}); err != nil {
		return nil, err
	}
	return eight(fed, fresh(s), o)
}

func (c Suite) compiles(s fedkit.Strategy) error {
	fed, err := c.federation()
	if err != nil {
		return err
	}
	xla.NewEra()
	warm, first := max(1, c.Warmup), 0
	for h, err := range fedkit.Rounds(context.Background(), fed, fresh(s), fedkit.Options{Rounds: warm + 5, Seed: 9}) {
		if err != nil {
			return err
		}
		if len(h.Rounds) == warm {
			first = len(xla.Fresh())
		}
	}
	return compiled(xla.Fresh()[first:], warm)
}

// compiled says which programs were compiled after a round, and what helps.
func compiled(programs []string, round int) error {
	if len(programs) == 0 {
		return nil
	}
	first, others := programs[0], programs[1:]
	name, _, _ := strings.Cut(first, " for ")
	family, _, _ := strings.Cut(name, " of ")
	begins := func(prefix string) bool {
		return slices.ContainsFunc(others, func(p string) bool { return strings.HasPrefix(p, prefix) })
	}
	remedy := "its arguments change shape from round to round. If cohorts vary in size, set Job.MaxClients and declare programs of your own RowWise"
	switch {
	case slices.Contains(others, first):
		remedy = "it is made again in every round. Make it once, as a package-level variable, or by fedkit.NewPrograms if it depends on an option, and give it what changes as arguments"
	case family != name && begins(family+" of ") && !begins(name+" for "):
		remedy = "its parameter changes from round to round. Give it what changes as an argument"
	}
	return fmt.Errorf("%d programs were compiled after round %d, want 0: %s: %s", len(programs), round, programs[0], remedy)
}

// Identical runs both strategies on Quadratic with clients of the given sizes, for six rounds with three seeds, and
// returns an error if a client's test loss differs by more than the rounding of float32.
func Identical(a, b fedkit.Strategy, sizes ...int) error {
	if sizes == nil {
		sizes = usual
	}
	fed, err := shared(sizes...)
	if err != nil {
		return err
	}
	for seed := range uint64(3) {
		o := fedkit.Options{Rounds: 6, Seed: seed}
		x, err := fedkit.Run(context.Background(), fed, fresh(a), o)
		if err != nil {
			return err
		}
		y, err := fedkit.Run(context.Background(), fed, fresh(b), o)
		if err != nil {
			return err
		}
		for i := range x.Rounds {
			for c, s := range x.Rounds[i].Scores {
				p, q := float64(s.Loss), float64(y.Rounds[i].Scores[c].Loss)
				if !(math.Abs(p-q) <= 1e-5*(1e-2+q)) {
					return fmt.Errorf("fedtest: seed %d, round %d, client %d: loss %v and %v", seed, i+1, c, p, q)
				}
			}
		}
	}
	return nil
}

// fresh returns a copy of a strategy, and of those it wraps, that has not run yet.
func fresh(s fedkit.Strategy) fedkit.Strategy {
	if s == nil {
		return nil // which Run refuses
	}
	v := reflect.New(reflect.TypeOf(s).Elem())
	v.Elem().Set(reflect.ValueOf(s).Elem())
	for _, f := range v.Elem().Fields() {
		if inner, ok := wrapped(f); ok {
			f.Set(reflect.ValueOf(fresh(inner)))
		}
	}
	if state, _ := config.Field(v.Interface(), "State"); state.IsValid() && state.CanSet() {
		state.SetZero()
	}
	return v.Interface().(fedkit.Strategy)
}

// wrapped returns the strategy in a field, if it is a pointer to a struct.
func wrapped(f reflect.Value) (s fedkit.Strategy, ok bool) {
	if f.Kind() != reflect.Interface || f.IsNil() || !f.CanSet() {
		return nil, false
	}
	s, ok = f.Interface().(fedkit.Strategy)
	p := reflect.ValueOf(s)
	return s, ok && p.Kind() == reflect.Pointer && p.Elem().Kind() == reflect.Struct
}

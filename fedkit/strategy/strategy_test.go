package strategy_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

// standard is the local training of the table.
var standard = fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}

// more has the strategies that other test files add to the table, in their init functions.
var more = map[string]func() fedkit.Strategy{}

// all has every strategy, with options fit for the quadratic problem below.
func all() map[string]fedkit.Strategy {
	l := standard
	table := map[string]fedkit.Strategy{
		"FedAvg":           &strategy.FedAvg{Fraction: 0.5, Local: l},
		"FedAvg, proximal": &strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05, Prox: 0.1}},
		"FedMedian":        &strategy.FedMedian{Fraction: 0.5, Local: l},
		"FedSGD":           &strategy.FedSGD{Fraction: 0.5, LR: 0.3},
		"FedSGD, batches":  &strategy.FedSGD{LR: 0.1, Batch: 8},
		"Local":            &strategy.Local{Local: l},
		"Local, some":      &strategy.Local{Fraction: 0.5, Local: l},
		"IFCA":             &strategy.IFCA{K: 2, Fraction: 0.5, Local: l},
		"IFCA, gradients":  &strategy.IFCA{K: 2, Gradients: true, Gamma: 0.5},
		"FedPRISM":         &strategy.FedPRISM{K: 2, Every: 2, Fraction: 0.5, Local: l, Center: true, Temperature: 0.2},
	}
	for name, make := range more {
		table[name] = make()
	}
	return table
}

// quadratic is least squares with a known optimum that all clients share: y = ⟨x, w*⟩ + b* exactly, clients of the given
// sizes with inputs of different spread.
func quadratic(t testing.TB, sizes ...int) *fedkit.Federation {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, 7))
	d := &datasets.Dataset{Name: "least squares", Shape: []int{4}}
	best := []float32{1, -2, 0.5, 3}
	var clients partition.Given
	for i, n := range sizes {
		var c partition.Client
		for j := range n + 2 {
			part, rows := &d.Train, &c.Train
			if j >= n {
				part, rows = &d.Test, &c.Test
			}
			*rows = append(*rows, part.Len())
			y := float32(0.25)
			for _, w := range best {
				x := float32(rng.NormFloat64() * (0.7 + 0.1*float64(i)))
				part.Floats = append(part.Floats, x)
				y += w * x
			}
			part.Targets = append(part.Targets, y)
		}
		clients = append(clients, c)
	}
	fed, err := fedkit.New(d, clients, model.MLP())
	if err != nil {
		t.Fatal(err)
	}
	return fed
}

var uneven = []int{20, 31, 8, 24, 17, 40}

func run(t testing.TB, fed *fedkit.Federation, s fedkit.Strategy, o fedkit.Options) *fedkit.History {
	t.Helper()
	h, err := fedkit.Run(context.Background(), fed, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// state is a strategy's State, byte for byte.
func state(t testing.TB, s fedkit.Strategy) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).EncodeValue(reflect.ValueOf(s).Elem().FieldByName("State")); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestEveryStrategy(t *testing.T) {
	for name, s := range all() {
		t.Run(name, func(t *testing.T) {
			fed := quadratic(t, uneven...)
			h := run(t, fed, s, fedkit.Options{Rounds: 400, EvalEvery: 400, Seed: 5})
			if loss := h.Last().Score().Loss; !(loss < 1e-3) {
				t.Errorf("the loss is %v after %d rounds, want < 0.001", loss, len(h.Rounds))
			}

			// Another run, with more workers: the same bytes, and no program is compiled that was not there.
			run(t, fed, s, fedkit.Options{Rounds: 8, EvalEvery: 2, Seed: 6})
			want := state(t, s)
			before := xla.Compilations()
			run(t, fed, s, fedkit.Options{Rounds: 8, EvalEvery: 2, Seed: 6, Workers: 4})
			if n := xla.Compilations() - before; n != 0 {
				t.Errorf("%d programs were compiled in the second run, want 0", n)
			}
			if !bytes.Equal(want, state(t, s)) {
				t.Error("4 workers end with other bytes than the default number")
			}

			// Interrupted after round 4 and gone on with from the disk.
			file := filepath.Join(t.TempDir(), "checkpoint")
			for _, err := range fedkit.Rounds(context.Background(), fed, s, fedkit.Options{Rounds: 4, EvalEvery: 2, Seed: 6, Checkpoint: file}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			fresh := reflect.New(reflect.TypeOf(s).Elem())
			fresh.Elem().Set(reflect.ValueOf(s).Elem())
			fresh.Elem().FieldByName("State").SetZero()
			h = run(t, fed, fresh.Interface().(fedkit.Strategy), fedkit.Options{Rounds: 8, EvalEvery: 2, Seed: 6, Checkpoint: file})
			if len(h.Rounds) != 8 {
				t.Errorf("%d rounds in the history of a resumed run, want 8", len(h.Rounds))
			}
			if !bytes.Equal(want, state(t, fresh.Interface().(fedkit.Strategy))) {
				t.Error("a resumed run ends with other bytes")
			}
		})
	}
}

// After the first round that is evaluated nothing compiles, whoever takes part.
func TestNothingRecompilesAfterTheFirstRound(t *testing.T) {
	for name, s := range all() {
		fed := quadratic(t, uneven...)
		first := int64(0)
		for h, err := range fedkit.Rounds(context.Background(), fed, s, fedkit.Options{Rounds: 6, Seed: 9}) {
			if err != nil {
				t.Fatal(err)
			}
			warm := 1
			if p, ok := s.(*strategy.FedPRISM); ok {
				warm = p.Every // the first clustering
			}
			if len(h.Rounds) == warm {
				first = xla.Compilations()
			}
		}
		if n := xla.Compilations() - first; n != 0 {
			t.Errorf("%s: %d programs were compiled after the first round, want 0", name, n)
		}
	}
}

var even = []int{16, 16, 16, 16, 16, 16}

// identity is two algorithms that must be the same on clients of the given sizes.
type identity struct {
	name  string
	sizes []int
	a, b  fedkit.Strategy
}

// moreIdentities has those that other test files add.
var moreIdentities []identity

// Algorithms that must be the same, up to the rounding of float32.
func TestIdentities(t *testing.T) {
	l := standard
	full := fedkit.Local{Batch: fedkit.FullBatch, LR: 0.2}
	for _, c := range append([]identity{
		{"FedSGD = FedAvg with one epoch of one full batch", uneven, &strategy.FedSGD{LR: 0.2}, &strategy.FedAvg{Local: full}},
		{"FedMedian with one client = FedAvg", []int{30}, &strategy.FedMedian{Local: l}, &strategy.FedAvg{Local: l}},
		{"FedAvg with one client = Local", []int{30}, &strategy.FedAvg{Local: l}, &strategy.Local{Local: l}},
		{"FedProx with μ = 0 = FedAvg", uneven, &strategy.FedAvg{Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05, Prox: fedkit.Zero}}, &strategy.FedAvg{Local: l}},
		{"IFCA with k = 1 = FedAvg", even, &strategy.IFCA{K: 1, Local: l}, &strategy.FedAvg{Local: l}},
		{"IFCA by gradients with k = 1 = FedSGD", even, &strategy.IFCA{K: 1, Gradients: true, Gamma: 0.2}, &strategy.FedSGD{LR: 0.2}},
		{"Fed-PRISM with K = 1 = FedAvg with equal weights", even, &strategy.FedPRISM{K: 1, Every: 2, Alpha: 0.3, Local: l}, &strategy.FedAvg{Local: l}},
		{"Fed-PRISM with K = 1 and centring", even, &strategy.FedPRISM{K: 1, Every: 1, Alpha: fedkit.Zero, Center: true, Local: l}, &strategy.FedAvg{Local: l}},
	}, moreIdentities...) {
		fed := quadratic(t, c.sizes...)
		for seed := range uint64(3) {
			o := fedkit.Options{Rounds: 6, Seed: seed}
			a, b := run(t, fed, c.a, o), run(t, fed, c.b, o)
			for i := range a.Rounds {
				for j := range a.Rounds[i].Scores {
					x, y := float64(a.Rounds[i].Scores[j].Loss), float64(b.Rounds[i].Scores[j].Loss)
					if math.Abs(x-y) > 1e-5*(1e-2+y) {
						t.Fatalf("%s: seed %d, round %d, client %d: loss %v and %v", c.name, seed, i+1, j, x, y)
					}
				}
			}
		}
	}
}

// Two groups of clients whose optima differ: IFCA and Fed-PRISM tell them apart, one global model cannot serve both.
func TestGroupsAreFound(t *testing.T) {
	d := &datasets.Dataset{Name: "two groups", Shape: []int{3}}
	rng := rand.New(rand.NewPCG(3, 1))
	var clients partition.Given
	for i := range 12 {
		c := partition.Client{Group: i % 2}
		for j := range 40 {
			part, rows := &d.Train, &c.Train
			if j >= 30 {
				part, rows = &d.Test, &c.Test
			}
			*rows = append(*rows, part.Len())
			y := float32(0)
			for k := range 3 {
				x := float32(rng.NormFloat64())
				part.Floats = append(part.Floats, x)
				y += x * float32(k+1) * float32(1-2*c.Group)
			}
			part.Targets = append(part.Targets, y)
		}
		clients = append(clients, c)
	}
	fed, err := fedkit.New(d, clients, model.MLP())
	if err != nil {
		t.Fatal(err)
	}
	l := fedkit.Local{Epochs: 2, Batch: 10, LR: 0.05}
	o := fedkit.Options{Rounds: 25, Seed: 2}
	global := run(t, fed, &strategy.FedAvg{Local: l}, o).Last().Mean().Loss
	for name, s := range map[string]fedkit.Strategy{
		"IFCA":      &strategy.IFCA{K: 2, Local: l},
		"Fed-PRISM": &strategy.FedPRISM{K: 2, M: 1, Every: 1, Alpha: fedkit.Zero, Center: true, Local: l},
	} {
		last := run(t, fed, s, o).Last()
		for i, c := range clients {
			if (last.Clusters[i] == last.Clusters[0]) != (c.Group == clients[0].Group) {
				t.Errorf("%s: clusters %v do not tell the groups apart", name, last.Clusters)
				break
			}
		}
		if got := last.Mean().Loss; !(got < 0.05*global) {
			t.Errorf("%s: loss %v; one global model has %v", name, got, global)
		}
	}
}

// moreRefused has the strategies with options that are not allowed that other test files add, by the error.
var moreRefused = map[string]fedkit.Strategy{}

func TestOptionsThatAreRefused(t *testing.T) {
	fed := quadratic(t, 4, 4)
	bad := fedkit.Local{LR: 0.1}
	refused := map[string]fedkit.Strategy{
		"FedAvg: invalid: Fraction = 1.5: must be in (0, 1], or 0 for every client":                 &strategy.FedAvg{Fraction: 1.5},
		"FedAvg: invalid: Fraction = NaN: must be in (0, 1], or 0 for every client":                 &strategy.FedAvg{Fraction: math.NaN()},
		"FedAvg: invalid: Local.Batch = 0: must be at least 1, or fedkit.FullBatch":                 &strategy.FedAvg{Local: bad},
		"FedMedian: invalid: Fraction = -1: must be in (0, 1], or 0 for every client":               &strategy.FedMedian{Fraction: -1},
		"FedSGD: invalid: Batch = -1: must be at least 1, or 0 for all of a client's examples":      &strategy.FedSGD{Batch: -1},
		"FedSGD: invalid: LR = -0.1: must be > 0, or 0 for the default of 0.1":                      &strategy.FedSGD{LR: -0.1},
		"Local: invalid: Local.Batch = 0: must be at least 1, or fedkit.FullBatch":                  &strategy.Local{Local: bad},
		"IFCA: invalid: K = -1: must be at least 1, or 0 for the default of 2":                      &strategy.IFCA{K: -1},
		"IFCA: invalid: Gamma = -1: must be > 0, or 0 for the default of 0.1":                       &strategy.IFCA{Gamma: -1},
		"FedPRISM: invalid: M = 4: must be in [1, K], or 0 for K":                                   &strategy.FedPRISM{M: 4},
		"FedPRISM: invalid: Alpha = 2: must be in (0, 1], 0 for the default of 0.5, or fedkit.Zero": &strategy.FedPRISM{Alpha: 2},
		"FedPRISM: invalid: Every = -1: must be at least 1, or 0 for the default of 5":              &strategy.FedPRISM{Every: -1},
		"FedPRISM: invalid: Temperature = -1: must be > 0, or 0 for the default of 1":               &strategy.FedPRISM{Temperature: -1},
	}
	maps.Copy(refused, moreRefused)
	for want, s := range refused {
		_, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 1})
		if !errors.Is(err, fedkit.ErrInvalid) || err.Error() != "fedkit: "+want {
			t.Errorf("error %v\nwant fedkit: %s", err, want)
		}
	}
}

func TestCheckpointOfAnotherRunIsRefused(t *testing.T) {
	fed := quadratic(t, 8, 8)
	file := filepath.Join(t.TempDir(), "checkpoint")
	run(t, fed, &strategy.FedAvg{}, fedkit.Options{Rounds: 2, Checkpoint: file})
	_, err := fedkit.Run(context.Background(), fed, &strategy.FedAvg{}, fedkit.Options{Rounds: 4, Seed: 1, Checkpoint: file})
	if err == nil || !strings.Contains(err.Error(), "belongs to another run") {
		t.Errorf("error %v for a checkpoint with another seed", err)
	}
}

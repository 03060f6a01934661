package fedkit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/loss"
	"github.com/gomlx/gomlx/core/graph"
)

// seen is a linear model y = Σ w ⊙ x on images: a step of rate 1 on one example with the loss y moves w by −x.
func seen(d *datasets.Dataset) (*Task, error) {
	t := &Task{Name: "seen", Params: []Param{{Name: "weights", Shape: d.Shape}}}
	t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
		y := graph.Mul(x, graph.InsertAxes(p[0], 1))
		return graph.InsertAxes(graph.ReduceSum(y, 2, 3, 4), -1)
	}
	t.Loss = func(out, y *graph.Node) *graph.Node {
		return graph.Add(graph.Squeeze(out, -1), graph.MulScalar(loss.SquaredError(out, y), 0))
	}
	return t, nil
}

// pictured is clients with an image each, all alike: pixels 1, 2, … in h × w.
func pictured(t *testing.T, clients, h, w int) *Federation {
	d := &datasets.Dataset{Name: "images", Shape: []int{h, w, 1}}
	var rule partition.Given
	for c := range clients {
		for i := range h * w {
			d.Train.Floats = append(d.Train.Floats, float32(i+1))
		}
		d.Train.Targets = append(d.Train.Targets, 0)
		rule = append(rule, partition.Client{Train: []int{c}, Test: []int{c}})
	}
	d.Test = d.Train
	return expect.Value(New(d, rule, seen))(t)
}

// sight returns what clients see in one step.
func sight(t *testing.T, fed *Federation, a Augment, seed uint64, clients ...int) (x [][]float32) {
	t.Helper()
	u := expect.Value(fed.Train(context.Background(), Job{Clients: clients, Start: Zeros(1, fed.Task.Dim()), Local: Local{Steps: 1, LR: 1, Batch: 1, Augment: a}}, seed))(t)
	w := expect.Value(u.Models.Scale(-1).Host())(t)
	for i := range w {
		w[i] += 0 // −0 is 0
	}
	for row := range slices.Chunk(w, fed.Task.Dim()) {
		x = append(x, row)
	}
	return x
}

// What a client sees is its image, moved by at most p pixels and mirrored or not, by the definition; all of these come out, by the seed
// and the client alone.
func TestAugment(t *testing.T) {
	const h, w, p = 3, 4, 1
	fed := pictured(t, 300, h, w)
	want := map[string]int{}
	for dy := -p; dy <= p; dy++ {
		for dx := -p; dx <= p; dx++ {
			for _, flip := range []bool{false, true} {
				x := make([]float32, h*w)
				for r := range h {
					for c := range w {
						from := c
						if flip {
							from = w - 1 - c
						}
						if y, z := r+dy, from+dx; y >= 0 && y < h && z >= 0 && z < w {
							x[r*w+c] = float32(y*w + z + 1)
						}
					}
				}
				want[fmt.Sprint(x)] = 0
			}
		}
	}
	a := Augment{Crop: p, Flip: true}
	all := sight(t, fed, a, 1, fed.AllClients()...)
	for c, x := range all {
		_, possible := want[fmt.Sprint(x)]
		expect.Must(t, possible, "client %d sees %v", c, x)
		want[fmt.Sprint(x)]++
	}
	for x, n := range want { // of 300 in 18, 16.7 ± 4
		expect.That(t, n >= 3 && n <= 40, "%d of 300 see %s", n, x)
	}
	few := sight(t, fed, a, 1, 7, 290)
	expect.That(t, slices.Equal(few[0], all[7]) && slices.Equal(few[1], all[290]), "beside other clients, they see %v", few)
	expect.That(t, fmt.Sprint(sight(t, fed, a, 2, 0, 1, 2, 3)) != fmt.Sprint(all[:4]), "another seed, the same images")
	plain := fmt.Sprint(sight(t, fed, Augment{}, 1, 0)[0])
	for x := range want {
		want[x] = 0
	}
	for _, x := range sight(t, fed, Augment{Flip: true}, 1, fed.AllClients()...) {
		want[fmt.Sprint(x)]++
	}
	expect.That(t, want[plain] > 110 && want[plain] < 190, "%d of 300 are not mirrored", want[plain])

	big := pictured(t, 2, 100, 100)
	sum, squares, n := 0., 0., 0.
	for i, x := range sight(t, big, Augment{Noise: 0.5}, 1, 0)[0] {
		v := float64(x) - float64(i+1)
		sum, squares, n = sum+v, squares+v*v, n+1
	}
	expect.That(t, math.Abs(sum/n) < 0.02 && math.Abs(math.Sqrt(squares/n)-0.5) < 0.02, "noise of mean %v and square %v", sum/n, squares/n)
}

// Augmentation that is not asked for is not in the configuration; rows that are no images, and crops larger than they, are refused.
func TestAugmentRefused(t *testing.T) {
	expect.That(t, !strings.Contains(config.Of(Local{LR: 1}).String(), "Augment"), "%s", config.Of(Local{LR: 1}))
	images, rows := pictured(t, 2, 3, 4), expect.Value(countable(counting(nil), 3, 3))(t)
	train := func(fed *Federation, a Augment) error {
		_, err := fed.Train(context.Background(), Job{Clients: []int{0}, Start: Zeros(1, fed.Task.Dim()), Local: Local{LR: 1, Augment: a}}, 0)
		return err
	}
	expect.Invalid(t, "Augment = {Crop:0 Flip:true Noise:0}: must be left out for rows of Shape [1], which are no images [height, width, channels]")(train(rows, Augment{Flip: true}))
	expect.Invalid(t, "Augment.Crop = 3: must be less than 3, for images of 3 × 4")(train(images, Augment{Crop: 3}))
	expect.Invalid(t, "Augment.Noise = -1: must be a number ≥ 0")(train(images, Augment{Noise: -1}))
	expect.OK(t, train(images, Augment{Crop: 2, Noise: 0.1}))
}

// The same run has the same bytes with any number of programs side by side, and after a resume.
func TestAugmentedRunsAreTheSame(t *testing.T) {
	fed := pictured(t, 6, 3, 4)
	run := func(o Options) string {
		o.Seed = 3
		s := &trainer{Local: Local{Epochs: 2, Batch: 1, LR: 0.01, Augment: Augment{Crop: 1, Flip: true, Noise: 0.1}}}
		expect.Value(Run(context.Background(), fed, s, o))(t)
		return fmt.Sprint(expect.Value(s.State.X.Host())(t))
	}
	want := run(Options{Rounds: 4, Concurrency: 1})
	expect.That(t, run(Options{Rounds: 4, Concurrency: 3}) == want, "another concurrency, other bytes")
	path := t.TempDir() + "/c"
	run(Options{Rounds: 2, Checkpoint: path})
	expect.That(t, run(Options{Rounds: 4, Checkpoint: path}) == want, "other bytes after a resume")
}

// trainer is federated averaging.
type trainer struct {
	Local Local
	State struct{ X *Matrix }
}

func (s *trainer) Start(r *Round) error { s.State.X = r.Models(1); return r.Err() }

func (s *trainer) Round(r *Round) error {
	s.State.X = r.Train(Job{Clients: r.AllClients(), Start: s.State.X, Local: s.Local}).Models.Mean(nil)
	return r.Err()
}

func (s *trainer) Serve(*Round) Serving { return Serving{Global: s.State.X} }

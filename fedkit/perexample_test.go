package fedkit_test

import (
	"math"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/model"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
)

// byExample trains on labels that the job has per example, one-hot and as numbers.
type byExample struct{}

func (byExample) Loss(b *fedkit.Batch) *Node {
	loss := Neg(ReduceSum(Mul(LogSoftmax(b.Out, -1), b.PerExample("one-hot")), -1))
	same := ReduceSum(Mul(Sub(b.PerExample("one-hot"), OneHot(b.Y, 10, loss.DType())), b.PerExample("one-hot")), -1)
	return Add(loss, Mul(same, AddScalar(b.PerExample("number"), 100)))
}

// Numbers per example follow their examples through shuffled batches, epochs and clients of different sizes; a factor of the losses
// is a factor of η.
func TestPerExample(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP(8))
	start := expect.Value(fed.Models(1, 3))(t)
	job := fedkit.Job{Clients: []int{5, 0, 2, 3}, Start: start, Local: fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}}
	train := func(job fedkit.Job) *fedkit.Updates { return expect.Value(fed.Train(t.Context(), job, 7))(t) }
	models := func(u *fedkit.Updates) []float64 { return precision.Double(expect.Value(u.Models.Host())(t)) }
	lists := map[string][][]float32{"one-hot": nil, "number": nil}
	var ones, halves [][]float32
	for i, c := range job.Clients {
		n := len(fed.Clients[c].Train)
		ones, halves = append(ones, make([]float32, n)), append(halves, make([]float32, n))
		hot := make([]float32, 10*n)
		for j, row := range fed.Clients[c].Train {
			hot[10*j+int(fed.Data.Train.Labels[row])] = 1
			ones[i][j], halves[i][j] = 1, 0.5
		}
		lists["one-hot"], lists["number"] = append(lists["one-hot"], hot), append(lists["number"], ones[i])
	}
	plain, none, per, weighted, half, slow := job, job, job, job, job, job
	none.PerExample = map[string][][]float32{}
	per.Objective, per.PerExample = byExample{}, lists
	weighted.Weights, half.Weights = ones, halves
	slow.Local.LR /= 2
	for name, pair := range map[string][2]fedkit.Job{"labels per example": {per, plain}, "weights of 1": {weighted, plain}, "nothing": {none, plain}, "weights of ½ = half the rate": {half, slow}} {
		got, want := train(pair[0]), train(pair[1])
		if far := floats.Distance(models(got), models(want), math.Inf(1)); far > 1e-5 {
			t.Errorf("%s: models are %v apart", name, far)
		}
	}
	both := per
	both.Weights = halves
	if far := floats.Distance(models(train(both)), models(train(slow)), math.Inf(1)); far > 1e-5 {
		t.Errorf("an objective and weights: models are %v apart", far)
	}
	if got, want := train(half).Results[1].Loss, train(slow).Results[1].Loss; math.Abs(float64(2*got-want)) > 1e-4 {
		t.Errorf("a weighted loss of %v, want half of %v", got, want)
	}

	short, uneven, unnamed := job, job, job
	short.Weights = ones[:3]
	uneven.PerExample = map[string][][]float32{"a": {ones[0], ones[1], ones[2], ones[3][1:]}}
	unnamed.PerExample = map[string][][]float32{"": ones}
	missing := job
	missing.Objective = byExample{}
	for want, job := range map[string]fedkit.Job{
		"len(Job.Weights) = 3: must be 4, one per client":       short,
		`len(Job.PerExample["a"][3]) = `:                        uneven,
		`Job.PerExample = "": must be names that are not empty`: unnamed,
		`Job.PerExample has no "one-hot"`:                       missing,
	} {
		_, err := fed.Train(t.Context(), job, 7)
		expect.Error(t, want)(err)
	}
}

package convex

import (
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/fedtest/expect"
	"gonum.org/v1/gonum/floats"
)

// The numbers are numpy.linalg.lstsq's (NumPy 2.4.6), and those of scipy.optimize's BFGS polished by root (SciPy 1.17.0,
// gradient below 1e-16), without and with L2, in float64 from the same table.
func TestMinimum(t *testing.T) {
	labels := &datasets.Dataset{Shape: []int{2}, Classes: 3, Train: datasets.Split{
		Floats: []float32{0.5, -1, 1.5, 2, -0.25, 0.75, 2, -0.5, -1, 1.25, 0.75, 0.25, -1.5, -2, 1, -1.75},
		Labels: []int32{0, 1, 2, 1, 0, 2, 1, 0},
	}}
	targets := &datasets.Dataset{Shape: []int{2}, Train: datasets.Split{Floats: labels.Train.Floats, Targets: []float32{1, -2, 0.5, 3, -1.5, 0.25, 2, -0.75}}}
	at := []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}
	for _, c := range []struct {
		d         *datasets.Dataset
		l2        float64
		w         []float64
		loss      float64
		at        []float64
		gap, near float64
	}{
		{targets, 0, []float64{0.171917436175991, -0.739815317762086, 0.155554046713743}, 0.7906209685632809, []float64{1, 2, 3}, 11.670316531436718, 1e-9},
		{labels, 0, []float64{-0.109861926241, 0.262284125222, -0.152422198981, -0.243425824872, -0.0975517414792,
			0.340977566351, 0.170705728701, 0.0596599989755, -0.230365727677}, 1.0180990884675607, at, 0.07862106560449789, 1e-6},
		{labels, 0.1, []float64{-0.0939126914436, 0.212478840665, -0.118566149222, -0.203923151119, -0.0657473989411,
			0.26967055006, 0.116725260835, 0.0494956077177, -0.166220868553}, 1.0326872238170541, at, 0.16603293025500454, 1e-6},
	} {
		f := newProblem(c.d, []int{0, 1, 2, 3, 4, 5, 6, 7}, c.l2)
		w := expect.Value(f.Minimum())(t)
		expect.That(t, floats.EqualApprox(w, c.w, 1e-9), "the minimum is at %v, want %v", w, c.w)
		least := f.Loss(w)
		gap := f.Loss(c.at) - least
		expect.That(t, max(least-c.loss, c.loss-least) <= 1e-12 && max(gap-c.gap, c.gap-gap) <= c.near, "the loss is %v, %v more at %v: want %v, %v", least, gap, c.at, c.loss, c.gap)
	}
}

// Any step from the optimum makes the loss greater. Clients' optima differ with h.
func TestMinimumOfMadeData(t *testing.T) {
	for name, made := range map[string]func(h float64) (*datasets.Dataset, error){
		"least squares": func(h float64) (*datasets.Dataset, error) {
			return datasets.LeastSquares{Heterogeneity: h, Seed: 2}.Make()
		},
		"logistic": func(h float64) (*datasets.Dataset, error) { return datasets.Logistic{Heterogeneity: h, Seed: 2}.Make() },
		"three classes": func(h float64) (*datasets.Dataset, error) {
			return datasets.Logistic{Classes: 3, Heterogeneity: h, Seed: 2}.Make()
		},
	} {
		var away [2]float64
		for h := range away {
			d := expect.Value(made(float64(h)))(t)
			rows := make([]int, d.Train.Len())
			for i := range rows {
				rows[i] = i
			}
			all, one := newProblem(d, rows, 0.01), newProblem(d, rows[:50], 0.01)
			w := expect.Value(all.Minimum())(t)
			away[h] = floats.Distance(w, expect.Value(one.Minimum())(t), 2)
			least := all.Loss(w)
			for j := range w {
				for _, step := range []float64{-0.1, 0.1} {
					beside := slices.Clone(w)
					beside[j] += step
					expect.That(t, all.Loss(beside) > least+1e-5, "%s: the loss beside the optimum is %v, at it %v", name, all.Loss(beside), least)
				}
			}
		}
		expect.That(t, away[1] >= 1.4*away[0], "%s: a client's optimum is %v away with h = 1, %v with h = 0", name, away[1], away[0])
	}
}

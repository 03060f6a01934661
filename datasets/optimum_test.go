package datasets

import (
	"math"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// table is a data set of eight rows, for numbers from other programs.
func table() *Split {
	return &Split{
		Floats:  []float32{0.5, -1, 1.5, 2, -0.25, 0.75, 2, -0.5, -1, 1.25, 0.75, 0.25, -1.5, -2, 1, -1.75},
		Targets: []float32{1, -2, 0.5, 3, -1.5, 0.25, 2, -0.75},
		Labels:  []int32{0, 1, 2, 1, 0, 2, 1, 0},
	}
}

func checkOptimum(t *testing.T, name string, o *Optimum, err error, w []float64, loss float64, at []float32, gap float64) {
	t.Helper()
	expect.OK(t, err)
	for i := range w {
		if math.Abs(o.W[i]-w[i]) > 1e-9 {
			t.Errorf("%s: parameter %d is %.12f, want %.12f", name, i, o.W[i], w[i])
		}
	}
	if len(o.W) != len(w) || math.Abs(o.Loss-loss) > 1e-12 {
		t.Errorf("%s: %d parameters with loss %.15f, want %d with %.15f", name, len(o.W), o.Loss, len(w), loss)
	}
	if g, err := o.Gap(at); err != nil || math.Abs(g-gap) > 1e-6 {
		t.Errorf("%s: gap %.9f, error %v; want %.9f", name, g, err, gap)
	}
}

// The numbers are numpy.linalg.lstsq's (NumPy 2.4.6), and those of scipy.optimize's BFGS polished by root (SciPy 1.17.0,
// gradient below 1e-16), without and with L2, in float64 from the same table.
func TestOptimum(t *testing.T) {
	o, err := solveLeastSquares(table(), 2)
	checkOptimum(t, "least squares", o, err, []float64{0.171917436175991, -0.739815317762086, 0.155554046713743}, 0.7906209685632809,
		[]float32{1, 2, 3}, 11.670316531436718)

	at := []float32{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}
	o, err = solveLogistic(table(), 2, 3, 0)
	checkOptimum(t, "logistic", o, err, []float64{-0.109861926241, 0.262284125222, -0.152422198981, -0.243425824872, -0.0975517414792,
		0.340977566351, 0.170705728701, 0.0596599989755, -0.230365727677}, 1.0180990884675607, at, 0.07862106560449789)
	o, err = solveLogistic(table(), 2, 3, 0.1)
	checkOptimum(t, "logistic with L2", o, err, []float64{-0.0939126914436, 0.212478840665, -0.118566149222, -0.203923151119, -0.0657473989411,
		0.26967055006, 0.116725260835, 0.0494956077177, -0.166220868553}, 1.0326872238170541, at, 0.16603293025500454)
}

// The gap is 0 at the optimum and positive anywhere else. Clients' optima differ with h.
func TestOptimumOfMadeData(t *testing.T) {
	for name, made := range map[string]func(h float64) (*Dataset, *Optimum, error){
		"least squares": func(h float64) (*Dataset, *Optimum, error) { return LeastSquares{Heterogeneity: h, Seed: 2}.Make() },
		"logistic":      func(h float64) (*Dataset, *Optimum, error) { return Logistic{Heterogeneity: h, Seed: 2}.Make() },
		"three classes": func(h float64) (*Dataset, *Optimum, error) {
			return Logistic{Classes: 3, L2: 0.01, Heterogeneity: h, Seed: 2}.Make()
		},
	} {
		var away [2]float64
		for i, h := range []float64{0, 1} {
			d, o, err := made(h)
			expect.OK(t, err)
			expect.OK(t, d.Check())
			w := make([]float32, len(o.W))
			for j, v := range o.W {
				w[j] = float32(v)
			}
			if gap, err := o.Gap(w); err != nil || gap > 1e-12 {
				t.Errorf("%s: the gap at the optimum is %v, error %v", name, gap, err)
			}
			for j := range w {
				old := w[j]
				for _, step := range []float32{-0.1, 0.1} {
					w[j] = old + step
					if gap, _ := o.Gap(w); !(gap > 1e-5) {
						t.Errorf("%s: the gap beside the optimum is %v", name, gap)
					}
				}
				w[j] = old
			}
			// The gap of the first client's own optimum.
			var own Split
			f := d.Features()
			own.Floats = d.Train.Floats[:50*f]
			var mine *Optimum
			if d.Classes == 0 {
				own.Targets = d.Train.Targets[:50]
				mine, err = solveLeastSquares(&own, f)
			} else {
				own.Labels = d.Train.Labels[:50]
				mine, err = solveLogistic(&own, f, d.Classes, 0.01)
			}
			expect.OK(t, err)
			for j := range o.W {
				away[i] += (mine.W[j] - o.W[j]) * (mine.W[j] - o.W[j])
			}
		}
		if away[1] < 2*away[0] {
			t.Errorf("%s: a client's optimum is %v away with h = 1, %v with h = 0", name, away[1], away[0])
		}
	}
}

func TestGapRefuses(t *testing.T) {
	_, o := expect.Values(LeastSquares{}.Make())(t)
	if _, err := o.Gap(make([]float32, 10)); err == nil || err.Error() != "datasets: Optimum.Gap: w has 10 values: must have 11" {
		t.Errorf("error %v", err)
	}
	if _, err := (&Optimum{}).Gap(nil); err == nil {
		t.Error("an optimum that Make did not return has a gap")
	}
}

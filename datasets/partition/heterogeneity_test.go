package partition

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"fedkit.example/datasets"
	"github.com/janpfeifer/must"
)

// SciPy 1.17.0, with p the rows' shares: pdist(p, "cityblock").mean()/2, exp(entropy(p, axis=1)), exp(entropy(sizes)).
func TestHeterogeneity(t *testing.T) {
	counts := [][]int{{5, 0, 3, 2}, {1, 1, 1, 1}, {0, 7, 0, 0}, {2, 9, 4, 1}}
	if got, want := LabelDistance(counts), 0.560416666666667; math.Abs(got-want) > 1e-14 {
		t.Errorf("distance %.15f, want %.15f", got, want)
	}
	if got, want := EffectiveClasses(counts), []float64{2.800094072853831, 4, 1, 3.014496776569348}; !floats.EqualApprox(got, want, 1e-14) {
		t.Errorf("effective classes %v, want %v", got, want)
	}
	if got, want := EffectiveClients([]int{10, 4, 7, 16}), 3.566645463436353; math.Abs(got-want) > 1e-14 {
		t.Errorf("effective clients %.15f, want %.15f", got, want)
	}
	if got := LabelShares(counts)[3]; !slices.Equal(got, []float64{0.125, 0.5625, 0.25, 0.0625}) {
		t.Errorf("shares %v", got)
	}
}

func TestHeterogeneityAtTheEnds(t *testing.T) {
	for _, test := range []struct {
		counts [][]int
		want   float64
	}{
		{nil, 0},
		{[][]int{{3, 4}}, 0},
		{[][]int{{3, 4}, {6, 8}, {30, 40}}, 0},
		{[][]int{{3, 0}, {0, 8}}, 1},
		{[][]int{{3, 0}, {0, 0}, {0, 8}}, 1}, // a client without labels is left out
		{[][]int{{}, {}}, 0},                 // a regression
	} {
		if got := LabelDistance(test.counts); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%v: distance %v, want %v", test.counts, got, test.want)
		}
	}
	if got := EffectiveClasses([][]int{{0, 0}, {}, {9, 0}, {5, 5}}); !floats.EqualApprox(got, []float64{0, 0, 1, 2}, 1e-14) {
		t.Errorf("effective classes %v", got)
	}
	if got := EffectiveClients(nil); got != 0 {
		t.Errorf("effective clients of none: %v", got)
	}
}

// The distance is the mean over all pairs, summed directly.
func TestLabelDistanceIsOverPairs(t *testing.T) {
	d := labeled(3000, 100, 7, 1)
	deal := must.M1(Dirichlet{Clients: 31, Alpha: 0.4}.Partition(d))
	counts := Labels(d, deal.Clients)
	p, sum, pairs := LabelShares(counts), 0.0, 0.0
	for i := range p {
		for j := range i {
			sum += floats.Distance(p[i], p[j], 1) / 2
			pairs++
		}
	}
	got, want := LabelDistance(counts), sum/pairs
	expect.That(t, math.Abs(got-want) <= 1e-13, "%v, want %v", got, want)
}

// Flower Datasets 0.6.1, DirichletPartitioner, by testdata/flower.py: mean and standard error over 100 seeds of the mean
// label distance, the mean of the effective classes and the effective clients. Ours over 100 seeds must agree within 4
// standard errors of the difference: 9 figures, so a correct program fails once in 1,800 choices of seeds.
func TestDirichletAgreesWithFlower(t *testing.T) {
	const clients, seeds = 20, 100
	d := &datasets.Dataset{Name: "flat", Shape: []int{1}, Classes: 10}
	for _, part := range []*datasets.Split{&d.Train, &d.Test} {
		part.Bytes, part.Scale, part.Labels = make([]uint8, 10000), 1, make([]int32, 10000)
		for i := range part.Labels {
			part.Labels[i] = int32(i % 10)
		}
	}
	for _, flower := range []struct {
		alpha       float64
		mean, error [3]float64
	}{
		{0.1, [3]float64{0.83372, 2.63984, 14.63659}, [3]float64{0.00201, 0.02347, 0.10936}},
		{0.5, [3]float64{0.60734, 5.54990, 18.40495}, [3]float64{0.00240, 0.02707, 0.05007}},
		{10.0, [3]float64{0.16565, 9.59660, 19.90267}, [3]float64{0.00087, 0.00396, 0.00362}},
	} {
		var ours [3][]float64
		for seed := range uint64(seeds) {
			deal := must.M1(Dirichlet{Clients: clients, Alpha: flower.alpha, MinTrain: 1, Seed: seed}.Partition(d))
			counts := Labels(d, deal.Clients)
			for k, v := range []float64{LabelDistance(counts), stat.Mean(EffectiveClasses(counts), nil), EffectiveClients(Sizes(deal.Clients))} {
				ours[k] = append(ours[k], v)
			}
		}
		for k, name := range []string{"label distance", "effective classes", "effective clients"} {
			mean, sd := stat.MeanStdDev(ours[k], nil)
			if z := (mean - flower.mean[k]) / math.Hypot(flower.error[k], sd/math.Sqrt(seeds)); math.Abs(z) > 4 {
				t.Errorf("α = %v: %s %.5f, Flower's %.5f: %.1f standard errors", flower.alpha, name, mean, flower.mean[k], z)
			}
		}
	}
}

package datasets

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/stat"
)

// byOwner returns the row numbers of each owner.
func byOwner(s *Split) (rows [][]int) {
	for i, o := range s.Owner {
		for int(o) >= len(rows) {
			rows = append(rows, nil)
		}
		rows[o] = append(rows[o], i)
	}
	return rows
}

// topShare returns the mean over the owners of the share of their most common label.
func topShare(d *Dataset) float64 {
	var shares []float64
	for _, rows := range byOwner(&d.Train) {
		counts := make([]float64, d.Classes)
		for _, i := range rows {
			counts[d.Train.Labels[i]]++
		}
		shares = append(shares, slices.Max(counts)/float64(len(rows)))
	}
	return stat.Mean(shares, nil)
}

// The shares of the most common label, and the standard deviation of the mean of v, come from NumPy 2.4.6 running the
// formulas of the paper for 10,000 clients of 400 examples: 0.8125, 0.8303, 0.8496 (standard error 0.002) and 0.129,
// 0.516, 1.006. Here there are 300 clients, some with fewer examples.
func TestSynthetic(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic")
	}
	for _, want := range []struct {
		s         Synthetic
		name      string
		share, sd float64
	}{
		{Synthetic{}, "synthetic(0, 0)", 0.8125, 0.129},
		{Synthetic{Alpha: 0.5, Beta: 0.5}, "synthetic(0.5, 0.5)", 0.8303, 0.516},
		{Synthetic{Alpha: 1, Beta: 1}, "synthetic(1, 1)", 0.8496, 1.006},
	} {
		want.s.Clients, want.s.Seed = 300, 3
		d := must.M1(want.s.Make())
		must.M(d.Check())
		expect.That(t, d.Name == want.name && d.Features() == 60 && d.Classes == 10,
			"%q with %d features and %d classes, want %q", d.Name, d.Features(), d.Classes, want.name)
		if share := topShare(d); math.Abs(share-want.share) > 0.03 {
			t.Errorf("%s: the most common label has a share of %.3f, want %.3f", want.name, share, want.share)
		}
		rows, test := byOwner(&d.Train), byOwner(&d.Test)
		expect.Must(t, len(rows) == 300 && len(test) == 300, "%d and %d owners", len(rows), len(test))
		var means, logs []float64
		variances := make([]float64, 60)
		for k := range rows {
			n := len(rows[k]) + len(test[k])
			expect.That(t, n >= 50 && len(rows[k]) == n*4/5, "client %d has %d and %d examples", k, len(rows[k]), len(test[k]))
			logs = append(logs, math.Log(float64(n-50)+0.5))
			mean := 0.0
			for j := range 60 {
				var x []float64
				for _, i := range rows[k] {
					x = append(x, float64(d.Train.Floats[i*60+j]))
				}
				m, v := stat.MeanVariance(x, nil)
				mean += m / 60
				variances[j] += v / 300
			}
			means = append(means, mean)
		}
		if sd := stat.StdDev(means, nil); math.Abs(sd/want.sd-1) > 0.1 {
			t.Errorf("%s: the means of v have the standard deviation %.3f, want %.3f", want.name, sd, want.sd)
		}
		for j, v := range variances {
			if want := math.Pow(float64(j+1), -1.2); math.Abs(v/want-1) > 0.05 {
				t.Errorf("feature %d has variance %.4f, want %.4f", j, v, want)
			}
		}
		// The median of the sizes is e⁴ + 50, half of the logarithms lie within 0.674 of two standard deviations.
		slices.Sort(logs)
		if m, iqr := logs[150], logs[225]-logs[75]; math.Abs(m-4) > 0.3 || math.Abs(iqr-2*0.674*2) > 0.4 {
			t.Errorf("logarithms of the sizes: median %.2f, quartiles %.2f apart", m, iqr)
		}
	}
}

// Without heterogeneity every client has the same few common labels, and features around 0.
// u_k adds the same to the score of every class, so that α does not change the data.
func TestSyntheticAlphaChangesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic")
	}
	var all []*Dataset
	for _, alpha := range []float64{0, 1, 5} {
		d := must.M1(Synthetic{Alpha: alpha, Beta: 1, Clients: 10}.Make())
		d.Name = ""
		all = append(all, d)
	}
	expect.That(t, reflect.DeepEqual(all[0], all[1]) && reflect.DeepEqual(all[0], all[2]), "the data depend on α")
}

func TestSyntheticIID(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic")
	}
	d := must.M1(Synthetic{IID: true, Clients: 100}.Make())
	all := make([]float64, 10)
	for _, l := range d.Train.Labels {
		all[l] += 1 / float64(d.Train.Len())
	}
	for k, rows := range byOwner(&d.Train) {
		for c := range all {
			n := 0.0
			for _, i := range rows {
				if int(d.Train.Labels[i]) == c {
					n++
				}
			}
			if sd := math.Sqrt(all[c] * (1 - all[c]) / float64(len(rows))); math.Abs(n/float64(len(rows))-all[c]) > 5*sd+0.01 {
				t.Errorf("client %d has %.0f of %d labels %d, all have %.3f", k, n, len(rows), c, all[c])
			}
		}
	}
	var sum float64
	for _, x := range d.Train.Floats {
		sum += float64(x)
	}
	mean := sum / float64(len(d.Train.Floats))
	expect.That(t, math.Abs(mean) <= 0.01 && d.Name == "synthetic IID", "%s has features with the mean %v", d.Name, mean)
}

// The same seed gives the same data, another seed other data, and a client's data do not depend on how many clients there are.
func TestMadeDataFollowTheSeed(t *testing.T) {
	for name, make := range map[string]func(seed uint64, clients int) (*Dataset, error){
		"Synthetic":       func(s uint64, m int) (*Dataset, error) { return Synthetic{Alpha: 1, Clients: m, Seed: s}.Make() },
		"GaussianMixture": func(s uint64, m int) (*Dataset, error) { return GaussianMixture{Clients: m, Seed: s}.Make() },
		"LeastSquares":    func(s uint64, m int) (*Dataset, error) { return LeastSquares{Clients: m, Seed: s}.Make() },
		"Logistic":        func(s uint64, m int) (*Dataset, error) { return Logistic{Clients: m, Seed: s}.Make() },
	} {
		made := func(seed uint64, clients int) *Dataset {
			d := must.M1(make(seed, clients))
			must.M(d.Check())
			return d
		}
		a := made(7, 8)
		expect.That(t, reflect.DeepEqual(a, made(7, 8)), "%s: the same seed gives other data", name)
		expect.That(t, !slices.Equal(a.Train.Floats[:20], made(8, 8).Train.Floats[:20]), "%s: another seed gives the same data", name)
		if more := made(7, 9); !slices.Equal(a.Train.Floats, more.Train.Floats[:len(a.Train.Floats)]) {
			t.Errorf("%s: a ninth client changes the first eight", name)
		}
	}
}

func TestGaussianMixture(t *testing.T) {
	for _, m := range []GaussianMixture{
		{Groups: 3, Clients: 7, Rows: 400, Separation: 6},
		{Groups: 3, Clients: 7, Rows: 400, Separation: 6, Permute: true},
	} {
		d := must.M1(m.Make())
		must.M(d.Check())
		if want := []int{0, 1, 2, 0, 1, 2, 0}; !slices.Equal(d.Groups, want) || d.Train.Len() != 2800 || d.Test.Len() != 175 {
			t.Errorf("groups %v, %d and %d rows", d.Groups, d.Train.Len(), d.Test.Len())
		}
		centres := func(owner int) (c [4][]float64) {
			var n [4]float64
			for _, i := range byOwner(&d.Train)[owner] {
				l := d.Train.Labels[i]
				if c[l] == nil {
					c[l] = make([]float64, 10)
				}
				n[l]++
				for j, x := range d.Train.Row(i, nil) {
					c[l][j] += float64(x)
				}
			}
			for l := range c {
				radius := 0.0
				for j := range c[l] {
					c[l][j] /= n[l]
					radius += c[l][j] * c[l][j]
				}
				if r := math.Sqrt(radius); math.Abs(r-6) > 0.8 || math.Abs(n[l]-100) > 40 {
					t.Errorf("owner %d: class %d has %.0f rows around a point at %.2f", owner, l, n[l], r)
				}
			}
			return c
		}
		apart := func(a, b []float64) (sum float64) {
			for j := range a {
				sum += (a[j] - b[j]) * (a[j] - b[j])
			}
			return math.Sqrt(sum)
		}
		first, second, fourth := centres(0), centres(1), centres(3)
		for l := range first {
			if a := apart(first[l], fourth[l]); a > 1.5 {
				t.Errorf("class %d of clients of one group lies %.2f apart", l, a)
			}
			if a := apart(first[l], second[l]); a < 3 {
				t.Errorf("class %d of clients of two groups lies only %.2f apart", l, a)
			}
			if a := apart(first[l], second[(l+1)%4]); m.Permute && a > 1.5 {
				t.Errorf("cloud %d of two groups lies %.2f apart", l, a)
			}
		}
	}
}

// The targets of a group are sums of some features, times the separation: without noise, a coin for each explains them all.
func TestLeastSquaresOfGroups(t *testing.T) {
	d := must.M1(LeastSquares{Clients: 5, Groups: 2, Rows: 40, Features: 6, Noise: 1e-9, Separation: 0.5, Seed: 3}.Make())
	must.M(d.Check())
	expect.That(t, slices.Equal(d.Groups, []int{0, 1, 0, 1, 0}), "groups %v", d.Groups)
	coins := func(owner int) (fits []int) { // as bits
		for w := range 1 << 6 {
			worst := 0.0
			for _, i := range byOwner(&d.Train)[owner] {
				y := 0.0
				for j, x := range d.Train.Row(i, nil) {
					y += 0.5 * float64(w>>j&1) * float64(x)
				}
				worst = max(worst, math.Abs(y-float64(d.Train.Targets[i])))
			}
			if worst < 1e-5 {
				fits = append(fits, w)
			}
		}
		return fits
	}
	first, second := coins(0), coins(1)
	expect.That(t, len(first) == 1 && len(second) == 1 && first[0] != second[0], "coins %v and %v", first, second)
	expect.That(t, slices.Equal(coins(2), first) && slices.Equal(coins(3), second), "coins %v and %v", coins(2), coins(3))
}

func TestMadeDataRefuseBadOptions(t *testing.T) {
	for want, made := range map[string]func() (*Dataset, error){
		"Synthetic: Alpha = -1: must be a number ≥ 0":                   Synthetic{Alpha: -1}.Make,
		"Synthetic: Beta = NaN: must be a number ≥ 0":                   Synthetic{Beta: math.NaN()}.Make,
		"Synthetic: Classes = 1: must be at least 2":                    Synthetic{Classes: 1}.Make,
		"Synthetic: Clients = -3: must be at least 1":                   Synthetic{Clients: -3}.Make,
		"Synthetic: Alpha = 1, Beta = 0: must be 0 if IID is set":       Synthetic{Alpha: 1, IID: true}.Make,
		"GaussianMixture: Clients = 2: must be at least 4":              GaussianMixture{Clients: 2}.Make,
		"GaussianMixture: Separation = +Inf: must be a number > 0":      GaussianMixture{Separation: math.Inf(1)}.Make,
		"GaussianMixture: Classes = 3: must be at least Groups = 4":     GaussianMixture{Classes: 3, Permute: true}.Make,
		"LeastSquares: Noise = -1: must be a number > 0":                LeastSquares{Noise: -1}.Make,
		"LeastSquares: Separation = 2: must be 0 without Groups":        LeastSquares{Separation: 2}.Make,
		"LeastSquares: Clients = 2: must be at least 3, the number of":  LeastSquares{Clients: 2, Groups: 3}.Make,
		"Logistic: Rows = -1: must be at least 1":                       Logistic{Rows: -1}.Make,
		"Synthetic: 450 × Clients × Features = 2.7e+10: must be at mos": Synthetic{Clients: 1e6}.Make,
		"GaussianMixture: Clients × (Rows + TestRows) × Features = 2.0": GaussianMixture{Rows: 1e8}.Make,
		"Logistic: (Features + 1) × Classes = 1.1e+10: must be at most": Logistic{Classes: 1e9}.Make,
		"LeastSquares: Clients × (Rows + TestRows) × Features = 1.84":   LeastSquares{Rows: 1 << 62, TestRows: 1 << 62}.Make,
		"least squares: Train: Targets: example 0 is":                   LeastSquares{Noise: 1e300}.Make,
		"synthetic(0, 1e+300): Train: Floats: example 0 holds":          Synthetic{Beta: 1e300}.Make,
		"mixture of 4 groups: Train: Floats: example 0 holds":           GaussianMixture{Separation: 1e300}.Make,
	} {
		d, err := made()
		expect.That(t, err != nil && d == nil && strings.Contains(err.Error(), want), "error %v, want %q", err, want)
	}
}

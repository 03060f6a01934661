package stats

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"gonum.org/v1/gonum/floats/scalar"
)

var nan = math.NaN()

func close(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || scalar.EqualWithinAbsOrRel(a, b, 1e-9, 1e-9)
}

// Numbers are those of SciPy 1.17.1:
//
//	import numpy as np; from scipy import stats as st
//	x = np.array([0.912, 0.905, 0.931, 0.894, 0.922])
//	st.t.interval(0.95, len(x)-1, x.mean(), st.sem(x))[1] - x.mean()
func TestInterval(t *testing.T) {
	for _, c := range []struct {
		v          []float64
		mean, half float64
	}{
		{[]float64{0.912, 0.905, 0.931, 0.894, 0.922}, 0.9128, 0.017894614103612927},
		{[]float64{0.5, 0.7}, 0.6, 1.2706204736174689},
		{[]float64{0.5}, 0.5, nan},
		{nil, nan, nan},
	} {
		if mean, half := Interval(c.v); !close(mean, c.mean) || !close(half, c.half) {
			t.Errorf("%v: %v ± %v, want %v ± %v", c.v, mean, half, c.mean, c.half)
		}
	}
}

// alternating returns 1, …, n with every k-th number negative.
func alternating(n, k int) (d []float64) {
	for i := 1; i <= n; i++ {
		v := float64(i)
		if i%k == 0 {
			v = -v
		}
		d = append(d, v)
	}
	return d
}

// p values are those of SciPy 1.17.1 with its defaults: stats.ttest_1samp(d, 0), which ttest_rel(x, y) is for d = x − y,
// and stats.wilcoxon(d).
func TestPairedTests(t *testing.T) {
	for what, c := range map[string]struct {
		d           []float64
		t, wilcoxon float64
		exact       bool
	}{
		"no ties":               {[]float64{3, 1, 4, -2, 6}, 0.15325877700281718, 0.1875, true},
		"ties":                  {[]float64{1, 1, -2, 3, 4}, 0.24549203685029763, 0.3125, true},
		"a zero":                {[]float64{0, 1, -2, 3, 4}, 0.3239408309918427, 0.375, true},
		"all positive":          {[]float64{1, 2, 3, 4, 5}, 0.01323559956368269, 0.0625, true},
		"13 with ties, zeros":   {[]float64{1, 1, 2, -3, 0, 4, 4, -5, 6, 7, 8, 0, 9}, 0.04497139872822498, 0.0517578125, true},
		"14 with ties, zeros":   {[]float64{1, 1, 2, -3, 0, 4, 4, -5, 6, 7, 8, 0, 9, 10}, 0.021554610149339116, 0.027935406484119733, false},
		"30 without":            {alternating(30, 3), 0.16884991798627144, 0.17059839516878128, true},
		"60 without":            {alternating(60, 4), 0.000927766040580233, 0.0013633620914137979, false},
		"nothing":               {nil, nan, nan, true},
		"one pair":              {[]float64{0.5}, nan, 1, true},
		"all zero":              {[]float64{0, 0, 0}, nan, nan, true},
		"all the same but zero": {[]float64{0.5, 0.5}, 0, 0.5, true},
	} {
		if p := PairedT(c.d); !close(p, c.t) {
			t.Errorf("%s: t %v, want %v", what, p, c.t)
		}
		if p, exact := Wilcoxon(c.d); !close(p, c.wilcoxon) || exact != c.exact {
			t.Errorf("%s: Wilcoxon %v, exact %v, want %v, %v", what, p, exact, c.wilcoxon, c.exact)
		}
	}
}

// The interval has the shifts that the signed-rank test, which SciPy has checked, does not reject, and no others.
func TestHodgesLehmann(t *testing.T) {
	d := []float64{0.31, -0.12, 0.57, 0.83, 1.49, -0.41, 0.24, 2.03, 0.68, 0.07}
	for _, alpha := range []float64{0.05, 0.01} {
		_, lo, hi := HodgesLehmann(alpha, d)
		for _, c := range []struct {
			at       float64
			rejected bool
		}{{lo - 1e-9, true}, {lo + 1e-9, false}, {hi - 1e-9, false}, {hi + 1e-9, true}} {
			shifted := make([]float64, len(d))
			for i, v := range d {
				shifted[i] = v - c.at
			}
			if p, _ := Wilcoxon(shifted); p <= alpha != c.rejected {
				t.Errorf("α = %v, [%v, %v]: p = %v at %v", alpha, lo, hi, p, c.at)
			}
		}
	}
	// By hand: the means of pairs of 1, 2 and 6 are 1, 1.5, 2, 3.5, 4 and 6. Three differences have no interval of 95 %.
	if at, lo, hi := HodgesLehmann(0.05, []float64{1, 6, 2}); at != 2.75 || !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
		t.Errorf("%v, %v to %v", at, lo, hi)
	}
	// Tables of the signed-rank test have 434 as the critical value of 50 pairs at 5 %, two-sided; 51 have the normal distribution.
	if k, m := signedRankQuantile(51, 0.025), signedRankQuantile(50, 0.025); k < m || k > m+40 || m != 435 {
		t.Errorf("quantiles %d and %d", k, m)
	}
	if at, _, _ := HodgesLehmann(0.05, nil); !math.IsNaN(at) {
		t.Errorf("of nothing: %v", at)
	}
}

// By the definition: 3·0.01, 2·0.02, and 0.03 is raised to its predecessor. The second are those of
//
//	import numpy as np
//	p = np.array([0.02, 0.2, 0.001, 0.04, 0.9]); o = np.argsort(p); m = len(p)
//	q = np.empty(m); q[o] = np.minimum(1, np.maximum.accumulate((m - np.arange(m)) * p[o]))
func TestHolm(t *testing.T) {
	for _, c := range [][2][]float64{
		{{0.01, 0.02, 0.03}, {0.03, 0.04, 0.04}},
		{{0.02, 0.2, 0.001, 0.04, 0.9}, {0.08, 0.4, 0.005, 0.12, 0.9}},
		{{0.02, nan, 0.5, 0.6}, {0.06, nan, 1, 1}},
		{nil, nil},
	} {
		got := Holm(c[0])
		for i, want := range c[1] {
			if !close(got[i], want) {
				t.Errorf("%v: %v, want %v", c[0], got, c[1])
			}
		}
	}
}

// stats.friedmanchisquare(*np.array(blocks).T) and np.mean([stats.rankdata(b) for b in blocks], 0) of SciPy 1.17.1; the
// third block has a tie.
func TestFriedman(t *testing.T) {
	blocks := [][]float64{{0.90, 0.91, 0.93, 0.88}, {0.85, 0.88, 0.87, 0.80}, {0.70, 0.70, 0.75, 0.65}, {0.95, 0.94, 0.96, 0.94}, {0.60, 0.66, 0.69, 0.61}}
	p, ranks := expect.Values(Friedman(blocks))(t)
	for i, want := range []float64{2.1, 2.8, 3.8, 1.3} {
		if !close(ranks[i], want) || !close(p, 0.014342862457230003) {
			t.Errorf("p = %v, ranks %v", p, ranks)
		}
	}
	if p, ranks, err := Friedman([][]float64{{1, 1}, {2, 2}}); !math.IsNaN(p) || !slices.Equal(ranks, []float64{1.5, 1.5}) || err != nil {
		t.Errorf("all equal: %v, %v, %v", p, ranks, err)
	}
	for _, bad := range [][][]float64{nil, {{1, 2}}, {{1}, {1}}, {{1, 2}, {1}}, {{1, 2}, {1, nan}}} {
		if _, _, err := Friedman(bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// stats.studentized_range.ppf(0.95, k, np.inf)/np.sqrt(2) of SciPy 1.17.1, k = 2, …, 20. Demšar (2006, table 5a) has the
// first nine with three digits.
func TestCriticalDifference(t *testing.T) {
	for i, want := range []float64{1.959963985, 2.343700586, 2.569031773, 2.727774371, 2.84970542, 2.948320018, 3.03087845,
		3.101730341, 3.163683577, 3.218653607, 3.268003924, 3.312738593, 3.353617752, 3.391230284, 3.426041379, 3.458424707,
		3.488684799, 3.517073009, 3.543799132} {
		k := i + 2
		if q := studentizedRange(0.95, k) / math.Sqrt2; math.Abs(q-want) > 2e-9 {
			t.Errorf("k = %d: q %.10g, want %.10g", k, q, want)
		}
	}
	// Demšar (2006, section 3.2.2): four classifiers on 14 data sets differ if their ranks are 1.25 apart.
	if cd := CriticalDifference(4, 14); math.Abs(cd-1.25) > 0.005 {
		t.Errorf("CD = %v", cd)
	}
}

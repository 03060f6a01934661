package compare

import (
	"math"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/stats"
)

// With twelve pairs, the test is Wilcoxon's: of two methods, the first p value is compared with 2.5 %, the second with 5 %.
func TestEffects(t *testing.T) {
	base := []float64{0.5, 0.52, 0.54, 0.56, 0.58, 0.6, 0.62, 0.64, 0.66, 0.68, 0.7, 0.72}
	ahead, mixed := make([]float64, 12), make([]float64, 12)
	for i, v := range base {
		ahead[i], mixed[i] = v+0.01*float64(i+1), v+0.011*float64(i+1)*math.Pow(-1, float64(i))
	}
	split := func(name string, v []float64) (x, y Panel) {
		return Panel{Name: "x", Runs: method(name, v[:6]...)}, Panel{Name: "y", Runs: method(name, v[6:]...)}
	}
	x, y := split("Base", base)
	for name, v := range map[string][]float64{"Ahead": ahead, "Mixed": mixed} {
		a, b := split(name, v)
		x.Runs, y.Runs = append(x.Runs, a.Runs...), append(y.Runs, b.Runs...)
	}
	e, ranked, err := Effects(Accuracy, "Base", x, y)
	expect.OK(t, err)
	a, m := e[0], e[1]
	if !ranked || a.Method != "Ahead" || a.Pairs != 12 || m.Method != "Mixed" {
		t.Fatalf("%+v", e)
	}
	if p := 2 * math.Pow(2, -12); !close(a.P, 2*p) || m.P < 0.05 || m.Lo > 0 || m.Hi < 0 {
		t.Errorf("%+v", e)
	}
	var d []float64
	for i := range base {
		d = append(d, rounded(ahead[i]-base[i]))
	}
	if at, lo, hi := stats.HodgesLehmann(0.025, d); !near([]float64{a.Estimate, a.Lo, a.Hi}, []float64{at, lo, hi}) || lo <= 0 {
		t.Errorf("%+v, want %v from %v to %v", a, at, lo, hi)
	}
	// Six pairs of one panel cannot do for two methods, and have a t test.
	if e, ranked, err = Effects(Accuracy, "Base", y); err != nil || ranked {
		t.Fatalf("%+v, %v", e, err)
	}
	if mean, half := stats.IntervalAt(0.025, d[6:]); !near([]float64{e[0].Estimate, e[0].Hi}, []float64{mean, mean + half}) {
		t.Errorf("%+v, want %v ± %v", e[0], mean, half)
	}
	for says, panels := range map[string][]Panel{
		"no panel given": nil,
		`panel "z": invalid: baseline = "Base": must be one of "A"`: {x, {"z", method("A", 0.5)}},
		`there are no runs but those of "Base"`:                     {{"z", method("Base", 0.5)}},
		`"Alone" has no run with the seed of one of "Base" and a`:   {y, {"z", append(method("Base", 0.5), seeded(99, ran("Alone", 0.9)))}},
	} {
		if _, _, err := Effects(Accuracy, "Base", panels...); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

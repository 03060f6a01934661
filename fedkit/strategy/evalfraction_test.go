package strategy_test

import (
	"fmt"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/plot"
	"fedkit.example/fedkit/strategy"
)

// Options.EvalFraction changes who is scored, and nothing else: global, assigned and mixed models, and unseen clients.
func TestEvalFraction(t *testing.T) {
	fed := expect.Value(quadratic(t, 20, 31, 8, 24, 17, 40, 9).HoldOut(1, 1))(t)
	for name, make := range map[string]func() fedkit.Strategy{
		"global": func() fedkit.Strategy { return &strategy.FedAvg{Fraction: 0.5, Local: standard} },
		"assigned": func() fedkit.Strategy {
			return &strategy.FedRep{Head: []string{"dense1/biases"}, Fraction: 0.5, Local: standard}
		},
		"mixed": func() fedkit.Strategy { return &strategy.FedPRISM{K: 2, Every: 2, Fraction: 0.5, Local: standard} },
	} {
		o := fedkit.Options{Rounds: 6, EvalEvery: 2, Seed: 3}
		all := run(t, fed, make(), o)
		o.EvalFraction = 0.5
		some := run(t, fed, make(), o)
		o.Rounds, o.Checkpoint = 4, t.TempDir()+"/checkpoint"
		run(t, fed, make(), o)
		o.Rounds = 6
		resumed := run(t, fed, make(), o)
		cohorts := map[string]bool{}
		for i, r := range some.Rounds {
			whole, drawn, loss, n := all.Rounds[i], "", 0.0, 0
			if fmt.Sprint(whole.Results) != fmt.Sprint(r.Results) || fmt.Sprint(whole.Unseen) != fmt.Sprint(r.Unseen) || fmt.Sprint(resumed.Rounds[i].Scores) != fmt.Sprint(r.Scores) {
				t.Errorf("%s: round %d: training, unseen clients or the resumed run differ", name, r.Round)
			}
			for c, s := range r.Scores {
				if s.Examples == 0 {
					continue
				}
				if want := whole.Scores[c]; s.Examples != want.Examples || !near(float64(s.Loss), float64(want.Loss)) {
					t.Errorf("%s: round %d, client %d: %+v, want %+v", name, r.Round, c, s, want)
				}
				drawn, loss, n = drawn+fmt.Sprint(c, " "), loss+float64(s.Loss)*float64(s.Examples), n+s.Examples
			}
			if r.Scores == nil {
				continue
			}
			cohorts[drawn] = true
			if m := r.Mean(); len(drawn) != 2*3 || m.Examples != n || !near(float64(m.Loss), loss/float64(n)) {
				t.Errorf("%s: round %d: clients %sare scored, mean %+v over %d examples", name, r.Round, drawn, r.Mean(), n)
			}
		}
		if len(cohorts) < 2 {
			t.Errorf("%s: the same clients are evaluated in every round: %v", name, cohorts)
		}
		if err := plot.ClientAccuracy(some).Err(); err != nil {
			t.Error(name, err)
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }

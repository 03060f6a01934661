package compare_test

import (
	"fmt"

	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/history"
)

// run is a history as fedkit.Run returns it, with these accuracies of the global model.
func run(name string, seed uint64, accuracy ...history.Float) *history.History {
	h := &history.History{Name: name, Clients: 3, Seed: seed}
	for i, a := range accuracy {
		h.Rounds = append(h.Rounds, history.Record{
			Round: i + 1, Seconds: 0.5, BytesUp: 1000, BytesDown: 2000,
			Global: &history.Score{Accuracy: a, Loss: 1 - a, Examples: 100},
		})
	}
	return h
}

func ExampleTable() {
	fmt.Println("FedAvg and FedProx")
	compare.Table(run("FedAvg", 0, 0.2, 0.8, 0.6), run("FedProx", 0, 0.3, 0.7)).Show()
	// Output:
	// FedAvg and FedProx
	//          rounds  accuracy    best  clients  worst 10 %   loss  down    up    time
	// FedAvg        3    60.0 %  80.0 %        –           –  0.400  6 kB  3 kB  1.50 s
	// FedProx       2    70.0 %  70.0 %        –           –  0.300  4 kB  2 kB  1.00 s
	// accuracy, best and loss: of the global model, on test rows
}

// Seeds of one configuration are one line, and runs with the same seed are pairs.
func ExampleComparison_Table() {
	var hs []*history.History
	for seed, better := range []history.Float{0.03, 0.01, 0.04, -0.01, 0.05} {
		luck := 0.02 * history.Float(seed)
		hs = append(hs, run("FedAvg", uint64(seed), 0.5+luck, 0.8+luck), run("FedProx", uint64(seed), 0.6+luck, 0.8+luck+better))
	}
	t := compare.Comparison{
		Target: 0.85, Baseline: "FedAvg",
		Columns: []string{"n", "accuracy", "rounds to 85 %", "difference", "pairs", "p (t)", "p (Wilcoxon)"},
	}.Table(hs...)
	t.Note = ""
	t.Show()
	fmt.Print(t.Markdown())
	// Output:
	//          n      accuracy  rounds to 85 %         difference  pairs  p (t)  p (Wilcoxon)
	// FedAvg   5  84.0 ± 3.9 %         2 (2/5)
	// FedProx  5  86.4 ± 5.2 %         2 (3/5)  +2.4 ± 3.0 points      5  0.090         0.188
	// |  | n | accuracy | rounds to 85 % | difference | pairs | p (t) | p (Wilcoxon) |
	// | :-- | --: | --: | --: | --: | --: | --: | --: |
	// | FedAvg | 5 | 84.0 ± 3.9 % | 2 (2/5) |  |  |  |  |
	// | FedProx | 5 | 86.4 ± 5.2 % | 2 (3/5) | +2.4 ± 3.0 points | 5 | 0.090 | 0.188 |
}

// Numbers of a few seeds are held against what two papers say.
func ExampleClaims() {
	hs := []*history.History{run("FedAvg", 0, 0.96, 0.985), run("FedAvg", 1, 0.95, 0.981), run("FedAvg", 2, 0.97, 0.983)}
	compare.Claims{
		{What: "accuracy, IID", Source: "a paper, Table 1", Says: compare.Reported(0.99), Here: compare.Accuracy.Of(hs...), Unit: "%", Why: "no search for η"},
		{What: "B is ahead of A", Source: "the same", Unit: "points", In: []compare.Setting{
			{Name: "skew", Here: []float64{0.031, 0.042, 0.025, 0.038, 0.035}},
			{Name: "IID", Here: []float64{0.004, -0.002, 0.001, 0.003, -0.005}},
		}},
		{What: "B saves half the time", Source: "its abstract", Unit: "%", Says: compare.Above(0.5), Here: []float64{0.31, 0.25, 0.28, 0.35, 0.33}},
	}.Show()
	// Output:
	// reproduced number  source            reported          here          gap  n  p (Holm)  verdict               why
	// accuracy, IID      a paper, Table 1    99.0 %  98.3 ± 0.5 %  −0.7 points  3     0.026  ✗ less than reported  no search for η
	// verdicts: less than reported 1; here: mean over n runs, or pairs of runs with equal seeds, ± 95 % confidence interval, each alone; p: t test against what is claimed, two-sided, with Holm's correction over the settings of a claim; a setting counts if p < 0.05; tests: 1
	// tested claim           source        setting   claimed               here  n  p (Holm)  verdict
	// B is ahead of A        the same      skew      > 0      +3.4 ± 0.8 points  5     0.001  ○ holds only with skew
	//                                      IID                 0.0 ± 0.5 points  5     0.910
	// B saves half the time  its abstract           > 50.0 %  30.4 ± 4.9 %       5   < 0.001  ✗ does not hold here: less than claimed
	// verdicts: holds only 1, does not hold here 1; here: mean over n runs, or pairs of runs with equal seeds, ± 95 % confidence interval, each alone; p: t test against what is claimed, two-sided, with Holm's correction over the settings of a claim; a setting counts if p < 0.05; tests: 3
}

// One quantity of three methods on two problems, with three seeds each.
func ExamplePivot() {
	panel := func(name string, accuracy map[string]history.Float) compare.Panel {
		p := compare.Panel{Name: name}
		for _, method := range []string{"FedAvg", "FedProx", "LocalOnly"} {
			for seed, luck := range []history.Float{0, 0.01, -0.01} {
				p.Runs = append(p.Runs, run(method, uint64(seed), accuracy[method]+luck))
			}
		}
		return p
	}
	compare.Pivot{Ranked: true}.Table(
		panel("skewed", map[string]history.Float{"FedAvg": 0.6, "FedProx": 0.65, "LocalOnly": 0.7}),
		panel("even", map[string]history.Float{"FedAvg": 0.9, "FedProx": 0.91, "LocalOnly": 0.5})).Show()
	// Output:
	// accuracy         skewed           even   mean rank
	// FedProx    65.0 ± 2.5 %   91.0 ± 2.5 %*       1.50
	// LocalOnly  70.0 ± 2.5 %*  50.0 ± 2.5 %        2.00
	// FedAvg     60.0 ± 2.5 %   90.0 ± 2.5 %        2.50
	// mean over 3 seeds ± 95 % confidence interval; accuracy of the global model; bold (* in text): best mean
}

// FedProx is ahead by what the pairs of runs with equal seeds differ, in the one setting here.
func ExampleLead() {
	p := compare.Panel{Name: "skew"}
	for seed, a := range []history.Float{0.70, 0.72} {
		p.Runs = append(p.Runs, run("FedAvg", uint64(seed), a), run("FedProx", uint64(seed), 0.75))
	}
	for _, s := range compare.Lead(compare.Accuracy, "FedProx", "FedAvg", p) {
		fmt.Println(s.Name, s.Here)
	}
	// Output: skew [0.05 0.03]
}

package studies

import (
	"cmp"
	"strings"
	"testing"

	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/expect"
	"gonum.org/v1/gonum/stat"
)

// stored are the numbers of runs that the committed extracts have, or had once.
var stored = map[string]int{
	"01_fedavg": 6, "03_clients": 270, "03_server_optimizers": 400, "04_robust": 100, "05_stragglers": 30, "06_personal": 32, "07_decisions": 255,
	"07_smart_selection": 15, "08_fedprism": 472, "09_fedclust": 283, "10_adaptive_clustering": 219, "11_ifca": 983, "12_fedcluster": 275,
	"13_fedsc": 230, "14_fedac": 550, "15_cfla": 110, "15_which_clustering": 910, "16_ccfl": 266, "17_fedeff": 80,
	"20_compare_all": 2100, "20_long": 684, "20_tuning": 3620, "22_models": 12, "22_speed": 6, "23_text": 6,
}

// Every run of a committed extract is found by the study of its notebook.
func TestFull(t *testing.T) {
	t.Chdir("..")
	for name, n := range stored {
		if testing.Short() && strings.HasPrefix(name, "20_") { // thousands
			continue
		}
		if f := Full(name); len(f.Runs) < n {
			t.Errorf("%s: %d runs, want %d: %v", name, len(f.Runs), n, f)
		}
	}
	if f := Full("none"); len(f.Runs) > 0 || !strings.Contains(f.String(), "there are no runs") {
		t.Error(f)
	}
}

// What is tuned is the best choice of the grid, by the mean over the settings and the first two seeds.
func TestTunedIsBest(t *testing.T) {
	expect.Long(t, "thousands of runs")
	t.Chdir("..")
	all := append(Full("20_compare_all").Runs.Where("choice", "recommended"), Full("20_tuning").Runs...)
	for _, a := range algorithms() {
		runs := all.Where("name", a.name).Any("seed", 1, 2)
		mean := func(choice string) float64 {
			of := compare.Clients.Of(runs.Where("choice", choice).Light()...)
			if len(of) != 2*len(settings) {
				t.Errorf("%s, %s: %d runs", a.name, choice, len(of))
			}
			return stat.Mean(of, nil)
		}
		tuned, choices := cmp.Or(a.tuned, "recommended"), []string{"recommended"}
		for _, c := range a.grid {
			choices = append(choices, c.String())
		}
		for _, other := range choices {
			if mean(other) > mean(tuned) {
				t.Errorf("%s: %s reaches %.4f, %s only %.4f", a.name, other, mean(other), tuned, mean(tuned))
			}
		}
	}
}

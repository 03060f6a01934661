package studies

import (
	"fmt"
	"testing"
)

// runs are the numbers of runs of all studies.
var runs = map[string]int{
	"01_fedavg": 6, "03_clients": 270, "03_server_optimizers": 400, "04_robust": 100, "05_client_drift": 350, "05_stragglers": 30, "06_personal": 32,
	"07_decisions": 255, "07_smart_selection": 75, "08_fedprism": 895, "09_fedclust": 350, "10_adaptive_clustering": 254, "11_ifca": 992,
	"12_fedcluster": 275, "13_fedsc": 230,
	"14_fedac": 590, "15_cfla": 110, "15_which_clustering": 910, "16_ccfl": 326, "17_fedeff": 80, "19_machines": 30, "20_compare_all": 2100, "20_long": 684,
	"20_tuning": 3620, "22_models": 12, "22_speed": 10, "23_text": 6,
}

// Each study has its runs, all with their federation and its model, and no two that are called the same.
func TestStudies(t *testing.T) {
	if len(All) != len(runs) {
		t.Errorf("%d studies, want %d", len(All), len(runs))
	}
	for _, s := range All {
		plan, seen := s.Plan(), map[string]bool{}
		if len(plan) != runs[s.Name] {
			t.Errorf("%s: %d runs, want %d", s.Name, len(plan), runs[s.Name])
		}
		for i, run := range plan {
			name := fmt.Sprintln(append([]any{run.Options.Name, run.Options.Seed}, run.Labels...)...)
			if run.Data == nil || run.Partition == nil || run.Model.Key() == "" || run.Options.Name == "" || run.Options.Rounds == 0 || seen[name] {
				t.Errorf("%s: run %d: %+v: it lacks something, or is there twice", s.Name, i, run)
			}
			seen[name] = true
		}
	}
}

// What an algorithm is compared with is in the grid that it was tuned on.
func TestTuned(t *testing.T) {
	for _, a := range algorithms() {
		if a.tuned != "" && a.best() == (choice{}) {
			t.Errorf("%s: %q is not in its grid", a.name, a.tuned)
		}
	}
}

package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"fedkit.example/fedkit/worker"
)

// The test program is the command itself if FEDKIT_COMMAND is set. Under the race detector the plugin's destructors abort
// when a process exits normally.
func TestMain(m *testing.M) {
	worker.Main()
	if os.Getenv("FEDKIT_COMMAND") != "" {
		syscall.Exit(execute(os.Args[1:], standard(), tried...))
	}
	syscall.Exit(m.Run())
}

// world is four clients with the small digits.
var world = study.World{Data: datasets.Name("digits"), Partition: partition.IID{Clients: 4}, Model: study.Of(model.MLP, 4)}

// rates are runs of these rates and rounds, with two seeds each.
func rates(local fedkit.Local, rounds int, rates ...float64) func() study.Plan {
	return func() (p study.Plan) {
		for _, local.LR = range rates {
			for seed := range uint64(2) {
				p = append(p, &study.Trial{World: world, Strategy: &strategy.FedAvg{Local: local}, Options: fedkit.Options{Rounds: rounds, Seed: seed + 1}})
			}
		}
		return p
	}
}

// tried are the studies of the tests.
var tried = []study.Named{
	{Name: "two_by_two", Plan: twoByTwo},
	{Name: "rates", Plan: rates(fedkit.Local{Batch: 8}, 2, 0.1)},
	{Name: "rates_large", Plan: rates(fedkit.Local{Batch: 8}, 2, 1e30)},
	{Name: "rates_long", Plan: rates(fedkit.Local{Batch: 8}, 200_000, 0.1)},
	{Name: "rates_both", Plan: rates(fedkit.Local{Batch: 8}, 9, 1e30, 0.1)},
	{Name: "short_and_long", Plan: func() study.Plan {
		return append(rates(fedkit.Local{}, 1, 0.1)()[:1], rates(fedkit.Local{}, 200_000, 0.1)()[:1]...)
	}},
	{Name: "odd_names", Plan: func() study.Plan {
		avg := &strategy.FedAvg{}
		return study.Plan{{World: world, Strategy: avg, Options: fedkit.Options{Name: "=1+1\x1b[2J\nFedAvg", Rounds: 1, Seed: 1}, Labels: []any{"world", "\r\u009b31m"}},
			{World: world, Strategy: avg, Options: fedkit.Options{Name: "=1+1\x1b[2J\nFedAvg", Rounds: 1, Seed: 2}, Labels: []any{"world", "b"}}}
	}},
	{Name: "no_data", Plan: one(func(t *study.Trial) { t.Data = datasets.Name("femnist") })},
	{Name: "mistaken", Plan: one(func(t *study.Trial) { t.Partition = nil })},
	{Name: "mistaken_labels", Plan: one(func(t *study.Trial) { t.Labels = []any{"α"} })},
	{Name: "mistaken_fraction", Plan: one(func(t *study.Trial) { t.Strategy = &strategy.FedAvg{Fraction: 2} })},
}

// one is a run of one round with a change.
func one(change func(*study.Trial)) func() study.Plan {
	return func() study.Plan {
		t := &study.Trial{World: world, Strategy: &strategy.FedAvg{}, Options: fedkit.Options{Rounds: 1}}
		change(t)
		return study.Plan{t}
	}
}

// twoByTwo is two strategies on two skews, with three seeds.
func twoByTwo() (p study.Plan) {
	local := fedkit.Local{Batch: 16, LR: 0.1}
	for _, s := range []fedkit.Strategy{&strategy.FedAvg{Local: local}, &strategy.FedProx{Local: local, Mu: 0.1}} {
		for _, alpha := range []float64{0.1, 1} {
			for seed := range uint64(3) {
				w := world
				w.Partition = partition.Dirichlet{Clients: 10, Alpha: alpha}
				p = append(p, &study.Trial{World: w, Strategy: s, Options: fedkit.Options{Rounds: 3, Seed: seed + 1}, Labels: []any{"α", alpha}})
			}
		}
	}
	return p
}

// do runs the command in this process.
func do(args ...string) (status int, out, err string) {
	var o, e bytes.Buffer
	status = execute(args, &console{out: &o, err: &e}, tried...)
	return status, o.String(), e.String()
}

// process returns the command as a process.
func process(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), "FEDKIT_COMMAND=1")
	return c
}

// Each mistake ends with status 2, a message that names what is allowed or meant, and nothing printed or written.
func TestMistakesAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for says, args := range map[string][]string{
		`study = "two_by_tow": must be the name of a study, such as two_by_two, `:          {"study", "two_by_tow"},
		`study = "mnist-2": must be the name of a study, such as mnist-2nn, `:              {"study", "status", "mnist-2"},
		"study = old.yaml: must be the name of a study: studies are Go now, in notebooks/": {"study", "old.yaml"},
		`part = "x": must be left out`:                                                     {"study", "rates", "--part", "x"},
		`seeds = "2-1": must be seeds and ranges of seeds`:                                 {"study", "rates", "--seeds", "2-1"},
		`seeds = "7": must be some of those of the study: 1, 2`:                            {"study", "rates", "--seeds", "7"},
		"only = α=7: must be the name, the seed or a label":                                {"study", "two_by_two", "--only", "α=7"},
		"FedAvg: invalid: World.Partition = nothing: must be given":                        {"study", "mistaken"},
		"Fraction = 2: must be in (0, 1]":                                                  {"study", "mistaken_fraction"},
		"labels = α: must be pairs of a key and a value":                                   {"study", "mistaken_labels"},
		"n = -1: must be a number of workers":                                              {"study", "rates", "--workers=-1"},
		"--store = stroe: must be a folder that a study has":                               {"results", "list", "--store", "stroe"},
		"unknown flag --sede":                                                              {"study", "rates", "--sede", "1"},
		`did you mean "study"?`:                                                            {"stduy"},
		`expected "<study>"`:                                                               {"study", "status"},
	} {
		status, out, err := do(args...)
		if status != refused || out != "" || !strings.Contains(err, says) {
			t.Errorf("%q: status %d, printed %q and %q, want %q", args, status, out, err, says)
		}
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("%v", left)
	}
	if status, out, err := do("study", "status", "mistaken_labels", "--json"); status != done || out != `{"state":"missing","name":"FedAvg","seed":0}`+"\n" {
		t.Error(status, out, err)
	}
}

// A data set whose files are missing is a failure that says where to put them.
func TestMissingFilesAreExplained(t *testing.T) {
	t.Setenv("FEDKIT_DATA", "")
	t.Setenv("FEDKIT_CACHE", t.TempDir())
	status, out, err := do("study", "no_data", "--store", t.TempDir())
	if status != failed || out != "" || !strings.Contains(err, "FEDKIT_DATA") {
		t.Errorf("status %d, printed %q and %q", status, out, err)
	}
}

// The study of a notebook is stored beside it, and in its extract; where there are no notebooks, in the folder runs, as a preset's is.
// FEDKIT_STUDY_DIR wins. Case does not matter.
func TestWhereStudiesAreStored(t *testing.T) {
	t.Chdir(t.TempDir())
	in := func(want string, args ...string) {
		t.Helper()
		if status, out, log := do(append([]string{"study", "status"}, args...)...); status != done || !strings.HasSuffix(out, " is in "+want+"\n") {
			t.Errorf("%d: %s%s, want %s", status, out, log, want)
		}
	}
	in("runs", "rates")
	if err := os.Mkdir("notebooks", 0o700); err != nil {
		t.Fatal(err)
	}
	in(filepath.Join("notebooks", "runs", "rates")+" or "+filepath.Join("notebooks", "rates.runs"), "RATES")
	in("mine", "rates", "--store", "mine")
	in("runs", "MNIST-2nn")
	t.Setenv("FEDKIT_STUDY_DIR", "shared")
	in("shared", "rates")
	if _, _, log := do("study", "status", "MNIST-2nn"); !strings.Contains(log, "mnist-2nn: a network") || !strings.Contains(log, "published  rounds to 97 %: 87") {
		t.Error(log)
	}
}

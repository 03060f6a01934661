package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
)

// A grid has a run for each combination, in order, and one federation for all runs on the same data.
func TestGridHasAllCombinations(t *testing.T) {
	g := expect.Value(ReadGrid("testdata/study.yaml"))(t)
	var got []string
	for _, c := range g {
		got = append(got, fmt.Sprintf("%s: %v, %s, seed %d", c, config.Of(c.Strategy), c.Partition, c.Options.Seed))
	}
	local := "Local: {Batch: 16, LR: 0.1}"
	var want []string
	for _, s := range [][2]string{{"FedAvg", "strategy.FedAvg{" + local + "}"}, {"FedProx Mu=0.1", "strategy.FedProx{" + local + ", Mu: 0.1}"}} {
		for _, alpha := range []string{"0.1", "1"} {
			for seed := range 3 {
				want = append(want, fmt.Sprintf("%s, α %s: %s, 10 clients, Dirichlet α = %s, seed %d", s[0], alpha, s[1], alpha, seed+1))
			}
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMistakesInAGrid(t *testing.T) {
	base := "base: {strategy: FedAvg, data: Digits, partition: IID Clients=4, model: MLP, options: {Rounds: 1}}\n"
	for text, want := range map[string]string{
		base + "vary: {partition.Alpha: [1]}":                              "run, Alpha 1: invalid: Partition.Alpha = 1: must be an option of partition.IID: Clients, Seed",
		base + "vary: {strategy.Local.LR: 0.1}":                            "vary.strategy.Local.LR = 0.1: must be a list of values, or sets",
		base + "vary: {strategy: [FedAvg, FedPox]}":                        "FedPox: invalid: Strategy = FedPox: must be the name of a strategy (did you mean FedProx?)",
		base + "vari: {strategy: [FedAvg]}":                                `study.yaml = "vari": must be sections base, vary and labels`,
		base + "vary: {options.Seed: [1, 2], options.seed: [3]}":           "vary.options.seed = given twice",
		base + "vary: {options.Seed: [1]}\nlabels: {options.Sed: s}":       "labels.options.Sed = s",
		"vary: {strategy: [FedAvg]}":                                       "FedAvg: invalid: data = nothing",
		base + "vary: {strategy.Local: [{Epochs: 1, LR: x}]}":              "run, Local Epochs=1 LR=x: invalid: Strategy.Local.LR = x: must be a number",
		base + "vary: {strategy.Local.LR: [1], strategy.Server.LR: [0.5]}": "strategy.Local.LR 1, strategy.Server.LR 0.5: invalid: Strategy.Server",
	} {
		path := filepath.Join(t.TempDir(), "study.yaml")
		expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := ReadGrid(path); !errors.Is(err, fedkit.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
}

// A file that asks for more than a machine can do is refused at once, with a short message.
func TestGridsBeyondBounds(t *testing.T) {
	seeds := "[" + strings.TrimSuffix(strings.Repeat("1, ", 100), ", ") + "]"
	for text, want := range map[string]string{
		"vary: {a: " + seeds + ", b: " + seeds + ", c: " + seeds + ", d: " + seeds + "}":                                                          "vary = 100000000 combinations: must be at most 100000",
		"vary: {a: {x: {vary: {b: " + seeds + ", c: " + seeds + "}}, y: {vary: {b: " + seeds + ", c: " + seeds + "}}}, d: [1, 2, 3, 4, 5, 6, 7]}": "vary = 140000 combinations",
		"base: {a: &a [&b [&c [x, x], *c, *c], *b], b: *a}\nvary: " + strings.Repeat("[", 100_000):                                                "exceeded max depth",
		"base: {strategy: " + strings.Repeat("x", 1_000_000) + "}\nvary: {strategy.Mu: [1]}":                                                      "Strategy = xxx",
		"labels: {" + strings.Repeat("x", 1_000_000) + ": y}":                                                                                     "did not find expected",
		"vary: {x: " + strings.Repeat("y", 1_000_000) + "}":                                                                                       "vary.x = yyy",
		"base: *" + strings.Repeat("y", 1_000_000):                                                                                                "yyy",
	} {
		path := filepath.Join(t.TempDir(), "study.yaml")
		expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := ReadGrid(path); !errors.Is(err, fedkit.ErrInvalid) || !strings.Contains(err.Error(), want) || len(err.Error()) > 3000 {
			t.Errorf("%.200s\n%.3000v, want %s", text, err, want)
		}
	}
}

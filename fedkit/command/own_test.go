package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// Slower moves only a part of the way.
//
// Source: nobody, arXiv 0000.00000.
type Slower struct {
	strategy.State
	Local fedkit.Local
	Share float64 `range:"(0,1]" default:"0.5"` // how far it moves
	Pace  pace    // of the clients
}

// pace is an enumeration.
type pace int

const (
	Walk pace = iota
	Run
)

// Round implements fedkit.Strategy.
func (s *Slower) Round(r *fedkit.Round) error {
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.X, Local: s.Local})
	s.X = s.X.Add(u.Delta().Mean(u.Examples()).Scale(s.Share))
	return r.Err()
}

// halved is every second example.
type halved struct{}

func (halved) Make() (*datasets.Dataset, error) { return datasets.Digits(), nil }

type shallow struct{ Units int }

func (m shallow) Model() fedkit.Model { return model.MLP(m.Units) }

// first is whatever the first client sends.
type first struct{}

func (first) Aggregate(u *fedkit.Matrix, _ []float64) *fedkit.Matrix { return u.Take(0) }

// Custom components are known by name, with their options and comments; what is none is refused, and nothing of the call added.
func TestOwnComponents(t *testing.T) {
	own := []any{&Slower{}, halved{}, shallow{}, first{}}
	ask := func(with []any, args ...string) (int, string, string) {
		var out, err strings.Builder
		status := execute(args, &console{out: &out, err: &err}, with...)
		return status, out.String(), err.String()
	}
	type digits struct{ halved }
	type nothing struct{}
	type Krum struct{ aggregate.Median }
	for want, c := range map[string]any{
		"component = <nil>: must be a struct with a name":                               nil,
		"component = int: must be a struct":                                             3,
		"component = *command.Slower: must be a struct with a name, or a pointer to":    (*Slower)(nil),
		"component = *command.Slower: must be zero":                                     &Slower{Share: 0.1},
		"component = command.Slower: must be a pointer, &Slower{}":                      Slower{},
		"component = command.nothing: must be of a kind, with the methods of its inter": nothing{},
		"component = command.Krum: must be of a name that no aggregator has":            Krum{},
		"component = command.digits: must be of a name that no data set has":            digits{},
		"component = fedkit.AggregatorFunc: must be a struct":                           fedkit.AggregatorFunc(first{}.Aggregate),
	} {
		if status, _, log := ask([]any{&Slower{}, c}, "results", "list"); status != refused || !strings.Contains(log, want) {
			t.Errorf("%d: %s, want %s", status, log, want)
		}
	}
	if status, _, log := ask([]any{&Slower{}, &Slower{}}, "results", "list"); status != refused || !strings.Contains(log, "there is Slower already") {
		t.Error(status, log)
	}
	run := []string{"run", "--strategy", "Slower Share=0.25 Pace=Run Local.LR=0.1 Local.Batch=16", "--data", "Halved", "--partition", "IID Clients=4", "--model", "Shallow Units=4", "--rounds", "1"}
	if status, _, _ := ask(nil, run...); status != refused {
		t.Error("Slower was added by a call that was refused")
	}
	if status, out, log := ask(own, run...); status != done || !strings.Contains(out, `"strategy":{"Local":{"Batch":16,"LR":0.1},"Pace":1,"Share":0.25,"type":"command.Slower"}`) {
		t.Error(status, out, log)
	}
	if status, _, log := ask(nil, with(run, "--strategy", "Share=2")...); status != refused || !strings.Contains(log, "Share = 2: must be in (0, 1]") {
		t.Error(status, log)
	}
	if status, _, log := ask(nil, with(small, "--strategy", "FedAvg Aggregator=frist")...); status != refused || !strings.Contains(log, "did you mean first?") {
		t.Error(status, log)
	}
}

// What the guide says of a custom program holds: it runs its strategy, and a study knows when its code has changed.
func TestOwnProgram(t *testing.T) {
	expect.Long(t, "a program is built and linked twice")
	page := string(expect.Value(os.ReadFile("../../notebooks/guide/strategies.md"))(t))
	block := func(start string) string {
		found := regexp.MustCompile("(?s)```(?:go|sh)\n(" + regexp.QuoteMeta(start) + ".*?)```").FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("the guide has no code that starts with %q", start)
		}
		return found[1]
	}
	dir, root := t.TempDir(), expect.Value(filepath.Abs("../.."))(t)
	write := func(name, text string) { expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	do := func(name string, args ...string) string {
		c := exec.Command(name, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	write("go.mod", fmt.Sprintf("module example.com/mine\n\ngo 1.26\n\nrequire fedkit.example v0.0.0\n\nreplace fedkit.example => %q\n", root))
	write("go.sum", string(expect.Value(os.ReadFile("../../go.sum"))(t)))
	write("main.go", block("package main"))
	write("study.yaml", "base: {strategy: {Local: {LR: 0.1, Batch: 16}}, data: Digits, partition: IID Clients=4, model: MLP Hidden=4, options: {Rounds: 2}}\nvary: {strategy: [FedAvg, HalfWay]}\n")
	strategy := "package main\n\nimport \"fedkit.example/fedkit\"\n\n" + block("// HalfWay")
	build := func(text string) {
		write("halfway.go", text)
		do("go", "build", "-mod=mod", "-ldflags=-s", "-o", "mine", ".")
	}
	write("halfway.go", strategy)
	t.Setenv("GOFLAGS", "-mod=mod -ldflags=-s -buildvcs=false")
	out := do("sh", "-ec", block("go build -o mine"))
	for _, want := range []string{`"rounds":10`, "2 to run"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s\nwant %s", out, want)
		}
	}
	if out := do("./mine", "study", "study.yaml"); !strings.Contains(out, "2 stored, 0 to run") {
		t.Error(out)
	}
	build(strings.Replace(strategy, "Scale(0.5)", "Scale(0.25)", 1))
	if out := do("./mine", "study", "status", "study.yaml"); !strings.Contains(out, "1 stored, 0 failed, 1 to run") || !strings.Contains(out, "code of your own") {
		t.Error(out)
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
	"golang.org/x/mod/modfile"
)

// root is the folder of fedkit's module.
var root = must.M1(filepath.Abs("../../.."))

// folder is a cell's folder as GoNB leaves it, with the cell's source.
func folder(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.work": "go 1.26.5\n\nuse (\n\t.\n\t" + modfile.AutoQuote(root) + "\n)\n", "go.mod": "module gonb_1\n\ngo 1.26.5\n", "main.go": source} {
		must.M(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

const imports = "package main; import (\"fedkit.example/fedkit\"; \"fedkit.example/fedkit/strategy\"; \"fedkit.example/fedkit/plot\")\n"

func TestHints(t *testing.T) {
	for _, c := range []struct {
		main, at string   // what main has, and where the compiler complains
		want     []string // parts of the hint
	}{
		{"_ = strategy.FedAvg{Frac: 1}", "Frac", []string{"did you mean Fraction? strategy.FedAvg has:", "Fraction    C, share of the clients in a round", "Aggregator  default aggregate.Mean"}},
		{"_ = fedkit.Local{Epoch: 1}", "Epoch", []string{"did you mean Epochs?", "Epochs      E, passes over the client's examples; in [1,inf); default 1"}},
		{"type Mine struct {\nRate float64 // η\n}\nvar _ = Mine{Rat: 1}", "Rat:", []string{"did you mean Rate? Mine has:", "Rate  η"}},
		{"_ = fedkit.Record{Acuracy: 1}", "Acuracy", []string{"fedkit.Record has:", "Scores"}}, // of another package
		{"_ = strategy.FedSplit{problems: nil}", "problems", []string{"strategy.FedSplit has:", "Exact"}},
		{"plot.Acuracy(h)", "Acuracy", []string{"did you mean Accuracy? package plot has, among others:"}},
		{"plot.Acuracy(h)", "plot.Acuracy", []string{"did you mean Accuracy?"}}, // either place may be named
		{"strategy.fedAvg(h)", "fedAvg", []string{"did you mean FedAvg? package strategy has, among others:"}},
		{"fedkit.cloned(h)", "cloned", []string{"did you mean Clone? package fedkit has, among others:"}},
		{"strategy.FederatedAveraging()", "Federated", []string{"package strategy has, among others:"}},
		{"_ = compare.OwnModel()", "compare", []string{"did you mean OwnModels?", "means over the clients"}},
		{"_ = compare.table()", "compare", []string{"did you mean Table? package compare has, among others:"}}, // GoNB left the import out
		{"fmt.println(1)", "fmt", []string{"if fmt is a package, its names begin with a capital letter: fmt.Println.", "If it is a variable, there is", "no such name here"}},
		{"strat.FedAvg()", "strat", []string{"did you mean strategy?"}},
		{"plot.Show(h)", "h)", []string{"no such name here; a cell is a program of its own", `fedkit.Options{History: "h.jsonl"}`, `study.New("runs")`}},
		{"rate := 1; plot.Show(rte)", "rte", []string{"did you mean rate?"}},
		{"x = 1", "x", []string{"to declare it: x := …"}},
		{"plot.Show(None)", "None", []string{"Go writes nil"}},
		{"pass", "pass", []string{"Go writes { } for nothing"}},
		{"fedkit.Run(ctx)", "ctx", []string{"the context is context.Background()"}},
		{"fmt.Printn(1)", "fmt", []string{"package fmt has no Printn: !go doc fmt"}},
		{"import \"fedkit.example/fedkit/stratgy\"", "\"", []string{`did you mean "fedkit.example/fedkit/strategy"?`}},
		{"import \"strategy\"", "\"", []string{`did you mean "fedkit.example/fedkit/strategy"?`}},
		{"import \"github.com/a/b\"", "\"", []string{"FEDKIT_GOPROXY"}},
		// What is there, the compiler complains of for another reason.
		{"_ = strategy.FedAvg{Fraction: \"1\"}", "Fraction", nil},
		{"plot.Accuracy(1, 2)", "Accuracy", nil},
		{"rate := 1", "rate", nil},
		{"return", "return", nil},
	} {
		t.Run(c.main, func(t *testing.T) {
			source := imports + "func main() {\n" + c.main + "\n}\n"
			switch {
			case strings.HasPrefix(c.main, "type"):
				source = imports + c.main + "\nfunc main() {}\n"
			case strings.HasPrefix(c.main, "import"):
				source = "package main\n" + c.main + "\nfunc main() {}\n"
			}
			before, _, found := strings.Cut(source, c.at)
			if start := strings.Index(source, c.main); start >= 0 {
				before, _, found = strings.Cut(source[start:], c.at)
				before = source[:start] + before
			}
			expect.Must(t, found, "no %v", c.at)
			line, column := 1+strings.Count(before, "\n"), len(before)-strings.LastIndex(before, "\n")
			out := fmt.Sprintf("# gonb_1\n./main.go:%d:%d: wrong; to add it:\n\tgo get x\n\tmore\n", line, column)
			got := hinted(out, folder(t, source))
			hint, message := strings.CutPrefix(got, fmt.Sprintf("./main.go:%d:%d: wrong\n\tmore\n", line, column))
			expect.That(t, message, "the compiler's message is not what it was: %s", got)
			if c.want == nil && hint != "" {
				t.Errorf("a hint without reason: %s", hint)
			}
			for _, part := range c.want {
				expect.That(t, strings.Contains(hint, part), "no %q in %s", part, got)
			}
		})
	}
}

// Of names that are there, a hint goes by the compiler's words.
func TestAdvice(t *testing.T) {
	dir := folder(t, imports+"func main() {\nh := 1\n}\n")
	for message, want := range map[string]string{
		"declared and not used: h": "alone on the last line, a variable is shown",
		"cannot use strategy.FedAvg{} (value of struct type strategy.FedAvg) as fedkit.Strategy value in argument to fedkit.Run: strategy.FedAvg does not implement fedkit.Strategy (method Round has pointer receiver)": "write &strategy.FedAvg{…}",
		"cannot use Mine{} (value of type Mine) as fedkit.Strategy value in argument to fedkit.Run: Mine does not implement fedkit.Strategy (missing method Serve)":                                                      "fedkit.Strategy wants the method Serve(r *Round) Serving",
		"assignment mismatch: 1 variable but fedkit.Run returns 2 values":                                                                                                "must.M1(fedkit.Run(…)) ends the cell with it",
		"multiple-value fedkit.New(datasets.Digits(), nil, nil) (value of type (*fedkit.Federation, error)) in argument to f":                                            "must.M1(fedkit.New(…))",
		"not enough arguments in call to fedkit.Run\n\thave (*fedkit.Federation, number)\n\twant (context.Context, *fedkit.Federation, fedkit.Strategy, fedkit.Options)": "context.Background()",
		"0.5 (untyped float constant) truncated to int":                                                                                                                  "float64(n) * 0.5",
		"not enough arguments in call to fedkit.Run\n\thave (context.Context)\n\twant (context.Context, *fedkit.Federation, fedkit.Strategy, fedkit.Options)":            "",
		"assignment mismatch: 1 variable but f returns 3 values":                                                                                                         "",
		"missing return": "",
		"xs.append undefined (type []int has no field or method append)":                "Go writes xs = append(xs, x)",
		"xs.len undefined (type []int has no field or method len)":                      "Go writes len(xs)",
		"invalid argument: index -1 (constant of type int) must not be negative":        "the last element of xs is xs[len(xs)-1]",
		"invalid operation: cannot indirect 2 (untyped int constant)":                   "math.Pow(x, 2)",
		`invalid operation: "a" + n (mismatched types untyped string and int)`:          "fmt.Sprint(",
		`invalid operation: "%d" % 3 (mismatched types untyped string and untyped int)`: "fmt.Sprintf(",
		"invalid operation: n * x (mismatched types int and float64)":                   "write float64(n)",
		"cannot use n (variable of type int) as float64 value in struct literal":        "write float64(n)",
		`cannot use "0.1" (untyped string constant) as float64 value in struct literal`: "a number stands without quotes",
		"no new variables on left side of :=":                                           "it is declared above: = gives it another value",
		"non-boolean condition in if statement":                                         "n != 0, len(xs) > 0, err != nil",
		"label try defined and not used":                                                "Go has no exceptions",
		"label else defined and not used":                                               "Go writes } else {",
		"too many return values\n\thave (number)\n\twant ()":                            "what stands alone on its last line is shown",
		"missing argument in conversion to strategy.FedAvg":                             "&strategy.FedAvg{…}",
	} {
		got := hinted("# gonb_1\n./main.go:4:1: "+message+"\n", dir)
		if hint, kept := strings.CutPrefix(got, "./main.go:4:1: "+message+"\n"); !kept || !strings.Contains(hint, want) || want == "" && hint != "" {
			t.Errorf("%s", got)
		}
	}
}

func TestHintsOnce(t *testing.T) {
	dir := folder(t, imports+"func main() {\nx()\ny()\nz = 1\nz()\n}\n")
	got := hinted("# gonb_1\n./main.go:3:1: wrong\n./main.go:4:1: wrong\n", dir)
	expect.That(t, strings.Count(got, keep[:20]) == 1 && strings.Count(got, "wrong") == 2, "%v", got)
	got = hinted("./main.go:5:1: undefined: z\n./main.go:6:1: undefined: z\n", dir)
	expect.That(t, strings.Contains(got, "to declare it: z := …") && !strings.Contains(got, keep[:20]), "%v", got)
}

// After a restart, names of cells that have not run yet are found in the notebook.
func TestHintsKnowTheNotebook(t *testing.T) {
	dir := folder(t, imports+"func main() {\nrun(1)\nvar r Mine\nh.Last()\nother()\n}\n")
	notebook := `{"cells": [{"cell_type": "markdown", "source": "text"}, {"cell_type": "code", "source": ["type Mine struct {\n", "}\n", "func run(s fedkit.Strategy) *fedkit.History {\n", "}"]},` +
		`{"cell_type": "code", "source": ["%%\n", "h, err := run(x)"]}]}`
	t.Setenv("JPY_SESSION_NAME", filepath.Join(dir, "a.ipynb"))
	must.M(os.WriteFile(filepath.Join(dir, "a.ipynb"), []byte(notebook), 0o600))
	for line, want := range map[string]string{
		"3:1: undefined: run":   "func run(s fedkit.Strategy) *fedkit.History stands in a cell that has not run since the kernel started: run the cells above first",
		"4:7: undefined: Mine":  "type Mine struct stands in a cell that has not run",
		"5:1: undefined: h":     "h was a variable of an earlier cell",
		"6:1: undefined: other": "no such name here",
	} {
		got := hinted("./main.go:"+line+"\n", dir)
		expect.That(t, strings.Contains(got, want), "no %q in %s", want, got)
	}
}

// Packages that import each other, which the compiler refuses, do not keep the hints from the cell.
func TestHintsDespiteACircle(t *testing.T) {
	dir, mine := folder(t, "package main\nimport \"example.com/mine\"\nfunc main() {\nmine.Whu()\n}\n"), t.TempDir()
	must.M(os.WriteFile(filepath.Join(mine, "go.mod"), []byte("module example.com/mine\n"), 0o600))
	must.M(os.WriteFile(filepath.Join(mine, "mine.go"), []byte("package mine\nimport _ \"example.com/mine\"\nfunc Who() {}\n"), 0o600))
	must.M(os.WriteFile(filepath.Join(dir, "go.work"), []byte("go 1.26\n\nuse (\n\t.\n\t"+modfile.AutoQuote(mine)+"\n)\n"), 0o600))
	got := hinted("./main.go:4:6: undefined: mine.Whu\n", dir)
	expect.That(t, strings.Contains(got, "did you mean Who? package mine has:"), "%v", got)
}

func TestHintsKnowEarlierCells(t *testing.T) {
	dir := folder(t, imports+"func main() {\n\th, err := fedkit.Run()\n\t_, _ = h, err\n}\n")
	must.M(os.MkdirAll(filepath.Dir(memory(dir)), 0o700))
	remember(dir)
	must.M(os.WriteFile(filepath.Join(dir, "main.go"), []byte(imports+"func main() {\nh.Last()\n}\n"), 0o600))
	got := hinted("./main.go:3:1: undefined: h\n", dir)
	expect.That(t, strings.Contains(got, "h was a variable of an earlier cell, and a cell is a program of its own"), "%v", got)
}

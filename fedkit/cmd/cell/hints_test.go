package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// folder is a cell's folder as GoNB leaves it, with the cell's source.
func folder(t *testing.T, source string) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.work": "go 1.26\n\nuse (\n\t.\n\t" + modfile.AutoQuote(root) + "\n)\n", "go.mod": "module gonb_1\n", "main.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const imports = "package main; import (\"fedkit.example/fedkit\"; \"fedkit.example/fedkit/strategy\"; \"fedkit.example/fedkit/plot\")\n"

func TestHints(t *testing.T) {
	for _, c := range []struct {
		name, main, message string
		want                []string // parts of the hint
	}{
		{"field", "", "unknown field Frac in struct literal of type strategy.FedAvg",
			[]string{"did you mean Fraction? strategy.FedAvg has:", "Fraction    C, share of the clients in a round", "Aggregator  default aggregate.Mean"}},
		{"field with tags", "", "unknown field Epoch in struct literal of type fedkit.Local",
			[]string{"did you mean Epochs?", "Epochs     E, passes over the client's examples; in [1,inf); default 1"}},
		{"field of the cell's own type", "type Mine struct {\n\tRate float64 // η\n}", "unknown field Rat in struct literal of type Mine", []string{"did you mean Rate? Mine has:", "Rate  η"}},
		{"member", "", "h.Accurcy undefined (type *fedkit.History has no field or method Accurcy)", []string{"did you mean Accuracy()?", "Accuracy()  returns the accuracy of the last evaluated round"}},
		{"export", "", "undefined: plot.Acuracy", []string{"did you mean Accuracy? package plot has, among others:"}},
		{"small letter", "", "undefined: strategy.fedAvg (but have FedAvg)", []string{"did you mean FedAvg? package strategy has, among others:"}},
		{"small letter, and GoNB left the import out", "_ = compare.table()", "undefined: compare", []string{"did you mean Table? package compare has, among others:"}},
		{"small letter of a package of Go", "fmt.println(1)", "undefined: fmt", []string{"if fmt is a package, its names begin with a capital letter: fmt.Println.", "If it is a variable, there is", "no such name here"}},
		{"unexported", "", "name cloned not exported by package fedkit", []string{"did you mean Clone? package fedkit has, among others:"}},
		{"unexported field", "", "cannot refer to unexported field problems in struct literal of type strategy.FedSplit", []string{"strategy.FedSplit has:", "Exact"}},
		{"member with a small letter", "", "h.accuracy undefined (type *fedkit.History has no field or method accuracy, but does have method Accuracy)", []string{"did you mean Accuracy()?"}},
		{"far export", "", "undefined: strategy.FederatedAveraging", []string{"package strategy has, among others:"}},
		{"constant", "", "undefined: plot.Confidnce", []string{"did you mean Confidence?", "Confidence", "confidence interval"}},
		{"package", "strat.FedAvg()", "undefined: strat", []string{`did you mean strategy? (import "fedkit.example/fedkit/strategy")`}},
		{"missing import", "compare.Table()", "undefined: compare", []string{`missing above %%: import "fedkit.example/fedkit/compare"`}},
		{"variable", "plot.Show(h)", "undefined: h", []string{"no such name here; a cell is a program of its own", `fedkit.Options{History: "h.jsonl"}`, `study.New("runs")`}},
		{"near variable", "rate := 1; plot.Show(rte)", "undefined: rte", []string{"did you mean rate?"}},
		{"assignment", "x = 1", "undefined: x", []string{"to declare it: x := …"}},
		{"habit", "plot.Show(None)", "undefined: None", []string{"Go writes nil"}},
		{"unused", "", "declared and not used: x", []string{"alone on the last line"}},
		{"pointer", "", "cannot use strategy.FedAvg{} (value of struct type strategy.FedAvg) as fedkit.Strategy value in argument to fedkit.Run: strategy.FedAvg does not implement fedkit.Strategy (method Round has pointer receiver)",
			[]string{"write &strategy.FedAvg{…}"}},
		{"method", "", "cannot use Mine{} (value of type Mine) as fedkit.Strategy value in argument to fedkit.Run: Mine does not implement fedkit.Strategy (missing method Serve)",
			[]string{"fedkit.Strategy wants the method Serve(r *Round) Serving"}},
		{"must", "", "assignment mismatch: 1 variable but fedkit.Run returns 2 values", []string{"must.M1(fedkit.Run(…)) ends the cell with it"}},
		{"must inside", "", "multiple-value fedkit.New(datasets.Digits(), nil, nil) (value of type (*fedkit.Federation, error)) in single-value context", []string{"must.M1(fedkit.New(…))"}},
		{"context", "", "not enough arguments in call to fedkit.Run\n\thave (*fedkit.Federation, number)\n\twant (context.Context, *fedkit.Federation, fedkit.Strategy, fedkit.Options)", []string{"context.Background()"}},
		{"constant number", "", "0.5 (untyped float constant) truncated to int", []string{"float64(n) * 0.5"}},
		{"path", "", "no required module provides package fedkit.example/fedkit/stratgy; to add it:\n\tgo get fedkit.example/fedkit/stratgy", []string{`did you mean "fedkit.example/fedkit/strategy"?`}},
		{"short path", "", "package strategy is not in std (/go/src/strategy)", []string{`did you mean "fedkit.example/fedkit/strategy"?`}},
		{"foreign path", "", "no required module provides package github.com/a/b; to add it:\n\tgo get github.com/a/b", []string{"FEDKIT_GOPROXY"}},
		{"nothing to say", "", "missing return", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := imports + "func main() {\n" + c.main + "\n}\n"
			if strings.HasPrefix(c.main, "type") {
				source = imports + c.main + "\nfunc main() {}\n"
			}
			dir := folder(t, source)
			_, name, _ := strings.Cut(c.message, "undefined: ")
			column := max(1, strings.LastIndex(c.main, name)+1)
			out := "# gonb_1\n./main.go:3:" + string(rune('0'+column/10)) + string(rune('0'+column%10)) + ": " + c.message + "\n"
			got := hinted(out, dir)
			if strings.Contains(got, "# gonb") || strings.Contains(got, "go get") {
				t.Errorf("kept what no reader needs: %s", got)
			}
			first, hint, _ := strings.Cut(got, "\n    ")
			if !strings.Contains(first, strings.Split(c.message, ";")[0]) {
				t.Errorf("the compiler's message is not kept: %s", got)
			}
			if c.want == nil && hint != "" {
				t.Errorf("a hint without reason: %s", hint)
			}
			for _, part := range c.want {
				if !strings.Contains(hint, part) {
					t.Errorf("no %q in %s", part, got)
				}
			}
		})
	}
}

func TestHintsOnce(t *testing.T) {
	dir := folder(t, imports+"func main() {\n}\n")
	got := hinted("# gonb_1\n./main.go:3:1: declared and not used: x\n./main.go:4:1: declared and not used: y\n", dir)
	if strings.Count(got, "last line") != 1 || strings.Count(got, "declared") != 2 {
		t.Error(got)
	}
}

func TestHintsKnowEarlierCells(t *testing.T) {
	dir := folder(t, imports+"func main() {\n\th, err := fedkit.Run()\n\t_, _ = h, err\n}\n")
	if err := os.MkdirAll(filepath.Dir(memory(dir)), 0o700); err != nil {
		t.Fatal(err)
	}
	remember(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(imports+"func main() {\nh.Last()\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := hinted("./main.go:3:1: undefined: h\n", dir); !strings.Contains(got, "h was a variable of an earlier cell, and a cell is a program of its own") {
		t.Error(got)
	}
}

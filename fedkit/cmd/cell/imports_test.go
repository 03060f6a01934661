package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// A cell wants the packages of the workspace that it names and does not import. What it imports under that name wins, and which of two
// packages of the same name is meant, and those of Go, is for goimports to find.
func TestWanted(t *testing.T) {
	twice := t.TempDir() // a module that has a package of a name that fedkit has, and one of a name that Go has
	for name, text := range map[string]string{"go.mod": "module example.com/mine\n", "table/table.go": "package table\n", "own/own.go": "package own\n", "sort/sort.go": "package sort\n"} {
		expect.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(twice, name)), 0o700))
		expect.OK(t, os.WriteFile(filepath.Join(twice, name), []byte(text), 0o600))
	}
	w := workspace{"fedkit.example": root, "example.com/mine": twice}
	const above = "package main"
	for cell, want := range map[string]string{
		"":                            "",
		"x := 1; h.Rounds; r.T":       "",
		"fed := datasets.Digits()":    `; import "fedkit.example/datasets"`,
		"plot.Accuracy(h).Show()":     `; import "fedkit.example/fedkit/plot"`,
		"must.M1(fedkit.New())":       `; import "fedkit.example/fedkit"; import "github.com/janpfeifer/must"`,
		"_ = partition.IID{}; own.X":  `; import "example.com/mine/own"; import "fedkit.example/datasets/partition"`,
		"fmt.Println(sort.Ints)":      "",
		"table.Table{}":               "", // there are two
		"strateg.FedAvg{}":            "",
		"_ = strategy.FedAvg{Local: ": `; import "fedkit.example/fedkit/strategy"`, // not whole
		"plot.":                       `; import "fedkit.example/fedkit/plot"`,
	} {
		got := w.wanted(above + "\n\nfunc main() {\n" + cell + "\n}\n")
		expect.That(t, got == want, "%s: wants %q, not %q", cell, got, want)
	}
	for imports, want := range map[string]string{
		`import "gonum.org/v1/plot"`:                       "",
		`import plot "example.com/mine/own"`:               "",
		`import "example.com/plot/v2"`:                     "",
		`import p "fedkit.example/fedkit/plot"`:            "",
		`import "fmt"; import "fedkit.example/fedkit/own"`: `; import "fedkit.example/fedkit/plot"`,
	} {
		got := w.wanted(above + "\n" + imports + "\nfunc main() { plot.Show(h) }\n")
		expect.That(t, got == want, "%s: wants %q, not %q", imports, got, want)
	}
}

// A cell whose names are all known gets what it uses and loses what it does not; all lines keep their numbers. Otherwise goimports decides.
func TestSetImports(t *testing.T) {
	const block = "import (\n\t\"math\"\n\t\"example.com/go-own\"\n)\n\n"
	for cell, want := range map[string]string{
		"func main() {\n\tplot.Show(1)\n}\n":                   "package main; import \"fedkit.example/fedkit/plot\"\n\n",
		"func main() { flag.Parse(); plot := x; plot.Show() }": "package main; import \"flag\"\n\n",
		block + "func main() { math.Sqrt(1) }\n":               "package main\n\nimport (\n\t\"math\"\n\t                    \n)\n\n",
		block + "func main() { strings.Cut() }\n":              "package main; import \"strings\"\n\nimport (\n\t      \n\t                    \n)\n\n",
		block + "func main() { own.X() }\n":                    "", // go-own may be called own
		block + "func main() { rand.X() }\n":                   "", // there are two
		"import (\n\tm \"math\"\n\t_ \"embed\"\n)\n":           "package main\n\nimport (\n\t        \n\t_ \"embed\"\n)\n",
	} {
		file := filepath.Join(folder(t, "package main\n\n"+cell), "main.go")
		for range 2 {
			known := expect.Value(setImports(file))(t)
			got := string(expect.Value(os.ReadFile(file))(t))
			expect.That(t, known == (want != "") && strings.HasPrefix(got, want), "%q: %v, %q", cell, known, got)
			expect.That(t, known || strings.Contains(got, "go-own"), "%q: an import is gone: %q", cell, got)
		}
	}
	for _, file := range []string{filepath.Join(t.TempDir(), "none.go"), filepath.Join(folder(t, "package main\n\nfunc"), "main.go")} {
		expect.Error(t)(setImports(file))
	}
}

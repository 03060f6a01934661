package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// What Go's parser refuses is answered with a sentence on what was meant, at the line of the cell.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		cell string
		line int // of the cell
		want string
	}{
		{`fmt.Println("x")`, 1, `above it are only import, type, func, var and const: write %% above fmt.Println("x")`},
		{"\nx := 3\nx", 2, "what runs stands below a line %%"},
		{"%%time\nx := 3", 2, "write %% above x := 3"},
		{"for i in range(3):\n\tprint(i)", 1, "Go writes for i := range 3 { … }; and what runs stands below a line %%"},
		{"%%\nfor i in range(3):\n\tprint(i)", 2, "Go writes for i := range 3 { … }"},
		{"%%\nfor i in range(n) {\n}", 2, "Go writes for i := range n { … }"},
		{"%%\nfor i in range(1, len(x)):\n\tprint(i)", 2, "Go writes for i := 1; i < len(x); i++ { … }"},
		{"%%\nfor i, x in enumerate(xs):\n\tprint(x)", 2, "Go writes for i, x := range xs { … }"},
		{"%%\nfor k, v in d.items():\n\tprint(k)", 2, "Go writes for k, v := range d { … }"},
		{"%%\nfor x in xs:\n\tprint(x)", 2, "Go writes for _, x := range xs { … }"},
		{"%%\nwhile x < 3:\n\tx += 1", 2, "Go writes for x < 3 { … }"},
		{"%%\nif x == 3:\n\tprint(x)", 2, "Go writes if x == 3 { … }"},
		{"%%\nif x in xs:\n\tprint(x)", 2, "Go writes if slices.Contains(xs, x) { … }"},
		{"%%\nif x is None:\n\tprint(x)", 2, "Go writes x == nil"},
		{"%%\nif x > 2 and y < 3 {\n}", 2, "Go writes && for and, || for or, ! for not"},
		{"%%\nif not x {\n}", 2, "Go writes && for and, || for or, ! for not"},
		{"%%\nif x = 3 {\n}", 2, "== compares, and = assigns"},
		{"%%\nif x > 2\n{\n}", 2, "the { stands at the end of this line"},
		{"%%\nif x > 2 {\n}\nelse {\n}", 4, "Go writes } else { on one line"},
		{"%%\nassert x == 3", 2, `panic("…")`},
		{"# a comment\n%%\nx := 3", 1, "a comment begins with //, not with #"},
		{"%%\nx := 3 # a comment", 2, "a comment begins with //, not with #"},
		{"%%\nfmt.Println('text')", 2, `text stands in double quotes: "text"`},
		{"%%\nfmt.Println(f'{x}')", 2, "Go writes fmt.Sprintf("},
		{"%%\nfmt.Println(f\"{x}\")", 2, "Go writes fmt.Sprintf("},
		{"%%\nfmt.Println(“text”)", 2, `text stands in straight quotes: "…"`},
		{"%%\nfmt.Println(\"text)", 2, "the closing quote is missing"},
		{"%%\ns := \"\"\"a\nb\"\"\"", 2, "text of several lines stands in backquotes: `…`"},
		{"%%\nprint x", 2, "Go writes fmt.Println(…)"},
		{"def twice(x):\n\treturn 2 * x", 1, "Go writes func twice(x float64) float64 { … } above %%"},
		{"class Mine:\n\tpass", 1, "Go writes type Mine struct { … } above %%"},
		{"%%\nfunc twice(x int) int { return 2 * x }", 2, "functions stand above %%: move twice there, or write twice := func(…) { … } here"},
		{"%%\nfunc (s *Mine) Round(r *fedkit.Round) error { return nil }", 2, "functions stand above %%: move Round there"},
		{"%%\nimport \"math\"\nfmt.Println(math.Pi)", 2, "imports stand above %%"},
		{"import numpy as np", 1, "an import is a path in quotes, above %%: import \"gonum.org/v1/gonum/stat\"; fedkit's packages need none"},
		{"from math import pi", 1, "an import is a path in quotes, above %%"},
		{"%%\nlet x = 3", 2, "Go writes x := 3"},
		{"%%\nvar x := 3", 2, "Go writes x := 3"},
		{"%%\nx := [1, 2, 3]", 2, "a list begins with its type: []float64{1, 2, 3}"},
		{"%%\nx := {\"a\": 1}", 2, "a literal begins with its type: map[string]float64{\"a\": 1}"},
		{"%%\nx := [y * y for y in ys]", 2, "Go has no comprehensions"},
		{"%%\nx := 1 if y else 2", 2, "Go has no conditional expressions"},
		{"%%\nx := y > 2 ? 1 : 2", 2, "Go has no conditional expressions"},
		{"%%\nf := lambda x: 2 * x", 2, "Go writes func(x float64) float64 { return … }"},
		{"%%\n_ = fedkit.Local{\n\tEpochs: 2\n}", 3, "every line of a literal ends with a comma"},
		{"%%\nfmt.Println(1", 2, "a ) is missing here"},
		{"%%\nfmt.Println(\"this or that? http://\"", 2, "a ) is missing here"},
		{"%%\nfmt.Println(3 // 2)", 2, "// begins a comment"},
		{"%%\nfmt.Println(1))", 2, "a ) too many"},
		{"%%\nfor i := range 3 {\n\tfmt.Println(i)", 3, "opened above and never closed"},
		{"%%\nfmt.Println(1)\n}", 3, "a } too many"},
		{"%%\nx := 3\nx", 0, ""},
	} {
		dir, above := t.TempDir(), 2
		cell := "package main\n\n" + strings.Replace(c.cell, "%%time", "", 1)
		if before, body, runs := strings.Cut(cell, "%%\n"); runs { // as GoNB does
			cell = before + "func main() {\n\tflag.Parse()\n" + body + "\n}\n"
			if c.line > strings.Count(before, "\n")-1 {
				above++
			}
		}
		expect.OK(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(cell), 0o600))
		said := mistakes(dir)
		if c.want == "" {
			expect.That(t, said == "", "%q: %s", c.cell, said)
			continue
		}
		where := strings.HasPrefix(said, "main.go:"+string(rune('0'+c.line+above))+":")
		expect.That(t, where && strings.Contains(said, "\n    ") && strings.Contains(said, c.want) && strings.Count(said, "\n") == 2, "%q: want line %d and %q in\n%s", c.cell, c.line, c.want, said)
	}
}

package main

import (
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// mistakes returns what Go's parser says first of a cell, with a sentence on what was meant; "" if it has nothing to say. GoNB asks for it
// before it gives up: it reads cells itself, and would call the compiler only then.
func mistakes(dir string) string {
	for _, name := range []string{"main.go", "main_test.go"} {
		source, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		_, err = parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
		if found := (scanner.ErrorList)(nil); errors.As(err, &found) {
			first := found[0]
			lines := strings.Split(strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(string(source)), "}"), "\n"), "\n")
			at := min(first.Pos.Line, len(lines)) // GoNB's own end of main is no line of the cell
			said := fmt.Sprintf("%s:%d:%d: %s\n", name, at, first.Pos.Column, first.Msg)
			if meant := meant(lines[:at], first.Msg); meant != "" {
				said += "    " + meant + "\n"
			}
			return said
		}
	}
	return ""
}

const below = "what runs stands below a line %%; above it are only import, type, func, var and const"

// meant is a sentence on the last of the lines, of which the parser says this.
func meant(lines []string, message string) string {
	line := strings.TrimSpace(lines[len(lines)-1])
	running := false // below %%
	for i := range lines[1:] {
		running = running || lines[i] == "func main() {" && lines[i+1] == "\tflag.Parse()"
	}
	for _, w := range written {
		if w.running && !running || !strings.Contains(message, w.message) {
			continue
		}
		if w.line == nil {
			return w.meant
		}
		if at := w.line.FindStringSubmatchIndex(line); at != nil {
			meant := string(w.line.ExpandString(nil, w.meant, line, at))
			if !running && strings.HasPrefix(message, "expected declaration") && !strings.Contains(meant, "%%") {
				meant += "; and " + below
			}
			return meant
		}
	}
	if strings.HasPrefix(message, "expected declaration") {
		if running {
			return "a } too many above: it ends what %% begins"
		}
		return below + ": write %% above " + line
	}
	return ""
}

// written are mistakes in the order in which they are looked for: what the line has, if that matters, what the parser says, and what is meant.
var written = []struct {
	line    *regexp.Regexp
	message string
	meant   string
	running bool // only below %%
}{
	{message: "'#'", meant: "a comment begins with //, not with #"},
	{message: "quotation mark", meant: `text stands in straight quotes: "…"`},
	{line: regexp.MustCompile(`\bf(?:'|")`), meant: `Go writes fmt.Sprintf("round %d: %v", n, x)`},
	{line: regexp.MustCompile(`"""|'''`), meant: "text of several lines stands in backquotes: `…`"},
	{line: regexp.MustCompile(`'([^']*)'`), message: "rune literal", meant: `text stands in double quotes: "$1"`},
	{message: "rune literal", meant: `text stands in double quotes: "…"`},
	{message: "literal not terminated", meant: "the closing quote is missing"},
	{line: regexp.MustCompile(`^for +(\w+) +in +range\(([^,]*)\) *[:{]?$`), meant: "Go writes for $1 := range $2 { … }"},
	{line: regexp.MustCompile(`^for +(\w+) +in +range\(([^,]*), *([^,]*)\) *[:{]?$`), meant: "Go writes for $1 := $2; $1 < $3; $1++ { … }"},
	{line: regexp.MustCompile(`^for +(\w+), *(\w+) +in +(?:enumerate\((.*)\)|(.*?)(?:\.items\(\))?) *[:{]?$`), meant: "Go writes for $1, $2 := range $3$4 { … }"},
	{line: regexp.MustCompile(`^for +(\w+) +in +(.*?) *[:{]?$`), meant: "Go writes for _, $1 := range $2 { … }"},
	{line: regexp.MustCompile(`^while +(.*?) *:$`), meant: "Go writes for $1 { … }"},
	{line: regexp.MustCompile(`^(?:el)?if +(\S+) +in +(.*?) *:$`), meant: "Go writes if slices.Contains($2, $1) { … }"},
	{line: regexp.MustCompile(`\b(\w+) +is +None\b`), meant: "Go writes $1 == nil"},
	{line: regexp.MustCompile(`^elif +(.*?) *:$`), meant: "Go writes } else if $1 { … }"},
	{line: regexp.MustCompile(`^if +(.*?) *:$`), meant: "Go writes if $1 { … }"},
	{line: regexp.MustCompile(`^else *:?`), meant: "Go writes } else { on one line"},
	{line: regexp.MustCompile(`^(?:try|except|finally|with)\b.*:$`), meant: tried},
	{line: regexp.MustCompile(`^(?:raise|assert)\b`), meant: `Go writes if … { panic("…") }, or returns an error`},
	{line: regexp.MustCompile(`^def +(\w+)`), meant: "Go writes func $1(x float64) float64 { … } above %%"},
	{line: regexp.MustCompile(`^class +(\w+)`), meant: "Go writes type $1 struct { … } above %%, and methods as func (x *$1) Name() { … }"},
	{line: regexp.MustCompile(`^(?:from|import) +[\w.]+(?: |$)`), meant: `an import is a path in quotes, above %%: import "fedkit.example/fedkit"`},
	{line: regexp.MustCompile(`^import\b`), meant: "imports stand above %%", running: true},
	{line: regexp.MustCompile(`^func +(?:\([^)]*\) *)?(\w+)\(`), meant: "functions stand above %%: move $1 there, or write $1 := func(…) { … } here", running: true},
	{line: regexp.MustCompile(`^print +`), meant: "Go writes fmt.Println(…)"},
	{line: regexp.MustCompile(`^(?:let|auto|var) +(\w+) *:?= *(.*)`), meant: "Go writes $1 := $2"},
	{line: regexp.MustCompile(`\blambda\b`), meant: "Go writes func(x float64) float64 { return … }"},
	{line: regexp.MustCompile(`\[.*\bfor\b.*\bin\b`), meant: "Go has no comprehensions: a loop appends, xs = append(xs, x)"},
	{line: regexp.MustCompile(`\?|\bif\b.* else\b[^{]*$`), meant: "Go has no conditional expressions: x := a, then if … { x = b }"},
	{line: regexp.MustCompile(`\b(?:and|or|not)\b`), meant: "Go writes && for and, || for or, ! for not"},
	{line: regexp.MustCompile(`(?:[=(,]|return) *\[`), meant: "a list begins with its type: []float64{1, 2, 3}"},
	{line: regexp.MustCompile(`(?:[=(,]|return) *\{`), message: "found '{'", meant: `a literal begins with its type: map[string]float64{"a": 1}, []float64{1, 2}`},
	{message: "found assignment", meant: "== compares, and = assigns"},
	{message: "unexpected newline, expecting { after", meant: "the { stands at the end of this line, not on the next one"},
	{message: "before newline in composite literal", meant: "every line of a literal ends with a comma, the last one too, unless } follows"},
	{line: regexp.MustCompile(`\S.*//`), message: "before newline in", meant: "// begins a comment: / divides, whole numbers without a remainder"},
	{message: "before newline in", meant: "a ) is missing here; or, if the call goes on, a comma at the end of this line"},
	{message: "found 'EOF'", meant: "a {, ( or [ is opened above and never closed"},
	{message: "found ')'", meant: "a ) too many, or a ( too few"},
}

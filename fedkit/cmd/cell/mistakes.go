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

// mistakes returns what Go's parser says first of a cell, with a sentence on what was meant; "" if it has nothing to say. GoNB, which reads
// cells before it calls the compiler, asks for it.
func mistakes(dir string) string {
	for _, name := range []string{"main.go", "main_test.go"} {
		source, _ := os.ReadFile(filepath.Join(dir, name))
		_, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
		if found := (scanner.ErrorList)(nil); len(source) > 0 && errors.As(err, &found) {
			lines := strings.Split(strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(string(source)), "}"), "\n"), "\n")
			at := min(found[0].Pos.Line, len(lines)) // GoNB's own end of main is no line of the cell
			said := fmt.Sprintf("%s:%d:%d: %s\n", name, at, found[0].Pos.Column, found[0].Msg)
			if sentence := meant(lines[:at], found[0].Msg); sentence != "" {
				said += "    " + sentence + "\n"
			}
			return said
		}
	}
	return ""
}

const (
	move  = "functions stand above %%: move $1 there, or write $1 := func(…) { … } here"
	below = "what runs stands below a line %%; above it are only import, type, func, var and const"
)

// meant is a sentence on the last of the lines, of which the parser says this; "" if there is none.
func meant(lines []string, message string) string {
	line := strings.TrimSpace(lines[len(lines)-1])
	bare := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(line, `""`) // words in texts are no mistakes
	outside := strings.HasPrefix(message, "expected declaration")
	running := strings.Contains(strings.Join(lines, "\n"), "\nfunc main() {\n\tflag.Parse()\n") // below %%
	for _, w := range written {
		pattern := regexp.MustCompile(w.line)
		at := pattern.FindStringSubmatchIndex(line)
		if at == nil || !pattern.MatchString(bare) || !strings.Contains(message, w.message) || w.meant == move && !running {
			continue
		}
		sentence := string(pattern.ExpandString(nil, w.meant, line, at))
		if outside && !running && !strings.Contains(sentence, "%%") {
			sentence += "; and " + below
		}
		return sentence
	}
	switch {
	case outside && running:
		return "a } too many above: it ends what %% begins"
	case outside:
		return below + ": write %% above " + line
	}
	return ""
}

// written are mistakes in the order in which they are looked for: a pattern of the line, part of what the parser says, and what is meant.
var written = []struct{ line, message, meant string }{
	{"", "'#'", "a comment begins with //, not with #"},
	{"", "quotation mark", `text stands in straight quotes: "…"`},
	{`\bf(?:'|")`, "", `Go writes fmt.Sprintf("round %d: %v", n, x)`},
	{`"""|'''`, "", "text of several lines stands in backquotes: `…`"},
	{`'([^']*)'`, "rune literal", `text stands in double quotes: "$1"`},
	{"", "rune literal", `text stands in double quotes: "…"`},
	{"", "literal not terminated", "the closing quote is missing"},
	{`^for +(\w+) +in +range\(([^,]*)\) *[:{]?$`, "", "Go writes for $1 := range $2 { … }"},
	{`^for +(\w+) +in +range\(([^,]*), *([^,]*)\) *[:{]?$`, "", "Go writes for $1 := $2; $1 < $3; $1++ { … }"},
	{`^for +(\w+), *(\w+) +in +(?:enumerate\((.*)\)|(.*?)(?:\.items\(\))?) *[:{]?$`, "", "Go writes for $1, $2 := range $3$4 { … }"},
	{`^for +(\w+) +in +(.*?) *[:{]?$`, "", "Go writes for _, $1 := range $2 { … }"},
	{`^while +(.*?) *:$`, "", "Go writes for $1 { … }"},
	{`^(?:el)?if +(\S+) +in +(.*?) *:$`, "", "Go writes if slices.Contains($2, $1) { … }"},
	{`\b(\w+) +is +None\b`, "", "Go writes $1 == nil"},
	{`^elif +(.*?) *:$`, "", "Go writes } else if $1 { … }"},
	{`^if +(.*?) *:$`, "", "Go writes if $1 { … }"},
	{`^else *:?`, "", "Go writes } else { on one line"},
	{`^(?:try|except|finally|with)\b.*:$`, "", tried},
	{`^(?:raise|assert)\b`, "", `Go writes if … { panic("…") }, or returns an error`},
	{`^def +(\w+)`, "", "Go writes func $1(x float64) float64 { … } above %%"},
	{`^class +(\w+)`, "", "Go writes type $1 struct { … } above %%, and methods as func (x *$1) Name() { … }"},
	{`^(?:from|import) +[\w.]+(?: |$)`, "", `an import is a path in quotes, above %%: import "gonum.org/v1/gonum/stat"; fedkit's packages need none`},
	{`^import\b`, "expected statement", "imports stand above %%"},
	{`^func +(?:\([^)]*\) *)?(\w+)\(`, "", move},
	{`^print +`, "", "Go writes fmt.Println(…)"},
	{`^(?:let|auto|var) +(\w+) *:?= *(.*)`, "", "Go writes $1 := $2"},
	{`\blambda\b`, "", "Go writes func(x float64) float64 { return … }"},
	{`\[.*\bfor\b.*\bin\b`, "", "Go has no comprehensions: a loop appends, xs = append(xs, x)"},
	{`\?|\bif\b.* else\b[^{]*$`, "", "Go has no conditional expressions: x := a, then if … { x = b }"},
	{`\b(?:and|or|not)\b`, "", "Go writes && for and, || for or, ! for not"},
	{`(?:[=(,]|return) *\[`, "", "a list begins with its type: []float64{1, 2, 3}"},
	{`(?:[=(,]|return) *\{`, "found '{'", `a literal begins with its type: map[string]float64{"a": 1}, []float64{1, 2}`},
	{"", "found assignment", "== compares, and = assigns"},
	{"", "unexpected newline, expecting { after", "the { stands at the end of this line, not on the next one"},
	{"", "before newline in composite literal", "every line of a literal ends with a comma, the last one too, unless } follows"},
	{`\S.*//`, "before newline in", "// begins a comment: / divides, whole numbers without a remainder"},
	{"", "before newline in", "a ) is missing here; or, if the call goes on, a comma at the end of this line"},
	{"", "found 'EOF'", "a {, ( or [ is opened above and never closed"},
	{"", "found ')'", "a ) too many, or a ( too few"},
}

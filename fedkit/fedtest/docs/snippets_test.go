package docs_test

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
)

// given is what snippets use without declaring it; last what those of one file understand by a name.
var given = []struct{ names, is, in string }{
	{"ctx", "var context.Context", ""}, {"err", "var error", ""}, {"dir", "var string", ""}, {"accuracies differences", "var []float64", ""}, {"p2", "var float64", ""},
	{"fed", "var *fedkit.Federation", ""}, {"data images texts", "var *datasets.Dataset", ""}, {"rule", "var partition.Rule", ""},
	{"r", "var *fedkit.Round", ""}, {"u", "var *fedkit.Updates", ""}, {"x m", "var *fedkit.Matrix", ""}, {"p", "var []*graph.Node", ""},
	{"s", "var *HalfWay", ""}, {"avg", "var *strategy.FedAvg", ""}, {"rep", "var *strategy.FedRep", ""}, {"local", "var fedkit.Local", ""},
	{"h fedavg fedprox", "var *fedkit.History", ""}, {"hs skewed even validated", "var []*fedkit.History", ""}, {"runs", "var study.Runs", ""}, {"st", "var *study.Study", "study/submit.go"},
	{"plan", "var study.Plan", ""}, {"rates", "var func() study.Plan", "command/command.go"}, {"f g", "var *chart.Figure", ""}, {"panels", "var []plot.Panel", ""}, {"series", "var []chart.Series", ""}, {"drift", "var compare.Quantity", ""}, {"tree", "var cluster.Tree", ""},
	{"drifts", "var func(*fedkit.Record) []float64", ""}, {"Cover", "type struct { fedkit.Selector }", ""},
	{"HalfWay", "type struct { fedkit.Strategy; State struct { X *fedkit.Matrix; InFlight fedkit.InFlight }; X *fedkit.Matrix; Local, Server fedkit.Local; Sigma float64; K int }", ""},
	{"x", "var []float32", "datasets/table.go"}, {"h", "var []*fedkit.History", "chart/figure.go"}, {"x", "var *graph.Node", "fedkit/task.go"}, {"scope", "var *mlmodel.Scope", ""}, {"cultivars", "var []string", ""}, {"texts", "var []string", "tokens.go"}, {"tokens", "var datasets.Tokens", ""},
	{"tokenizers", "var struct { New func(any) (interface { Encode(string) []int }, error) }", ""}, {"hub", "var struct { New func(string) any }", "tokens.go"},
}

// A snippet is a block of code that documentation prints, and where.
type snippet struct{ at, text string }

var isGo = regexp.MustCompile(`\b[a-z]+\.[A-Z]\w*[({]|:=`)

// snippets returns the blocks of the pages and of all comments that look like Go; what has an … is no whole program.
func snippets(t *testing.T) (all []snippet) {
	add := func(at, text string) {
		if isGo.MatchString(text) && !strings.Contains(at, "config/text.go") { // how configurations are written
			all = append(all, snippet{at, text})
		}
	}
	for _, page := range pages(t) {
		for i, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, page), -1) {
			add(fmt.Sprint(page, " ", i+1), block[1])
		}
	}
	expect.OK(t, filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && path != top && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata") {
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, c := range file.Comments {
			for _, block := range new(comment.Parser).Parse(c.Text()).Content {
				if code, is := block.(*comment.Code); is {
					add(fset.Position(c.Pos()).String(), code.Text)
				}
			}
		}
		return nil
	}))
	return all
}

// source returns the snippet as a file of a package: it is one, or has declarations or statements, of which a cell has both.
func (s snippet) source(imports, declared string) string {
	text := strings.ReplaceAll(s.text, "{ … }", "{}")
	if rest, is := strings.CutPrefix(text, "package main"); is {
		return "package main" + imports + rest + declared
	}
	above, statements, isCell := strings.Cut(text, "%%\n")
	if !isCell {
		above, statements = "", text
		if f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, 0); err == nil && len(f.Decls) > 0 {
			above, statements = text, ""
		}
	}
	return "package p" + imports + "; " + above + declared + "\nfunc _() {\n" + statements + "\n}\n"
}

// completed is a snippet with the imports and declarations that it lacks.
type completed struct {
	snippet
	imports, declared string
	file              *ast.File
}

// complete parses a snippet and adds what it lacks: packages by their names in paths, and what is given.
func (s snippet) complete(fset *token.FileSet, paths map[string]string) (c completed, err error) {
	c.snippet = s
	for range 4 { // what is declared needs types, and these need packages
		if c.file, err = parser.ParseFile(fset, s.at, s.source(c.imports, c.declared), 0); err != nil {
			return c, err
		}
		free := map[string]string{}
		for _, i := range c.file.Unresolved {
			free[i.Name] = ""
		}
		for _, g := range given {
			for name := range strings.FieldsSeq(g.names) {
				if _, is := free[name]; is && strings.Contains(s.at, g.in) {
					kind, of, _ := strings.Cut(g.is, " ")
					free[name] = fmt.Sprintf("\n%s %s %s", kind, name, of)
				}
			}
		}
		for name, is := range free {
			c.declared += is
			if path := paths[name]; is == "" && path != "" && !slices.ContainsFunc(c.file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(path) }) {
				c.imports += fmt.Sprintf("; import %s %q", name, path)
			}
		}
		if _, dotted := free["Node"]; dotted && !strings.Contains(c.imports, "import .") {
			c.imports += "; import . \"github.com/gomlx/gomlx/core/graph\""
		}
	}
	return c, nil
}

// environment is a package with values of what is given, for the snippets that are run.
const environment = `package env

import (
	"context"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/plot"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

var (
	V_ctx    = context.Background()
	V_data   = datasets.Digits()
	V_rule   = partition.IID{Clients: 20}
	V_fed    = must.M1(fedkit.New(V_data, V_rule, model.MLP(4)))
	V_local  = fedkit.Local{LR: 0.1}
	V_avg    = &strategy.FedAvg{Local: V_local}
	V_fedavg, V_fedprox = run(V_avg), run(&strategy.FedProx{Local: V_local})
	V_h      = V_fedavg
	V_hs     = []*fedkit.History{V_fedavg, V_fedprox}
	V_skewed, V_even = V_hs, V_hs
	V_panels = []plot.Panel{{Name: "one", Runs: V_hs}}
	V_x      = V_avg.X
	V_drift  = compare.Accuracy
	V_rep    = &strategy.FedRep{Local: V_local}
	_        = run(V_rep)
	V_accuracies, V_differences, V_p2 = []float64{0.8, 0.9, 0.7}, []float64{0.1, 0.2, 0.1}, 0.5
)

func run(s fedkit.Strategy) *fedkit.History { return must.M1(fedkit.Run(V_ctx, must.M1(V_fed.WithDevices(sim.Devices{PerExample: sim.Constant(0.1)})), s, fedkit.Options{Rounds: 2})) }
`

// runs are the places of snippets that are run, in which rounds are fewer; what draws a picture is, where there is a Python for that.
var runs = regexp.MustCompile(`README.md [12]|algorithms.md 5|studies.md 1|time.md 1|fedkit/doc.go|study/doc.go|` +
	`/(dots|facets|forest|heat|over|show|pivot|tidy|serving|stats/doc|table/doc|plot/doc|compare/doc|weights/doc|export/doc).go`)

// Whatever looks like Go in the pages and in comments is Go, and names what there is, with the arguments that it takes. What needs no
// files, network or large data runs, too.
func TestSnippets(t *testing.T) {
	list := expect.Value(exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Export}}", top+"/fedkit/...", top+"/datasets/...", top+"/notebooks/studies",
		"github.com/janpfeifer/must", "github.com/gomlx/gomlx/ml/model/checkpoint", "github.com/gomlx/gomlx/ml/layers").Output())(t)
	exports, paths := map[string]string{}, map[string]string{"mlmodel": "github.com/gomlx/gomlx/ml/model"}
	for line := range strings.Lines(string(list)) {
		path, rest, _ := strings.Cut(strings.TrimSpace(line), "\t")
		name, export, has := strings.Cut(rest, "\t") // a path of Go's cache, which may have spaces
		if has && name != "main" {
			exports[path] = export
			if old := paths[name]; !strings.Contains(path, "internal/") && (old == "" || strings.HasPrefix(path, "fedkit.example") && !strings.HasPrefix(old, "fedkit.example")) {
				paths[name] = path
			}
		}
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	n, files := 0, map[string]string{"env/env.go": environment}
	for _, s := range snippets(t) {
		c, err := s.complete(fset, paths)
		if err != nil {
			if !strings.Contains(s.text, "…") {
				t.Errorf("%s: %v\n%s", s.at, err, s.text)
			}
			continue
		}
		n++
		var left []string // variables that nothing uses
		config := types.Config{Importer: from, Error: func(err error) {
			words := err.(types.Error).Msg
			if name, is := strings.CutPrefix(words, "declared and not used: "); is {
				left = append(left, name)
			} else if !strings.Contains(words, "is not used") && !strings.Contains(words, "imported and not used") {
				t.Errorf("%s: %s", s.at, words)
			}
		}}
		_, _ = config.Check("p", fset, []*ast.File{c.file}, nil)
		if runs.MatchString(s.at) && (!strings.Contains(s.text, ".png") || os.Getenv("FEDKIT_PYTHON") != "") {
			files[fmt.Sprintf("s%d/s.go", n)] = c.program(left)
		}
	}
	expect.That(t, n >= 80, "found only %d snippets", n)
	if expect.Long(t, "a program is built and linked"); !t.Failed() {
		execute(t, files)
	}
}

// program is the snippet as a package with a function Run, which fails if what nothing uses is an error.
func (c completed) program(left []string) string {
	fewer := regexp.MustCompile(`Rounds: \d+`).ReplaceAllString(c.text, "Rounds: 2")
	for _, name := range left {
		fewer += "\nif e, is := any(" + name + ").(error); is { panic(e) }"
	}
	source := snippet{c.at, fewer}.source(c.imports+`; import "example.com/snippets/env"`, regexp.MustCompile(`(?m)^var (\w+) (.*)`).ReplaceAllString(c.declared, "var $1 $2 = env.V_$1")+"\nvar _ = env.V_h")
	return strings.Replace(source, "func _()", "func Run()", 1)
}

// execute builds a program of the packages, and runs all of them.
func execute(t *testing.T, files map[string]string) {
	dir := t.TempDir()
	main := "package main\n\nimport \"fmt\"\n"
	calls := ""
	for _, name := range slices.Sorted(maps.Keys(files)) {
		expect.OK(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(files[name]), 0o600))
		if name := filepath.Dir(name); name != "env" {
			main += fmt.Sprintf("import %s %q\n", name, "example.com/snippets/"+name)
			calls += fmt.Sprintf("\tfmt.Println(%q)\n\t%s.Run()\n", name, name)
		}
	}
	root := expect.Value(filepath.Abs(top))(t)
	expect.OK(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(main+"\nfunc main() {\n"+calls+"}\n"), 0o600))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "go.mod"), fmt.Appendf(nil, "module example.com/snippets\n\ngo 1.26\n\nrequire fedkit.example v0.0.0\n\nreplace fedkit.example => %q\n", root), 0o600))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "go.sum"), expect.Value(os.ReadFile(filepath.Join(root, "go.sum")))(t), 0o600))
	for _, command := range []*exec.Cmd{exec.Command("go", "build", "-mod=mod", "-ldflags=-s", "-o", "all", "."), exec.Command("./all")} {
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil || strings.Contains(string(out), "error: ") {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
}

// go doc shows no methods of a type that is declared in an internal package, so the comment on its name leads there. A Matrix lists them.
func TestTypesOfInternalPackages(t *testing.T) {
	files, _ := filepath.Glob(top + "/fedkit/*.go")
	n := 0
	for _, path := range files {
		file := expect.Value(parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments))(t)
		for _, d := range file.Decls {
			g, is := d.(*ast.GenDecl)
			if !is || g.Tok != token.TYPE || g.Lparen.IsValid() {
				continue
			}
			s := g.Specs[0].(*ast.TypeSpec)
			if of, is := s.Type.(*ast.SelectorExpr); is && s.Assign.IsValid() {
				n++
				if want := fmt.Sprintf("go doc internal/%s.%s\n", of.X, of.Sel); !strings.HasSuffix(g.Doc.Text(), want) {
					t.Errorf("the comment on %s does not end in %s", s.Name, want)
				}
				for m := range reflect.TypeFor[*fedkit.Matrix]().Methods() {
					if s.Name.Name == "Matrix" && !strings.Contains(g.Doc.Text(), m.Name+"(") {
						t.Errorf("the comment on Matrix does not list %s", m.Name)
					}
				}
			}
		}
	}
	expect.That(t, n >= 7, "found only %d", n)
	if out, err := exec.Command("go", "doc", "-C", top+"/fedkit", "internal/task.Task").CombinedOutput(); err != nil || !strings.Contains(string(out), "Forward func(") || !strings.Contains(string(out), ") FLOPs(") {
		t.Errorf("%v\n%s", err, out)
	}
}

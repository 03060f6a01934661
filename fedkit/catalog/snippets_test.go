package catalog_test

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
	{"fed", "var *fedkit.Federation", ""}, {"data images texts", "var *datasets.Dataset", ""}, {"rule", "var partition.Rule", ""}, {"best", "var *datasets.Optimum", ""},
	{"r", "var *fedkit.Round", ""}, {"u", "var *fedkit.Updates", ""}, {"x m", "var *fedkit.Matrix", ""}, {"p", "var []*graph.Node", ""},
	{"s", "var *HalfWay", ""}, {"avg", "var *strategy.FedAvg", ""}, {"rep", "var *strategy.FedRep", ""}, {"local", "var fedkit.Local", ""},
	{"h fedavg fedprox", "var *fedkit.History", ""}, {"hs skewed even validated", "var []*fedkit.History", ""}, {"runs", "var study.Runs", ""},
	{"f g", "var *chart.Figure", ""}, {"panels", "var []plot.Panel", ""}, {"series", "var []chart.Series", ""}, {"drift", "var compare.Quantity", ""}, {"tree", "var cluster.Tree", ""},
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

// Whatever looks like Go in the pages and in comments is Go, and names what there is, with the arguments that it takes.
func TestSnippetsCompile(t *testing.T) {
	list := expect.Value(exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}} {{.Name}}", top+"/fedkit/...", top+"/datasets/...",
		"github.com/janpfeifer/must", "github.com/gomlx/gomlx/ml/model/checkpoint", "github.com/gomlx/gomlx/ml/layers").Output())(t)
	exports, paths := map[string]string{}, map[string]string{"mlmodel": "github.com/gomlx/gomlx/ml/model"}
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[2] != "main" {
			exports[f[0]] = f[1]
			if old := paths[f[2]]; !strings.Contains(f[0], "internal/") && (old == "" || strings.HasPrefix(f[0], "fedkit.example") && !strings.HasPrefix(old, "fedkit.example")) {
				paths[f[2]] = f[0]
			}
		}
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	n := 0
	for _, s := range snippets(t) {
		imports, declared := "", ""
		file, err := parser.ParseFile(fset, s.at, s.source(imports, declared), 0)
		if err != nil {
			if !strings.Contains(s.text, "…") {
				t.Errorf("%s: %v\n%s", s.at, err, s.text)
			}
			continue
		}
		n++
		for range 3 { // what is declared needs types, and these need packages
			free := map[string]string{}
			for _, i := range file.Unresolved {
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
				declared += is
				if path := paths[name]; is == "" && path != "" && !slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(path) }) {
					imports += fmt.Sprintf("; import %s %q", name, path)
				}
			}
			if _, dotted := free["Node"]; dotted && !strings.Contains(imports, "import .") {
				imports += "; import . \"github.com/gomlx/gomlx/core/graph\""
			}
			if file, err = parser.ParseFile(fset, s.at, s.source(imports, declared), 0); err != nil {
				t.Fatal(err)
			}
		}
		config := types.Config{Importer: from, Error: func(err error) {
			// A snippet need not use all of what it makes.
			if words := err.(types.Error).Msg; !regexp.MustCompile(`declared and not used|is not used|imported and not used`).MatchString(words) {
				t.Errorf("%s: %s", s.at, words)
			}
		}}
		_, _ = config.Check("p", fset, []*ast.File{file}, nil)
	}
	if n < 60 {
		t.Errorf("found only %d snippets", n)
	}
}

// go doc shows no methods of a type that is declared in an internal package, so the comment on its name leads there. A Matrix lists them.
func TestTypesOfInternalPackages(t *testing.T) {
	packages := expect.Value(parser.ParseDir(token.NewFileSet(), top+"/fedkit", nil, parser.ParseComments))(t)
	n := 0
	for _, file := range packages["fedkit"].Files {
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
	if n < 7 {
		t.Errorf("found only %d", n)
	}
	if out, err := exec.Command("go", "doc", "-C", top+"/fedkit", "internal/task.Task").CombinedOutput(); err != nil || !strings.Contains(string(out), "Forward func(") || !strings.Contains(string(out), ") FLOPs(") {
		t.Errorf("%v\n%s", err, out)
	}
}

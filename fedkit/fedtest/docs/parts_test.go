package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fedtest/expect"
	"golang.org/x/tools/go/packages"
)

// Under the race detector the plugin's destructors abort when the process exits normally.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

// unlisted implement an interface of a kind, but are no parts with options: adapters for functions, building blocks of others, and data
// that depend on the machine or that a program has.
var unlisted = []string{"fedkit.AggregatorFunc", "fedkit.SelectorFunc", "fedkit.ScheduleFunc", "cluster.Func", "cluster.AffinityFunc", "strategy.WeightingFunc", "attack.Forge", "partition.Given", "sim.Given", "model.GoMLX",
	"datasets.MNISTOrDigits", "datasets.Table", "datasets.Tokens", "datasets.Loader"}

// Every exported part is listed: types that implement the interface of a kind, types that make a data set, and functions that return a
// model or, under a name of datasets.Names, a data set.
func TestEverythingIsListed(t *testing.T) {
	listed := slices.Clone(unlisted)
	for _, k := range every.Kinds {
		for _, part := range k.Parts {
			listed = append(listed, every.Name(part))
		}
	}
	for _, name := range datasets.Names() {
		listed = append(listed, bare("datasets."+name))
	}
	exported, interfaces := load(t)
	missing := func(name, is string) {
		expect.That(t, slices.Contains(listed, name) || slices.Contains(listed, bare(name)),
			"%s is %s: it is missing in every.Strategies, or in every.Kinds", name, is)
	}
	for name, o := range exported {
		switch o := o.(type) {
		case *types.TypeName:
			for _, i := range interfaces {
				if types.Implements(types.NewPointer(o.Type()), i) && !types.IsInterface(o.Type()) {
					missing(name, "of the kind "+i.String())
				}
			}
			if m, _, _ := types.LookupFieldOrMethod(o.Type(), true, nil, "Make"); m != nil {
				missing(name, "a data set")
			}
		case *types.Func:
			returns := o.Signature().Results()
			if returns.Len() == 0 || !strings.HasPrefix(name, "datasets.") && !strings.HasPrefix(name, "model.") && !strings.HasPrefix(name, "examples.") {
				continue
			}
			if r := returns.At(0).Type().String(); strings.HasSuffix(r, "/datasets.Dataset") || strings.HasSuffix(r, "/fedkit.Model") {
				missing(name, "a function that returns "+r)
			}
		}
	}
}

// load returns what the packages that the kinds come from export, by name, and the interfaces of the kinds.
func load(t *testing.T) (exported map[string]types.Object, interfaces []*types.Interface) {
	t.Helper()
	names := []string{"fedkit.example/notebooks/examples", "fedkit.example/datasets", "fedkit.example/datasets/partition", "fedkit.example/fedkit"}
	for _, p := range []string{"aggregate", "attack", "cluster", "metric", "model", "selection", "server", "sim", "strategy"} {
		names = append(names, "fedkit.example/fedkit/"+p)
	}
	all, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedExportFile}, names...)
	if err != nil || packages.PrintErrors(all) > 0 {
		t.Fatal(err)
	}
	exported = map[string]types.Object{}
	for _, p := range all {
		for _, name := range p.Types.Scope().Names() {
			if o := p.Types.Scope().Lookup(name); o.Exported() {
				exported[p.Name+"."+name] = o
			}
		}
	}
	for _, k := range every.Kinds {
		if o := exported[k.Type.String()]; o != nil { // data and models are looked for by what they make
			if i, is := o.Type().Underlying().(*types.Interface); is {
				interfaces = append(interfaces, i)
			}
		}
	}
	expect.Must(t, len(interfaces) == len(every.Kinds)-2, "%d interfaces of %d kinds", len(interfaces), len(every.Kinds))
	return exported, interfaces
}

var (
	inParentheses = regexp.MustCompile(`\([^()]*(arXiv|et al\.)[^()]*\)`)
	papers        = regexp.MustCompile(`(?m)^Source: |arXiv \d{4}\.\d{4,5}`)
)

// Nearly every algorithm of the field names its paper. Those that do not are fedkit's own or need none.
func TestStrategiesNameTheirPaper(t *testing.T) {
	docs := map[string]string{}
	for _, folder := range []string{"notebooks/examples", "fedkit/strategy"} {
		for _, path := range expect.Value(filepath.Glob(filepath.Join(top, folder, "*.go")))(t) {
			for _, d := range expect.Value(parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments))(t).Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
					docs[filepath.Base(folder)+"."+g.Specs[0].(*ast.TypeSpec).Name.Name] = g.Doc.Text()
				}
			}
		}
	}
	without := []string{"strategy.AdaptiveClustering", "strategy.FedMiddleAvg", "strategy.FedPRISM", "strategy.LocalOnly", "strategy.SmartFedProx", "examples.InTurn"}
	for _, s := range every.Kinds[0].Parts {
		name := every.Name(s)
		doc := docs[name]
		if named := papers.MatchString(doc) || inParentheses.MatchString(strings.ReplaceAll(doc, "\n", " ")); doc == "" || named == slices.Contains(without, name) {
			t.Errorf("%s: %q", name, doc)
		}
	}
}

// Numbers have their defaults in tags alone, within the ranges beside them.
func TestDefaultsAreInRange(t *testing.T) {
	seen := map[reflect.Type]int{} // types, with their numbers
	var visit func(is reflect.Type)
	visit = func(is reflect.Type) {
		if is.Kind() == reflect.Slice || is.Kind() == reflect.Pointer {
			is = is.Elem()
		}
		if _, again := seen[is]; again || is.Kind() != reflect.Struct || !strings.HasPrefix(is.PkgPath(), "fedkit.example/") {
			return
		}
		seen[is] = 0
		for _, f := range reflect.VisibleFields(is) {
			if !f.IsExported() || f.Name == "State" {
				continue
			}
			visit(f.Type)
			if d, err := strconv.ParseFloat(f.Tag.Get("default"), 64); err == nil {
				seen[is]++
				name := f.Name
				f.Type, f.Index, f.PkgPath, f.Anonymous = reflect.TypeFor[float64](), nil, "", false
				v := reflect.New(reflect.StructOf([]reflect.StructField{f})).Elem()
				v.Field(0).SetFloat(d)
				if err := config.CheckRanges(v.Interface()); err != nil {
					t.Errorf("%s.%s: the default: %v", is, name, err)
				}
			}
		}
	}
	for _, k := range every.Kinds {
		for _, zero := range k.Parts {
			visit(reflect.TypeOf(zero))
		}
	}
	visit(reflect.TypeFor[fedkit.Options]())
	numbers := 0
	for _, n := range seen {
		numbers += n
	}
	expect.That(t, numbers >= 100, "%d defaults are numbers", numbers)
	twice := regexp.MustCompile(`cmp\.Or\(\w+\.\w+, -?[0-9.e-]+\)`)
	for _, root := range []string{"fedkit", "datasets"} {
		expect.OK(t, filepath.WalkDir(filepath.Join(top, root), func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
				if text := expect.Value(os.ReadFile(path))(t); twice.Match(text) {
					t.Errorf("%s: %s: the default stands in the field's tag", path, twice.Find(text))
				}
			}
			return err
		}))
	}
}

// The letter μ is always the Greek one, U+03BC, and never the micro sign, which looks the same but is missed by a search.
func TestOneMu(t *testing.T) {
	const micro = "\u00b5"
	root := filepath.FromSlash(top)
	for _, folder := range []string{"datasets", "fedkit", "notebooks", "scripts", "README.md"} {
		expect.OK(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			var text []byte
			switch filepath.Ext(path) {
			case ".go", ".yaml", ".md", ".py":
				text, err = os.ReadFile(path)
			case ".ipynb":
				within, _ := filepath.Rel(root, path)
				text = []byte(cells(t, within, ""))
			}
			for i, line := range strings.Split(string(text), "\n") {
				expect.That(t, !strings.Contains(line, micro), "%s: line %d has a micro sign: %s", path, i+1, strings.TrimSpace(line))
			}
			return err
		}))
	}
}

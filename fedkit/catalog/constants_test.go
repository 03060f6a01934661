package catalog

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
)

// packages are the folders of the catalog's components.
var packages = []string{"datasets", "datasets/partition", "fedkit", "fedkit/aggregate", "fedkit/attack", "fedkit/catalog", "fedkit/cluster", "fedkit/examples",
	"fedkit/metric", "fedkit/model", "fedkit/selection", "fedkit/server", "fedkit/sim", "fedkit/strategy", "fedkit/weights"}

// The names of constants are those of the sources.
func TestConstantsAreCurrent(t *testing.T) {
	all, used := library{}, library{}
	for _, folder := range packages {
		all.readFolder(filepath.Join("..", "..", filepath.FromSlash(folder)))
	}
	for _, k := range kinds {
		for _, v := range k.values {
			used.take(all, reflect.TypeOf(v))
		}
	}
	used.take(all, reflect.TypeFor[fedkit.Options]())
	if !maps.EqualFunc(used, shipped, slices.Equal[[]string]) {
		t.Errorf("constants.go has %v, and the sources %v", shipped, used)
	}
}

// take copies the constants of a type's options from all.
func (l library) take(all library, t reflect.Type) {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if names := all[t.String()]; names != nil {
		l[t.String()] = names
	}
	for _, f := range fields(t) {
		l.take(all, f.Type)
	}
}

var (
	inParentheses = regexp.MustCompile(`\([^()]*(arXiv|et al\.)[^()]*\)`)
	names         = regexp.MustCompile(`(?m)^Source: |arXiv \d{4}\.\d{4,5}`)
)

// Nearly every algorithm of the field names its paper. Those that do not are fedkit's own or need none.
func TestStrategiesNameTheirPaper(t *testing.T) {
	docs := map[string]string{}
	for _, folder := range []string{"examples", "strategy"} {
		for _, path := range expect.Value(filepath.Glob(filepath.Join("..", folder, "*.go")))(t) {
			for _, d := range expect.Value(parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments))(t).Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
					docs[folder+"."+g.Specs[0].(*ast.TypeSpec).Name.Name] = g.Doc.Text()
				}
			}
		}
	}
	without := []string{"AdaptiveClustering", "FedMiddleAvg", "FedPRISM", "LocalOnly", "SmartFedProx"}
	for _, s := range Kinds()[0].Components() {
		doc := docs[s.Type()]
		if named := names.MatchString(doc) || inParentheses.MatchString(strings.ReplaceAll(doc, "\n", " ")); doc == "" || named == slices.Contains(without, s.Name) {
			t.Errorf("%s: %q", s.Name, doc)
		}
	}
}

// Whatever can be set has a type that Build knows, and numbers have defaults in tags alone, within the ranges beside them.
func TestOptionsCanBeBuilt(t *testing.T) {
	numbers := 0
	var visit func(path string, is reflect.Type)
	visit = func(path string, is reflect.Type) {
		if _, known := kindOf(is); known || constants(is) != nil || isText(is) || slices.Contains([]reflect.Kind{reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64, reflect.String}, is.Kind()) {
			return
		}
		if is.Kind() == reflect.Slice {
			visit(path, is.Elem())
			return
		}
		if is.Kind() != reflect.Struct {
			t.Errorf("%s is a %v, which Build cannot make", path, is)
		}
		for _, f := range fields(is) {
			visit(path+"."+f.Name, f.Type)
			if d, err := strconv.ParseFloat(f.Tag.Get("default"), 64); err == nil {
				numbers++
				f.Type, f.Index, f.PkgPath = reflect.TypeFor[float64](), nil, ""
				v := reflect.New(reflect.StructOf([]reflect.StructField{f})).Elem()
				v.Field(0).SetFloat(d)
				if err := config.CheckRanges(v.Interface()); err != nil {
					t.Errorf("%s: the default: %v", path, err)
				}
			}
		}
	}
	for _, k := range kinds {
		for _, zero := range k.values {
			is := reflect.TypeOf(zero)
			if is.Kind() == reflect.Pointer {
				is = is.Elem()
			}
			visit(is.String(), is)
		}
	}
	if numbers < 100 {
		t.Errorf("%d defaults are numbers", numbers)
	}
	twice := regexp.MustCompile(`cmp\.Or\(\w+\.\w+, -?[0-9.e-]+\)`)
	for _, root := range []string{"..", "../../datasets"} {
		expect.OK(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
				if text := expect.Value(os.ReadFile(path))(t); twice.Match(text) {
					t.Errorf("%s: %s: the default stands in the field's tag", path, twice.Find(text))
				}
			}
			return err
		}))
	}
}

// The names of an enumeration are what its values print.
func TestEnumerationsKnowTheirNames(t *testing.T) {
	for _, is := range []reflect.Type{reflect.TypeFor[server.Form](), reflect.TypeFor[selection.By]()} {
		names := constants(is)
		if len(names) < 2 {
			t.Errorf("%v has the constants %v", is, names)
		}
		for i, name := range names {
			v := reflect.New(is).Elem()
			expect.OK(t, setBasic("", v, name))
			if got := fmt.Sprint(v.Interface()); v.Int() != int64(i) || !strings.EqualFold(got, name) {
				t.Errorf("%s is %s", name, got)
			}
		}
	}
}

// The letter μ is always the Greek one, U+03BC, and never the micro sign, which looks the same but is missed by a search.
func TestOneMu(t *testing.T) {
	const micro = "\u00b5"
	root := filepath.FromSlash("../..")
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
				text, err = cells(path)
			}
			for i, line := range strings.Split(string(text), "\n") {
				if strings.Contains(line, micro) {
					t.Errorf("%s: line %d has a micro sign: %s", path, i+1, strings.TrimSpace(line))
				}
			}
			return err
		}))
	}
}

// cells returns the sources of a notebook's cells.
func cells(path string) (sources []byte, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var notebook struct {
		Cells []struct{ Source []string }
	}
	if err := json.Unmarshal(text, &notebook); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, c := range notebook.Cells {
		sources = append(sources, strings.Join(c.Source, "")+"\n"...)
	}
	return sources, nil
}

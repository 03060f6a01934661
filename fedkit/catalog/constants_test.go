package catalog

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
)

var update = flag.Bool("update", false, "write constants.json")

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
	b := append(expect.Value(json.MarshalIndent(used, "", "\t"))(t), '\n')
	if *update {
		expect.OK(t, os.WriteFile("constants.json", b, 0o644))
	} else if !bytes.Equal(b, constantsFile) {
		t.Error("constants.json is not what the sources say: go test ./fedkit/catalog -run Constants -update")
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

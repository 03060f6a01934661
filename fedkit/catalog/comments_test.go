package catalog

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
)

var update = flag.Bool("update", false, "write comments.json")

// packages are the folders of the catalog's components.
var packages = []string{"datasets", "datasets/partition", "fedkit", "fedkit/aggregate", "fedkit/attack", "fedkit/catalog", "fedkit/cluster", "fedkit/examples",
	"fedkit/metric", "fedkit/model", "fedkit/selection", "fedkit/server", "fedkit/sim", "fedkit/strategy", "fedkit/weights"}

// The comments equal those of the sources.
func TestCommentsAreCurrent(t *testing.T) {
	l := library{}
	for _, folder := range packages {
		l.readFolder(filepath.Join("..", "..", filepath.FromSlash(folder)))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	expect.OK(t, e.Encode(l.listed()))
	if *update {
		expect.OK(t, os.WriteFile("comments.json", b.Bytes(), 0o644))
	} else if !bytes.Equal(b.Bytes(), commentsFile) {
		t.Error("comments.json is not what the sources say: go test ./fedkit/catalog -run Comments -update")
	}
}

// listed returns the catalog's texts: the comments of its components, and those of their options and of a run's.
func (l library) listed() library {
	few := library{}
	for _, k := range kinds {
		for _, v := range k.values {
			t := reflect.TypeOf(v)
			few.take(l, t)
			few.at(nameOf(t)).Doc = l.at(nameOf(t)).Doc
		}
	}
	few.take(l, reflect.TypeFor[fedkit.Options]())
	maps.DeleteFunc(few, func(name string, s *said) bool {
		_, own, _ := strings.Cut(name, ".")
		return !ast.IsExported(own) && s.Fields == nil
	})
	return few
}

// take copies the comments on a type's options from all.
func (l library) take(all library, t reflect.Type) {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if names := all.at(t.String()).Constants; names != nil {
		l.at(t.String()).Constants = names
	}
	for _, f := range fields(t) {
		name := holder(t, f).String()
		if said := all.at(name).Fields[f.Name]; said != "" {
			if l.at(name).Fields == nil {
				l.at(name).Fields = map[string]string{}
			}
			l.at(name).Fields[f.Name] = said
		}
		l.take(all, f.Type)
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

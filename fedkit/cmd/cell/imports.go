package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	qualifier = regexp.MustCompile(`(?:^|[^"./\w])([a-z]\w*)\.`) // not a field, nor the beginning of an import's path
	version   = regexp.MustCompile(`/v\d+$`)                     // after the name of a package
)

// wanted returns imports, as text that follows "package main", of the packages whose names stand before a dot in a text of Go, which need
// not be whole, and which it does not import. It knows must and the packages of the workspace, except names that two of them have.
func (w workspace) wanted(text string) (imports string) {
	names := map[string]bool{}
	for _, use := range qualifier.FindAllStringSubmatch(text, -1) {
		names[use[1]] = true
	}
	for _, own := range standard {
		delete(names, own)
	}
	file, _ := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly)
	for _, i := range file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		delete(names, path.Base(version.ReplaceAllString(p, "")))
		if i.Name != nil {
			delete(names, i.Name.Name)
		}
	}
	paths := map[string][]string{"must": {musts}}
	for _, p := range w.packages() {
		paths[path.Base(p)] = append(paths[path.Base(p)], p)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if len(paths[name]) == 1 {
			imports += fmt.Sprintf("; import %q", paths[name][0])
		}
	}
	return imports
}

// addImports adds the imports that a cell wants to its file. goimports, which GoNB calls next, drops those of names that turn out to be
// variables or text. By itself it would find the packages too, but reads the module cache for that, which takes a third of a second.
func addImports(file string) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	imports := openWorkspace(filepath.Dir(file)).wanted(string(source))
	return os.WriteFile(file, []byte(strings.Replace(string(source), "package main", "package main"+imports, 1)), 0o600)
}

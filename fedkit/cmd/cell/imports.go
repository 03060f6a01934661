package main

import (
	"cmp"
	"fmt"
	"go/ast"
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
// not be whole, and which it does not import.
func (w workspace) wanted(text string) string {
	names := map[string]bool{}
	for _, use := range qualifier.FindAllStringSubmatch(text, -1) {
		names[use[1]] = true
	}
	file, _ := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly)
	for _, i := range file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		delete(names, assumed(p))
		if i.Name != nil {
			delete(names, i.Name.Name)
		}
	}
	for _, own := range standard {
		delete(names, own)
	}
	return w.imports(names)
}

// imports returns imports of the packages with these names. It knows Go's most frequent ones, must, and those of the workspace, except
// names that two of them have.
func (w workspace) imports(names map[string]bool) (imports string) {
	if len(names) == 0 {
		return ""
	}
	paths := map[string][]string{"must": {musts}, "flag": {"flag"}} // GoNB's main has flag.Parse
	for _, p := range slices.Concat(standard, w.packages()) {
		paths[path.Base(p)] = append(paths[path.Base(p)], p)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if len(paths[name]) == 1 {
			imports += fmt.Sprintf("; import %q", paths[name][0])
		}
	}
	return imports
}

// setImports gives a cell's file the imports of what it uses, and no others. It reports whether goimports still has some to find, which asks
// the go command for the names of packages and takes a fifth of a second: as long as all names are known, that need not be.
func setImports(file string) (known bool, err error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	missing, _, err := uses(source)
	if err != nil {
		return false, err
	}
	source = []byte(strings.Replace(string(source), "package main", "package main"+openWorkspace(filepath.Dir(file)).imports(missing), 1))
	missing, without, err := uses(source)
	if known = err == nil && len(missing) == 0; known {
		source = without
	}
	return known, cmp.Or(err, os.WriteFile(file, source, 0o600))
}

// uses returns the names before a dot that a cell neither declares nor imports, and the cell without the imports that it does not use, if
// each package is called like its folder.
func uses(source []byte) (missing map[string]bool, without []byte, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, 0)
	if err != nil {
		return nil, nil, err
	}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil {
				used[x.Name] = true
			}
		}
		return true
	})
	missing, without = maps.Clone(used), slices.Clone(source)
	for _, i := range file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		name := assumed(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		delete(missing, name)
		if !used[name] && !slices.Contains([]string{"_", ".", "C"}, name) { // GoNB writes imports in parentheses, in a line each
			for at := fset.Position(i.Pos()).Offset; at < fset.Position(i.End()).Offset; at++ {
				without[at] = ' '
			}
		}
	}
	return missing, without, nil
}

// assumed is the name of most packages with this path.
func assumed(importPath string) string { return path.Base(version.ReplaceAllString(importPath, "")) }

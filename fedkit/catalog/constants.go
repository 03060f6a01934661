package catalog

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
)

// library has the names of the constants 0, 1, … of enumerations, by their names with packages: "selection.Score".
type library map[string][]string

// shipped is the library of the catalog. A test compares it with the sources.
var shipped = library{
	"cluster.Linkage":  {"Ward", "Average", "Single", "Complete"},
	"fedkit.NotFinite": {"Stop", "Skip"},
	"selection.By":     {"Drift", "Dissimilarity", "Loss"},
	"server.Form":      {"Corrected", "Reddi"},
}

// readFolder reads the sources of a package. Files that cannot be read are left out.
func (l library) readFolder(folder string) {
	paths, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, path := range paths {
		if f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution); err == nil {
			l.read(f)
		}
	}
}

func (l library) read(f *ast.File) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
			l.enumeration(f.Name.Name+".", d)
		}
	}
}

// enumeration reads typed constants that count from 0: Stop NotFinite = iota, Skip.
func (l library) enumeration(pkg string, d *ast.GenDecl) {
	first := d.Specs[0].(*ast.ValueSpec)
	t, named := first.Type.(*ast.Ident)
	if !named || len(first.Values) != 1 {
		return
	}
	if iota, ok := first.Values[0].(*ast.Ident); !ok || iota.Name != "iota" {
		return
	}
	for _, s := range d.Specs {
		l[pkg+t.Name] = append(l[pkg+t.Name], s.(*ast.ValueSpec).Names[0].Name)
	}
}

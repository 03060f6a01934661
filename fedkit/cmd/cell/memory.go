package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// memory is the file beside the cell that keeps what earlier cells declared.
func memory(dir string) string { return filepath.Join(dir, ".fedkit", "variables") }

// remember stores the names of the variables of a cell that compiles.
func remember(dir string) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "main.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		return
	}
	names := append(remembered(dir), variables(file)...)
	slices.Sort(names)
	_ = os.WriteFile(memory(dir), []byte(strings.Join(slices.Compact(names), "\n")), 0o600)
}

func remembered(dir string) []string {
	data, _ := os.ReadFile(memory(dir))
	return strings.Fields(string(data))
}

// variables returns what the cell's main declares at its top level.
func variables(file *ast.File) (names []string) {
	main := function(file, "main")
	if main == nil {
		return nil
	}
	add := func(x ast.Expr) {
		if id, ok := x.(*ast.Ident); ok && id.Name != "_" {
			names = append(names, id.Name)
		}
	}
	for _, s := range main.Body.List {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				for _, x := range s.Lhs {
					add(x)
				}
			}
		case *ast.DeclStmt:
			for _, spec := range s.Decl.(*ast.GenDecl).Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, name := range v.Names {
						add(name)
					}
				}
			}
		}
	}
	return names
}

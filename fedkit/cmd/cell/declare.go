package main

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
)

// settled reports whether the cell only declares, and nothing that gives variables their values has changed since a cell ran: then
// running it would do nothing, and it need not be linked, which takes most of a build.
func (c cell) settled() bool {
	path := filepath.Join(c.dir, "main.go")
	source, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	main := function(file, "main")
	if main == nil || !slices.Equal(source[main.Body.Pos()-file.FileStart:main.Body.End()-file.FileStart], []byte("{ flag.Parse() }")) {
		return false
	}
	now := initial(file, source)
	before, _ := os.ReadFile(own(c.dir, "initialized"))
	return now == "" || now == string(before)
}

// declare compiles the cell, and builds a program that does nothing.
func (c cell) declare() int {
	at := slices.Index(c.args, "-o")
	args := slices.Concat([]string{"list", "-export", "-f", ""}, c.args[1:at], c.args[at+2:]) // compiles, and does not link
	out, status := run(c.program, args)
	if status == 0 {
		out = nil
		if err := os.WriteFile(c.args[at+1], []byte("#!/bin/sh\n"), 0o700); err != nil {
			fail(err)
		}
	}
	return c.report(out, status)
}

// initial is a hash of a cell's functions init, of its variables but the plain ones, and of all that they use of it; "" if there are none.
func initial(file *ast.File, source []byte) string {
	byName := map[string][]ast.Node{}
	var list []ast.Node
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			byName[d.Name.Name] = append(byName[d.Name.Name], d)
			if d.Recv != nil { // a type has its methods
				ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
					if name, ok := n.(*ast.Ident); ok {
						byName[name.Name] = append(byName[name.Name], d)
					}
					return true
				})
			} else if d.Name.Name == "init" {
				list = append(list, d)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					byName[s.Name.Name] = append(byName[s.Name.Name], s)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						byName[name.Name] = append(byName[name.Name], d)
					}
					if d.Tok == token.VAR && !plain(s) {
						list = append(list, s)
					}
				}
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	hash, seen := sha256.New(), map[ast.Node]bool{}
	for len(list) > 0 {
		n := list[0]
		if list = list[1:]; seen[n] {
			continue
		}
		seen[n] = true
		hash.Write(source[n.Pos()-file.FileStart : n.End()-file.FileStart])
		ast.Inspect(n, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				list = append(list, byName[name.Name]...)
			}
			return true
		})
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// plain reports whether a variable gets its value without a call or anything else that can fail or take time.
func plain(s *ast.ValueSpec) bool {
	is := true
	for _, v := range s.Values {
		ast.Inspect(v, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit, *ast.CompositeLit, *ast.KeyValueExpr, *ast.Ident, *ast.SelectorExpr, nil,
				*ast.ArrayType, *ast.MapType, *ast.StructType, *ast.FuncType, *ast.FieldList, *ast.Field:
			case *ast.UnaryExpr:
				is = is && n.Op != token.ARROW
			case *ast.FuncLit: // is not run
				return false
			default:
				is = false
			}
			return is
		})
	}
	return is
}

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"

	"fedkit.example/fedkit/internal/nearest"
)

const keep = `a cell is a program of its own:
its variables end with it, only imports and declarations above %% stay.
Keep results in files: fedkit.Options{History: "h.jsonl"} in the run, then
fedkit.Load("h.jsonl") in any cell; or use study.New("runs") for many runs.`

func unknownName(m *mistake, match []string) string {
	name := match[1]
	if m.assigned() {
		return fmt.Sprintf("to declare it: %s := …", name)
	}
	if said := habits[name]; said != "" {
		return said
	}
	member := m.member()
	if member != "" {
		for _, p := range m.packages() {
			if path.Base(p) != name {
				continue
			}
			if said := m.exports(p, member); said != "" && !token.IsExported(member) { // GoNB takes the import for unused, and drops it
				return said
			}
			return fmt.Sprintf("missing above %%%%: import %q", p)
		}
		if !slices.Contains(m.earlier, name) {
			if p := nearestPackage(name, m.packages()); p != "" {
				return fmt.Sprintf("did you mean %s? (import %q)", path.Base(p), p)
			}
		}
	}
	if slices.Contains(m.earlier, name) {
		return name + " was a variable of an earlier cell, and " + keep
	}
	if near := nearest.Of(name, m.locals()); near != "" && len(name) > 2 {
		return fmt.Sprintf("did you mean %s?", near)
	}
	switch {
	case token.IsExported(name):
		return ""
	case member != "" && !token.IsExported(member):
		return fmt.Sprintf("if %s is a package, its names begin with a capital letter: %s.%s%s. If it is a variable, there is\nno such name here; %s",
			name, name, strings.ToUpper(member[:1]), member[1:], keep)
	}
	return "no such name here; " + keep
}

func nearestPackage(name string, packages []string) string {
	var names []string
	for _, p := range packages {
		names = append(names, path.Base(p))
	}
	near := nearest.Of(name, names)
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, name) }); i >= 0 {
		near = names[i] // a common prefix counts more than a few letters
	}
	if i := slices.Index(names, near); i >= 0 && len(name) > 2 {
		return packages[i]
	}
	return ""
}

// member returns the selector after the name at the mistake, as in package.Member; "" if there is none.
func (m *mistake) member() (name string) {
	m.visit(func(n ast.Node) {
		if s, ok := n.(*ast.SelectorExpr); ok && m.at(s.X) {
			name = s.Sel.Name
		}
	})
	return name
}

// assigned reports whether a value is assigned to the name at the mistake.
func (m *mistake) assigned() (is bool) {
	m.visit(func(n ast.Node) {
		if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN && slices.ContainsFunc(a.Lhs, m.at) {
			is = true
		}
	})
	return is
}

func (m *mistake) at(x ast.Expr) bool {
	p := m.fset.Position(x.Pos())
	_, name := x.(*ast.Ident)
	return name && p.Line == m.line && p.Column == m.column
}

func (m *mistake) visit(f func(ast.Node)) {
	if m.file != nil {
		ast.Inspect(m.file, func(n ast.Node) bool { f(n); return true })
	}
}

// locals returns the variables of the cell's main.
func (m *mistake) locals() []string {
	if m.file == nil {
		return nil
	}
	return variables(m.file)
}

func unknownPackage(m *mistake, match []string) string {
	wanted, all := match[1]+match[2], m.packages()
	if i := slices.IndexFunc(all, func(p string) bool { return path.Base(p) == path.Base(wanted) }); i >= 0 {
		return fmt.Sprintf("did you mean %q?", all[i])
	}
	if near := nearest.Of(wanted, all); strings.HasPrefix(wanted, "fedkit.example/") && near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if match[1] != "" {
		return "cells fetch nothing, unless FEDKIT_GOPROXY=https://proxy.golang.org is set when ./scripts/lab starts"
	}
	return ""
}

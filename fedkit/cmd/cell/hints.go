package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/internal/nearest"
)

const keep = `a cell is a program of its own:
its variables end with it, only imports and declarations above %% stay.
Keep results in files: fedkit.Options{History: "h.jsonl"} in the run, then
fedkit.Load("h.jsonl") in any cell; or use study.New("runs") for many runs.`

// habits maps names that a Python user writes to their Go counterparts.
var habits = map[string]string{
	"True": "Go writes true", "False": "Go writes false", "None": "Go writes nil",
	"str": "Go writes fmt.Sprint(x), and string for the type", "float": "Go writes float64",
	"list": "Go writes []int{1, 2, 3}", "dict": `Go writes map[string]int{"a": 1}`,
	"self":      "Go names the receiver itself: func (s *Mine) Round(…)",
	"np":        "Go has no NumPy: package math has functions of numbers, gonum.org/v1/gonum matrices",
	"enumerate": "Go writes for i, x := range xs",
	"sum":       "Go writes a loop, or floats.Sum of gonum.org/v1/gonum/floats",
	"sorted":    "Go writes slices.Sort(xs)",
	"range":     "Go writes for i := range 10",
	"input":     "a cell cannot ask: put the value into a variable",
}

// A checked cell is its source with the names in it. Packages that it imports are not read.
type checked struct {
	workspace
	fset    *token.FileSet
	file    *ast.File
	info    types.Info
	earlier []string // variables of earlier cells
}

// check returns the cell in a file; nil if it cannot be parsed.
func check(dir, name string) *checked {
	c := &checked{openWorkspace(dir), token.NewFileSet(), nil, types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Scopes: map[ast.Node]*types.Scope{}}, remembered(dir)}
	var err error
	if c.file, err = parser.ParseFile(c.fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil
	}
	_, _ = (&types.Config{Error: func(error) {}}).Check("main", c.fset, []*ast.File{c.file}, &c.info) // the compiler has said what is wrong
	return c
}

// locals returns the variables at the top level of the cell's main.
func (c *checked) locals() []string {
	if main := function(c.file, "main"); main != nil {
		return c.info.Scopes[main.Type].Names()
	}
	return nil
}

var (
	place = regexp.MustCompile(`^\S*(main(?:_test)?\.go):(\d+):(?:(\d+):)? .*`)
	fetch = regexp.MustCompile(`; to add it:\n\tgo get \S+`) // as nothing can be fetched
)

// hinted adds hints after the compiler's messages, and drops the line that names the package. A hint goes by what stands at the
// place of a message, not by its words, which change.
func hinted(out, dir string) string {
	var b strings.Builder
	given, pending := map[string]bool{}, ""
	cells := map[string]*checked{}
	for line := range strings.Lines(fetch.ReplaceAllString(out, "") + "\n") {
		if !strings.HasPrefix(line, "\t") { // which continues a message
			b.WriteString(pending)
			pending = ""
		}
		if line == "\n" || strings.HasPrefix(line, "# ") {
			continue
		}
		b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		at := place.FindStringSubmatch(line)
		if at == nil {
			continue
		}
		if _, known := cells[at[1]]; !known {
			cells[at[1]] = check(dir, at[1])
		}
		row, _ := strconv.Atoi(at[2])
		column, _ := strconv.Atoi(at[3])
		if text := cells[at[1]].hint(row, column); text != "" && !given[text] {
			given[text] = true
			pending = "    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
		}
	}
	return b.String() + pending
}

// hint returns advice on what stands at a place; "" if there is none.
func (c *checked) hint(line, column int) (text string) {
	if c == nil {
		return ""
	}
	ast.PreorderStack(c.file, nil, func(n ast.Node, above []ast.Node) bool {
		if p := c.fset.Position(n.Pos()); p.Line == line && p.Column == column && text == "" && len(above) > 1 {
			text = c.advice(n, above)
		}
		return true
	})
	return text
}

func (c *checked) advice(n ast.Node, above []ast.Node) string {
	parent := above[len(above)-1]
	if spec, ok := parent.(*ast.ImportSpec); ok && spec.Path == n {
		return c.noPackage(spec)
	}
	name, ok := n.(*ast.Ident)
	if !ok {
		return ""
	}
	switch p := parent.(type) {
	case *ast.KeyValueExpr:
		if literal, ok := above[len(above)-2].(*ast.CompositeLit); ok && p.Key == n && literal.Type != nil {
			return suggested(name.Name, types.ExprString(literal.Type)+" has:", c.fields(literal.Type))
		}
	case *ast.SelectorExpr:
		if of, ok := p.X.(*ast.Ident); ok {
			if pkg, ok := c.info.Uses[of].(*types.PkgName); ok {
				return c.noExport(pkg.Imported().Path(), p.Sel.Name)
			}
		}
		if p.Sel == n { // of a value: its type is not known here
			return ""
		}
	}
	if c.info.Uses[name] != nil || c.info.Defs[name] != nil {
		return ""
	}
	return c.undefined(name, parent)
}

// undefined is advice on a name that nothing declares.
func (c *checked) undefined(n *ast.Ident, parent ast.Node) string {
	name, earlier := n.Name, slices.Contains(c.earlier, n.Name)
	if a, ok := parent.(*ast.AssignStmt); ok && slices.Contains(a.Lhs, ast.Expr(n)) {
		return fmt.Sprintf("to declare it: %s := …", name)
	}
	if said := habits[name]; said != "" {
		return said
	}
	s, selects := parent.(*ast.SelectorExpr)
	if selects {
		packages := c.packages()
		if i := slices.IndexFunc(packages, func(p string) bool { return path.Base(p) == name }); i >= 0 {
			// GoNB takes the import of what is not exported for unused, and drops it.
			return cmp.Or(c.noExport(packages[i], s.Sel.Name), fmt.Sprintf("missing above %%%%: import %q", packages[i]))
		}
		if p := nearestPackage(name, packages); p != "" && !earlier {
			return fmt.Sprintf("did you mean %s? (import %q)", path.Base(p), p)
		}
	}
	if earlier {
		return name + " was a variable of an earlier cell, and " + keep
	}
	if near := nearest.Of(name, c.locals()); near != "" && len(name) > 2 {
		return fmt.Sprintf("did you mean %s?", near)
	}
	switch {
	case token.IsExported(name):
		return ""
	case selects && !token.IsExported(s.Sel.Name):
		return fmt.Sprintf("if %s is a package, its names begin with a capital letter: %s.%s%s. If it is a variable, there is\nno such name here; %s",
			name, name, strings.ToUpper(s.Sel.Name[:1]), s.Sel.Name[1:], keep)
	}
	return "no such name here; " + keep
}

func nearestPackage(name string, packages []string) string {
	var names []string
	for _, p := range packages {
		names = append(names, path.Base(p))
	}
	i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, name) }) // counts more than a few letters
	if i < 0 {
		i = slices.Index(names, nearest.Of(name, names))
	}
	if i < 0 || len(name) <= 2 {
		return ""
	}
	return packages[i]
}

// noPackage is advice on an import that the compiler refuses.
func (c *checked) noPackage(spec *ast.ImportSpec) string {
	wanted, _ := strconv.Unquote(spec.Path.Value)
	all := c.packages()
	if slices.Contains(all, wanted) {
		return ""
	}
	if i := slices.IndexFunc(all, func(p string) bool { return path.Base(p) == path.Base(wanted) }); i >= 0 {
		return fmt.Sprintf("did you mean %q?", all[i])
	}
	if near := nearest.Of(wanted, all); strings.HasPrefix(wanted, "fedkit.example/") && near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if strings.Contains(wanted, ".") {
		return "cells fetch nothing, unless FEDKIT_GOPROXY=https://proxy.golang.org is set when ./scripts/lab starts"
	}
	return ""
}

// noExport is advice on a name that a package does not export.
func (c *checked) noExport(importPath, name string) string {
	all := slices.DeleteFunc(declared(c.read(importPath)), func(m member) bool { return !token.IsExported(m.name) })
	return suggested(name, "package "+path.Base(importPath)+" has, among others:", all)
}

// suggested names the most similar name, and lists similar ones with their comments; "" if there are none, or it is one of them.
func suggested(name, head string, all []member) string {
	const most = 8
	var names []string
	text := map[string]string{}
	for _, m := range all {
		names, text[m.name] = append(names, m.name), m.text
	}
	if len(all) == 0 || slices.Contains(names, name) {
		return ""
	}
	near := nearest.Sort(name, names)
	if len(near) > most {
		near = near[:most]
	} else {
		head = strings.Replace(head, ", among others", "", 1)
	}
	if best := nearest.Of(name, near); best != "" {
		head = "did you mean " + best + "? " + head
	}
	width := len(slices.MaxFunc(near, func(a, b string) int { return cmp.Compare(len(a), len(b)) }))
	for _, n := range near {
		said := []rune(strings.TrimPrefix(text[n], n+" ")) // as comments begin with the name
		if len(said) > 90 {
			said = append([]rune(strings.TrimRight(string(said[:90]), " ,;")), []rune(" …")...)
		}
		head += strings.TrimRight(fmt.Sprintf("\n  %-*s  %s", width, n, string(said)), " ,")
	}
	return head
}

// memory is the file beside the cell that keeps what earlier cells declared.
func memory(dir string) string { return filepath.Join(dir, ".fedkit", "variables") }

// remember stores the names of the variables of a cell that compiles.
func remember(dir string) {
	if c := check(dir, "main.go"); c != nil {
		names := slices.Concat(c.earlier, c.locals())
		slices.Sort(names)
		_ = os.WriteFile(memory(dir), []byte(strings.Join(slices.Compact(names), "\n")), 0o600)
	}
}

func remembered(dir string) []string {
	data, _ := os.ReadFile(memory(dir))
	return strings.Fields(string(data))
}

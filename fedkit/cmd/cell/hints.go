package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/internal/nearest"
)

// A hint says in a few lines what a reader may do about a message of the compiler: match has the parts of the message.
type hint struct {
	message *regexp.Regexp
	text    func(m *mistake, match []string) string
}

// A mistake is a place in the cell at which the compiler complains.
type mistake struct {
	workspace
	file         *ast.File // nil if the cell cannot be parsed
	fset         *token.FileSet
	line, column int
	earlier      []string // variables of earlier cells
}

var hints = []hint{
	{regexp.MustCompile(`^unknown field (\w+) in struct literal of type ([\w.]+)`), unknownField},
	{regexp.MustCompile(`^\S+\.(\w+) undefined \(type \*?([\w.]+) has no field or method \w+\)`), unknownMember},
	{regexp.MustCompile(`\.(\w+) undefined \(type (?:\[|map\[|string)`), habitualMethod},
	{regexp.MustCompile(`cannot indirect \S+ \(`), func(*mistake, []string) string { return "Go writes math.Pow(x, 2), or x * x" }},
	{regexp.MustCompile(`^invalid argument: index -\d+ `), func(*mistake, []string) string { return "Go counts from the front only: xs[len(xs)-1] is the last" }},
	{regexp.MustCompile(`^undefined: (\w+)\.(\w+)$`), unknownExport},
	{regexp.MustCompile(`^undefined: (\w+)$`), unknownName},
	{regexp.MustCompile(`^declared and not used: `), unused},
	{regexp.MustCompile(`(\S+) does not implement \S+ \(method \w+ has pointer receiver\)`), pointer},
	{regexp.MustCompile(`\S+ does not implement ([\w.]+) \(missing method (\w+)\)`), missingMethod},
	{regexp.MustCompile(`^assignment mismatch: (\d+) variables? but (\S+) returns (\d+) values$`), uncaught},
	{regexp.MustCompile(`^multiple-value ([\w.]+)\(.*\) \(value of type \((.*)\)\)`), nested},
	{regexp.MustCompile(`(?s)^not enough arguments in call to .*have \((\S*).*want \(context\.Context`), noContext},
	{regexp.MustCompile(`^no new variables on left side of :=$`), again},
	{regexp.MustCompile(`\(untyped float constant\) truncated to (int\w*)|\(mismatched types (\w+) and (\w+)\)|^cannot use (\w+) \(variable of type (int\w*|float\d+)\) as (int\w*|float\d+) value`), numbers},
	{regexp.MustCompile(`(?:no required module provides package|cannot find module providing package) (\S+?)(?:;|:|$)|^package (\S+) is not in std`), unknownPackage},
}

var place = regexp.MustCompile(`^\S*main(?:_test)?\.go:(\d+):(?:(\d+):)? (.*)`)

// hinted puts a hint after each message that there is one for, and leaves out the line that names the package.
func hinted(out, dir string) string {
	m := &mistake{workspace: openWorkspace(dir), fset: token.NewFileSet(), earlier: remembered(dir)}
	for _, name := range []string{"main.go", "main_test.go"} { // GoNB writes one of them
		if f, err := parser.ParseFile(m.fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution); err == nil {
			m.file = f
		}
	}
	var b strings.Builder
	given := map[string]bool{}
	for _, message := range messages(out) {
		b.WriteString(message)
		at := place.FindStringSubmatch(message)
		if at == nil {
			continue
		}
		m.line, _ = strconv.Atoi(at[1])
		m.column, _ = strconv.Atoi(at[2])
		said := at[3] + strings.TrimPrefix(message, at[0])
		if text := m.hint(strings.TrimSpace(said)); text != "" && !given[said] && !given[text] {
			given[said], given[text] = true, true
			b.WriteString(indented(text) + "\n")
		}
	}
	return b.String()
}

var fetch = regexp.MustCompile(`; to add it:\n\tgo get \S+`)

// messages returns what the compiler says: each message is a line, and those after it that begin with a tab. Nothing can be
// fetched, so the advice to do so is left out.
func messages(out string) (all []string) {
	for line := range strings.Lines(fetch.ReplaceAllString(out, "")) {
		switch {
		case strings.HasPrefix(line, "# "):
		case strings.HasPrefix(line, "\t") && len(all) > 0:
			all[len(all)-1] += line
		default:
			all = append(all, strings.TrimSuffix(line, "\n")+"\n")
		}
	}
	return all
}

func indented(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

func (m *mistake) hint(message string) string {
	for _, h := range hints {
		if match := h.message.FindStringSubmatch(message); match != nil {
			return h.text(m, match)
		}
	}
	return ""
}

// path returns the import path that a name of the cell stands for, "" if there is none.
func (m *mistake) path(name string) string {
	if m.file == nil {
		return ""
	}
	for _, i := range m.file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		if i.Name != nil && i.Name.Name == name || i.Name == nil && path.Base(p) == name {
			return p
		}
	}
	return ""
}

// declared returns the type that a message calls "strategy.FedAvg", or "Mine" if the cell itself declares it.
func (m *mistake) declared(name string) (spec ast.Spec, t *doc.Type) {
	pkg, of, qualified := strings.Cut(name, ".")
	if !qualified {
		return m.own(name), nil
	}
	if p := m.read(m.path(pkg)); p != nil {
		if t = typeOf(p, of); t != nil {
			return t.Decl.Specs[0], t
		}
	}
	return nil, nil
}

// own returns a type that the cell declares.
func (m *mistake) own(name string) (found ast.Spec) {
	if m.file != nil {
		ast.Inspect(m.file, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok && t.Name.Name == name {
				found = t
			}
			return found == nil
		})
	}
	return found
}

func unknownField(m *mistake, match []string) string {
	spec, _ := m.declared(match[2])
	all := fields(spec)
	if len(all) == 0 {
		return ""
	}
	names := make([]string, len(all))
	text := map[string]string{}
	for i, f := range all {
		names[i], text[f.name] = f.name, f.text
	}
	return suggested(match[1], names, match[2]+" has:", text)
}

func unknownMember(m *mistake, match []string) string {
	spec, t := m.declared(match[2])
	text := map[string]string{}
	var names []string
	for _, f := range fields(spec) {
		names, text[f.name] = append(names, f.name), f.text
	}
	if t != nil {
		for _, f := range t.Methods {
			names, text[f.Name+"()"] = append(names, f.Name+"()"), new(doc.Package).Synopsis(f.Doc)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return suggested(match[1], names, match[2]+" has:", text)
}

func unknownExport(m *mistake, match []string) string {
	p := m.read(m.path(match[1]))
	if p == nil {
		return ""
	}
	all := exported(p)
	return suggested(match[2], slices.Sorted(maps.Keys(all)), "package "+match[1]+" has, among others:", all)
}

// suggested names the nearest, and lists those that come near, each with what is said of it.
func suggested(name string, names []string, head string, text map[string]string) string {
	const most = 8
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
		said := strings.TrimPrefix(text[n], strings.TrimSuffix(n, "()")+" ") // as comments begin with the name
		head += strings.TrimRight(fmt.Sprintf("\n  %-*s  %s", width, n, cut(said, 90)), " ,")
	}
	return head
}

func cut(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return strings.TrimRight(string(r[:n]), " ,;") + " …"
	}
	return text
}

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
	if m.isPackage() {
		for _, p := range m.packages() {
			if path.Base(p) == name {
				return fmt.Sprintf("missing above %%%%: import %q", p)
			}
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
	if token.IsExported(name) {
		return ""
	}
	return "no such name here; " + keep
}

func nearestPackage(name string, packages []string) string {
	var names []string
	for _, p := range packages {
		names = append(names, path.Base(p))
	}
	near := nearest.Of(name, names)
	if i := slices.Index(names, near); i >= 0 && len(name) > 2 {
		return packages[i]
	}
	return ""
}

// isPackage says whether the name at the mistake stands where a package's would: before a dot.
func (m *mistake) isPackage() (is bool) {
	m.visit(func(n ast.Node) {
		if s, ok := n.(*ast.SelectorExpr); ok && m.at(s.X) {
			is = true
		}
	})
	return is
}

// assigned says whether a value is assigned to the name at the mistake.
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

func unused(*mistake, []string) string {
	return "Go refuses variables that nothing uses: alone on the last line, a variable is shown; _ = x uses x, too"
}

func pointer(_ *mistake, match []string) string {
	return fmt.Sprintf("write &%s{…}: what it keeps between rounds is behind a pointer", strings.TrimPrefix(match[1], "*"))
}

func missingMethod(m *mistake, match []string) string {
	spec, _ := m.declared(match[1])
	t, ok := spec.(*ast.TypeSpec)
	if !ok {
		return ""
	}
	wanted, ok := t.Type.(*ast.InterfaceType)
	if !ok {
		return ""
	}
	for _, f := range wanted.Methods.List {
		for _, name := range f.Names {
			if name.Name != match[2] {
				continue
			}
			var b strings.Builder
			if printer.Fprint(&b, token.NewFileSet(), f.Type) == nil {
				return fmt.Sprintf("%s wants the method %s%s", match[1], name.Name, strings.TrimPrefix(b.String(), "func"))
			}
		}
	}
	return ""
}

func uncaught(_ *mistake, match []string) string {
	variables, _ := strconv.Atoi(match[1])
	values, _ := strconv.Atoi(match[3])
	if values != variables+1 {
		return ""
	}
	call, _, _ := strings.Cut(match[2], "(")
	return fmt.Sprintf("if its last value is an error: must.M%d(%s(…)) ends the cell with it, and x, err := %s(…) takes it", variables, call, call)
}

func nested(_ *mistake, match []string) string {
	types := strings.Split(match[2], ", ")
	if n := len(types) - 1; strings.HasSuffix(types[n], "error") {
		return fmt.Sprintf("its last value is an error: must.M%d(%s(…)) ends the cell with it", n, match[1])
	}
	return ""
}

func noContext(_ *mistake, match []string) string {
	if strings.Contains(match[1], "Context") {
		return ""
	}
	return "the first argument is a context: context.Background()"
}

func again(*mistake, []string) string {
	return "it is declared already: = instead of := gives it a new value"
}

func numbers(_ *mistake, match []string) string {
	switch {
	case match[1] != "":
		return "Go never mixes whole numbers with others: write float64(n) * 0.5"
	case match[4] != "":
		return fmt.Sprintf("write %s(%s)", match[6], match[4])
	case match[2] == "untyped" || match[3] == "untyped" || match[2] == "string" || match[3] == "string":
		return `to put a number into a text: fmt.Sprint("α = ", 0.3)`
	}
	return "convert one of them, as in float64(x)"
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

// What earlier cells declared is kept in a file beside the cell.
func memory(dir string) string { return filepath.Join(dir, ".fedkit", "variables") }

// remember keeps the names of the variables of a cell that compiles.
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

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
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

const keep = `a cell is a program of its own:
its variables end with it, only imports and declarations above %% stay,
once their cell has run since the kernel started.
Keep results in files: fedkit.Options{History: "h.jsonl"} in the run, then
fedkit.Load("h.jsonl") in any cell; or use study.New("runs") for many runs.`

// habits maps names that a Python user writes to their Go counterparts.
var habits = map[string]string{
	"True": "Go writes true", "False": "Go writes false", "None": "Go writes nil",
	"str": "Go writes fmt.Sprint(x), and string for the type", "float": "Go writes float64", "list": "Go writes []int{1, 2, 3}",
	"dict": `Go writes map[string]int{"a": 1}`, "enumerate": "Go writes for i, x := range xs", "range": "Go writes for i := range 10",
	"sorted": "Go writes slices.Sort(xs)", "sum": "Go writes a loop, or floats.Sum of gonum.org/v1/gonum/floats",
	"self":  "Go names the receiver itself: func (s *Mine) Round(…)",
	"np":    "Go has no NumPy: package math has functions of numbers, gonum.org/v1/gonum matrices",
	"input": "a cell cannot ask: put the value into a variable",
	"pass":  "Go writes { } for nothing", "Println": "Go writes fmt.Println(x)", "abs": "Go writes math.Abs(x)", "sqrt": "Go writes math.Sqrt(x)",
	"throw": `Go writes panic("…"), or returns an error`, "ctx": "the context is context.Background()",
}

const tried = "Go has no exceptions: x, err := f() takes the error that f returns, and must.M1(f()) ends the cell with it"

// A checked cell is its source with the types of what is in it.
type checked struct {
	workspace
	file    *ast.File
	info    types.Info
	earlier []string // variables of earlier cells
}

// check returns the cell in a file, with what the packages of a workspace declare; nil if it cannot be parsed.
func check(w workspace, dir, name string) *checked {
	c := &checked{workspace: w, earlier: remembered(dir), info: types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}, Scopes: map[ast.Node]*types.Scope{}}}
	var err error
	if c.file, err = parse(filepath.Join(dir, name)); err != nil {
		return nil
	}
	_, _ = (&types.Config{Importer: c, Error: func(error) {}}).Check("main", fset, []*ast.File{c.file}, &c.info) // the compiler has said what is wrong
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
	place = regexp.MustCompile(`^\S*(main(?:_test)?\.go):(\d+):(?:(\d+):)?( .*)`)
	fetch = regexp.MustCompile(`; to add it:\n\tgo get \S+`) // as nothing can be fetched
	// A message is a line, with those after it that begin with a tab.
	messages = regexp.MustCompile(`(?m)^[^\t#\n].*\n(?:\t.*\n)*`)
)

// advised are hints on messages of the compiler about names that are there.
var advised = []struct {
	message *regexp.Regexp
	hint    string
}{
	{regexp.MustCompile(`: declared and not used: `), "Go refuses variables that nothing uses: alone on the last line, a variable is shown; _ = x uses x, too"},
	{regexp.MustCompile(`(\S+) does not implement \S+ \(method \w+ has pointer receiver\)`), "write &$1{…}: what it keeps between rounds is behind a pointer"},
	{regexp.MustCompile(`: assignment mismatch: 1 variable but ([\w.]+).* returns 2 values`), "if its last value is an error: must.M1($1(…)) ends the cell with it, and x, err := $1(…) takes it"},
	{regexp.MustCompile(`: multiple-value ([\w.]+)\(.*\) \(value of type \([^,]*, \S*error\)`), "its last value is an error: must.M1($1(…)) ends the cell with it"},
	{regexp.MustCompile(`: not enough arguments in call to .*\n\thave \((?:[^c].*)?\n\twant \(context\.Context`), "the first argument is a context: context.Background()"},
	{regexp.MustCompile(`\(untyped float constant\) truncated to int`), "Go never mixes whole numbers with others: write float64(n) * 0.5"},
	{regexp.MustCompile(` (\w+)\.append undefined`), "Go writes $1 = append($1, x)"},
	{regexp.MustCompile(` (\w+)\.(?:len|length|size|shape) undefined`), "Go writes len($1)"},
	{regexp.MustCompile(`index -\d+ .* must not be negative`), "the last element of xs is xs[len(xs)-1]"},
	{regexp.MustCompile(`cannot indirect`), "a power is x * x, or math.Pow(x, 2)"},
	{regexp.MustCompile(`mismatched types (?:untyped )?string and `), `numbers become text in fmt.Sprint("η = ", x), or fmt.Sprintf("%d clients", n)`},
	{regexp.MustCompile(`mismatched types int and float64|cannot use .*of type int\) as float64 `), "Go never mixes whole numbers with others: write float64(n)"},
	{regexp.MustCompile(`cannot use "[^"]*" .* as (?:float64|int) `), "a number stands without quotes"},
	{regexp.MustCompile(`no new variables on left side of :=`), "it is declared above: = gives it another value"},
	{regexp.MustCompile(`non-boolean condition`), "a condition is true or false: n != 0, len(xs) > 0, err != nil"},
	{regexp.MustCompile(`label (?:try|except|finally) defined`), tried},
	{regexp.MustCompile(`label else defined`), "Go writes } else { on one line"},
	{regexp.MustCompile(`too many return values`), "a cell returns nothing: what stands alone on its last line is shown"},
	{regexp.MustCompile(`missing argument in conversion to (\S+)`), "a value of a type has braces: &$1{…}"},
}

var missing = regexp.MustCompile(`does not implement (\w+)\.(\w+) \(missing method (\w+)\)`)

// hinted adds hints after the compiler's messages, and drops the line that names the package. A hint goes by what stands at the
// place of a message, if something is missing there, and by the message otherwise.
func hinted(out, dir string) string {
	var b strings.Builder
	given, cells := map[string]bool{}, map[string]*checked{}
	for _, message := range messages.FindAllString(fetch.ReplaceAllString(out, "")+"\n", -1) {
		b.WriteString(message)
		at := place.FindStringSubmatch(message)
		if at == nil {
			continue
		}
		if _, known := cells[at[1]]; !known {
			cells[at[1]] = check(openWorkspace(dir), dir, at[1])
		}
		row, _ := strconv.Atoi(at[2])
		column, _ := strconv.Atoi(at[3])
		text := cmp.Or(cells[at[1]].hint(row, column), cells[at[1]].advice(message))
		if text != "" && !given[text] && !given[at[4]] {
			given[text], given[at[4]] = true, true
			b.WriteString("    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n")
		}
	}
	return b.String()
}

// advice returns a hint on a message about names that are there; "" if there is none.
func (c *checked) advice(message string) string {
	for _, a := range advised {
		if at := a.message.FindStringSubmatchIndex(message); at != nil {
			return string(a.message.ExpandString(nil, a.hint, message, at))
		}
	}
	if at := missing.FindStringSubmatch(message); at != nil && c != nil {
		for _, p := range loaded {
			if of := p.Scope().Lookup(at[2]); of != nil && p.Name() == at[1] {
				if method, _, _ := types.LookupFieldOrMethod(of.Type(), false, p, at[3]); method != nil {
					return fmt.Sprintf("%s.%s wants the method %s%s", at[1], at[2], at[3], strings.TrimPrefix(types.TypeString(method.Type(), types.RelativeTo(p)), "func"))
				}
			}
		}
	}
	return ""
}

// hint returns advice on what stands at a place; "" if there is none.
func (c *checked) hint(line, column int) (text string) {
	if c == nil {
		return ""
	}
	ast.PreorderStack(c.file, nil, func(n ast.Node, above []ast.Node) bool {
		if p := fset.Position(n.Pos()); p.Line == line && p.Column == column && text == "" && len(above) > 1 {
			text = c.lacking(n, above)
		}
		return true
	})
	return text
}

// lacking returns advice on a node, if it names what is not there.
func (c *checked) lacking(n ast.Node, above []ast.Node) string {
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
			return c.noField(name.Name, literal.Type)
		}
	case *ast.SelectorExpr:
		if of, ok := p.X.(*ast.Ident); ok {
			if pkg, ok := c.info.Uses[of].(*types.PkgName); ok {
				return c.noExport(pkg.Imported(), p.Sel.Name)
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
	name := n.Name
	if a, ok := parent.(*ast.AssignStmt); ok && slices.Contains(a.Lhs, ast.Expr(n)) {
		return fmt.Sprintf("to declare it: %s := …", name)
	}
	if said := habits[name]; said != "" {
		return said
	}
	declared, variable := elsewhere(name)
	earlier := variable || slices.Contains(c.earlier, name)
	if declared != "" {
		return fmt.Sprintf("%s stands in a cell that has not run since the kernel started: run the cells above first, by Run All Above Selected Cell of the menu Run", declared)
	}
	s, selects := parent.(*ast.SelectorExpr)
	if selects {
		packages := c.packages()
		if i := slices.IndexFunc(packages, func(p string) bool { return path.Base(p) == name }); i >= 0 {
			// GoNB takes the import of what is not exported for unused, and drops it.
			p, _ := c.Import(packages[i])
			return c.noExport(p, s.Sel.Name)
		}
		if p := nearestPackage(name, packages); p != "" && !earlier {
			return fmt.Sprintf("did you mean %s?", path.Base(p))
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
	case selects && slices.Contains(standard, name) && token.IsExported(s.Sel.Name):
		return fmt.Sprintf("package %s has no %s: !go doc %s in a cell lists what it has", name, s.Sel.Name, name)
	case selects && !token.IsExported(s.Sel.Name):
		return fmt.Sprintf("if %s is a package, its names begin with a capital letter: %s.%s%s. If it is a variable, there is\nno such name here; %s",
			name, name, strings.ToUpper(s.Sel.Name[:1]), s.Sel.Name[1:], keep)
	}
	return "no such name here; " + keep
}

// standard are packages of Go's own whose names are not met as variables. What they have is not read here.
var standard = []string{"fmt", "math", "strings", "slices", "maps", "errors", "strconv", "os", "context", "sort", "time"}

// elsewhere looks for a name in the notebook, as it was last saved: the line of a cell that declares it above %%, and whether one has it as
// a variable. Jupyter's server says which notebook it is.
func elsewhere(name string) (declared string, variable bool) {
	var notebook struct{ Cells []struct{ Source []string } }
	data, _ := os.ReadFile(os.Getenv("JPY_SESSION_NAME"))
	_ = json.Unmarshal(data, &notebook) // as far as it can be read
	declares := regexp.MustCompile(`^(?:func|type|var|const) +` + name + `\b[^{=]*`)
	assigns := regexp.MustCompile(`^\s*(?:\w+, *)*` + name + `(?:, *\w+)* *:=`)
	for _, cell := range notebook.Cells {
		for _, line := range cell.Source {
			if at := declares.FindString(line); at != "" {
				declared = strings.TrimSpace(at)
			}
			variable = variable || assigns.MatchString(line)
		}
	}
	return declared, variable
}

// nearestPackage returns the package whose name was meant by a misspelled one, or by its beginning; "" if there is none.
func nearestPackage(name string, packages []string) string {
	if len(name) <= 2 {
		return ""
	}
	var names []string
	for _, p := range packages {
		if names = append(names, path.Base(p)); strings.HasPrefix(path.Base(p), name) {
			return p
		}
	}
	if i := slices.Index(names, nearest.Of(name, names)); i >= 0 {
		return packages[i]
	}
	return ""
}

// noPackage is advice on an import that the compiler refuses.
func (c *checked) noPackage(spec *ast.ImportSpec) string {
	wanted, _ := strconv.Unquote(spec.Path.Value)
	all := c.packages()
	near := ""
	if i := slices.IndexFunc(all, func(p string) bool { return path.Base(p) == path.Base(wanted) }); i >= 0 {
		near = all[i]
	} else if strings.HasPrefix(wanted, "fedkit.example/") {
		near = nearest.Of(wanted, all)
	}
	switch {
	case near != "" && near != wanted:
		return fmt.Sprintf("did you mean %q?", near)
	case near == "" && strings.Contains(wanted, "."):
		return "cells fetch nothing, unless FEDKIT_GOPROXY=https://proxy.golang.org is set when ./scripts/lab starts"
	}
	return ""
}

// noExport is advice on a name that a package does not export.
func (c *checked) noExport(p *types.Package, name string) string {
	all := map[string]string{}
	for _, known := range p.Scope().Names() {
		if token.IsExported(known) {
			all[known] = comments[p.Scope().Lookup(known).Pos()]
		}
	}
	return suggested(name, "package "+p.Name()+" has, among others:", all)
}

// noField is advice on a field that a struct does not have.
func (c *checked) noField(name string, of ast.Expr) string {
	all := map[string]string{}
	if t := c.info.TypeOf(of); t != nil {
		if s, ok := t.Underlying().(*types.Struct); ok {
			for f := range s.Fields() {
				if f.Exported() {
					all[f.Name()] = comments[f.Pos()]
				}
			}
		}
	}
	return suggested(name, types.ExprString(of)+" has:", all)
}

// suggested names the most similar of all names, and lists similar ones with their comments; "" if there are none, or it is one of them.
func suggested(name, head string, all map[string]string) string {
	const most = 8
	if _, known := all[name]; known || len(all) == 0 {
		return ""
	}
	near := nearest.Sort(name, slices.Sorted(maps.Keys(all)))
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
		comment := []rune(strings.TrimPrefix(all[n], n+" ")) // as comments begin with the name
		if len(comment) > 90 {
			comment = append([]rune(strings.TrimRight(string(comment[:90]), " ,;")), []rune(" …")...)
		}
		head += strings.TrimRight(fmt.Sprintf("\n  %-*s  %s", width, n, string(comment)), " ,")
	}
	return head
}

// memory is the file beside the cell that keeps what earlier cells declared.
func memory(dir string) string { return own(dir, "variables") }

// remember stores the names of the variables of a cell that compiles.
func remember(dir string) {
	if c := check(nil, dir, "main.go"); c != nil { // without packages, which takes time
		names := slices.Concat(c.earlier, c.locals())
		slices.Sort(names)
		_ = os.WriteFile(memory(dir), []byte(strings.Join(slices.Compact(names), "\n")), 0o600)
	}
}

func remembered(dir string) []string {
	data, _ := os.ReadFile(memory(dir))
	return strings.Fields(string(data))
}

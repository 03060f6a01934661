package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

const (
	guards   = "fedkit.example/fedkit/notebook" // has Begin, Guard, Panic, and Show for cells that do not use fedkit
	draws    = "fedkit.example/fedkit/plot"     // has Show for those that do
	sends    = "fedkit.example/fedkit/gonb"     // shows tables and progress, whose packages link no kernel
	commands = "fedkit.example/fedkit/worker"   // has Main
	musts    = "github.com/janpfeifer/must"
)

// dress returns the cell with Guard deferred in main and, if show is set, with main's last statement passed to Show if it is an
// expression that may have a value. Line numbers stay, and line directives keep the columns, too.
func dress(path string, source []byte, show bool) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	d := &dresser{path: path, fset: fset, source: source}
	d.after(file.Package, "")
	imports := fmt.Sprintf("; import fedkitguard %q", guards)
	variable := "; var _ = fedkitguard.Guard" // also without main, the import is used
	linksFedkit := usesFedkit(file)
	if linksFedkit { // other cells run briefly, and Go could no longer detect a deadlock in them
		variable = "; var _ = fedkitguard.Begin()"
	}
	if linksFedkit || imported(file, "fedkit.example/fedkit/table") != "" {
		imports += fmt.Sprintf("; import _ %q", sends)
	}
	if name := imported(file, commands); name != "" { // first: in a worker it does not return
		variable = fmt.Sprintf("; var _ = %s.Main()", name) + variable
	}
	if name := imported(file, musts); name != "" {
		variable += fmt.Sprintf("; var _ = func() int { %s.M = fedkitguard.Panic; return 0 }()", name) // before other variables
	}
	main := function(file, "main")
	var last ast.Expr
	if show && main != nil {
		last = lastValue(file, main)
	}
	by := "fedkitguard"
	if last != nil && linksFedkit {
		by, imports = "fedkitshow", imports+fmt.Sprintf("; import fedkitshow %q", draws)
	}
	d.before(file.Name.End(), imports)
	d.before(endOfImports(file), variable)
	if main != nil {
		d.after(main.Body.Lbrace+1, " defer fedkitguard.Guard(); ")
	}
	if last != nil {
		d.after(last.Pos(), by+".Show(")
		d.after(last.End(), ")")
	}
	return d.dressed(), nil
}

// dresser inserts text into a source file.
type dresser struct {
	path   string
	fset   *token.FileSet
	source []byte
	added  []addition
}

type addition struct {
	at   int
	text string
}

// before inserts text at a line's end in the source.
func (d *dresser) before(pos token.Pos, text string) {
	d.added = append(d.added, addition{d.fset.Position(pos).Offset, text})
}

// after inserts text before the character at pos, and a line directive with that character's position.
func (d *dresser) after(pos token.Pos, text string) {
	p := d.fset.Position(pos)
	d.added = append(d.added, addition{p.Offset, fmt.Sprintf("%s/*line %s:%d:%d*/", text, d.path, p.Line, p.Column)})
}

// dressed returns the source with all insertions, which are in order.
func (d *dresser) dressed() (out []byte) {
	from := 0
	for _, a := range d.added {
		out = append(append(out, d.source[from:a.at]...), a.text...)
		from = a.at
	}
	return append(out, d.source[from:]...)
}

// endOfImports is the end of the last import, or of the package clause if there is none.
func endOfImports(file *ast.File) token.Pos {
	end := file.Name.End()
	for _, decl := range file.Decls {
		if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			end = g.End()
		}
	}
	return end
}

func function(file *ast.File, name string) *ast.FuncDecl {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == name && f.Body != nil {
			return f
		}
	}
	return nil
}

// imported returns the name by which the file knows a package, "" if it does not.
func imported(file *ast.File, path string) string {
	for _, i := range file.Imports {
		if p, _ := strconv.Unquote(i.Path.Value); p != path {
			continue
		}
		if i.Name == nil {
			return path[strings.LastIndex(path, "/")+1:]
		}
		if i.Name.Name != "_" && i.Name.Name != "." {
			return i.Name.Name
		}
	}
	return ""
}

// usesFedkit reports whether the cell links fedkit anyway: most packages import it.
func usesFedkit(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		p, _ := strconv.Unquote(i.Path.Value)
		name, within := strings.CutPrefix(p, "fedkit.example/fedkit/")
		return p == "fedkit.example/fedkit" || within && !slices.Contains([]string{"chart", "table", "stats", "gonb", "notebook"}, name)
	})
}

// lastValue returns the last statement of main if it is an expression that may have a value to show, else nil.
func lastValue(file *ast.File, main *ast.FuncDecl) ast.Expr {
	if len(main.Body.List) == 0 {
		return nil
	}
	statement, ok := main.Body.List[len(main.Body.List)-1].(*ast.ExprStmt)
	if !ok {
		return nil
	}
	switch x := ast.Unparen(statement.X).(type) {
	case *ast.UnaryExpr:
		if x.Op == token.ARROW { // receives from a channel
			return nil
		}
	case *ast.FuncLit:
		return nil
	case *ast.CallExpr:
		if silent(file, x.Fun) {
			return nil
		}
	}
	return statement.X
}

// silent reports whether a function is known to have nothing to show, as the most frequent last lines have: such cells are built once.
func silent(file *ast.File, f ast.Expr) bool {
	switch f := f.(type) {
	case *ast.FuncLit:
		return f.Type.Results == nil
	case *ast.Ident:
		if own := function(file, f.Name); own != nil {
			return own.Type.Results == nil
		}
		return slices.Contains(silentFunctions, f.Name)
	case *ast.SelectorExpr:
		pkg, _ := f.X.(*ast.Ident)
		return f.Sel.Name == "Show" || silentMethod(file, f.Sel.Name) || pkg != nil && slices.Contains(silentFunctions, pkg.Name+"."+f.Sel.Name)
	}
	return false
}

var silentFunctions = []string{"print", "println", "panic", "close", "clear", "delete", "copy", "fmt.Print", "fmt.Println", "fmt.Printf", "fmt.Fprint",
	"fmt.Fprintln", "fmt.Fprintf", "log.Print", "log.Println", "log.Printf", "flag.Parse", "must.M", "os.Exit", "time.Sleep"}

// silentMethod reports whether the cell itself declares a method with this name and without results.
func silentMethod(file *ast.File, name string) bool {
	return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv != nil && f.Name.Name == name && f.Type.Results == nil
	})
}

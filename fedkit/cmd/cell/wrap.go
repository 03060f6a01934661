package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
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

// wrap returns the cell with Guard deferred in main, which says first that all variables have their values (see settled), and, if show is set, with main's last statement passed to Show if it is an
// expression that may have a value. Line numbers stay, and line directives keep the columns, too.
func wrap(path string, source []byte, show bool) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []byte
	from := 0
	insert := func(pos token.Pos, text string) { // in the order of the places
		at := fset.Position(pos).Offset
		out = append(append(out, source[from:at]...), text...)
		from = at
	}
	place := func(pos token.Pos) string { // a directive for what stands there
		p := fset.Position(pos)
		return fmt.Sprintf("/*line %s:%d:%d*/", path, p.Line, p.Column)
	}
	main := function(file, "main")
	var last ast.Expr
	if show && main != nil {
		last = lastValue(file, main)
	}
	imports, variables, by := additions(file, last != nil)
	insert(file.Package, place(file.Package))
	insert(file.Name.End(), imports)
	insert(endOfImports(file), variables)
	if main != nil {
		insert(main.Body.Lbrace+1, fmt.Sprintf(" fedkitguard.Initialized(%q); defer fedkitguard.Guard(); %s", initial(file, source), place(main.Body.Lbrace+1)))
	}
	if last != nil {
		insert(last.Pos(), by+".Show("+place(last.Pos()))
		insert(last.End(), ")"+place(last.End()))
	}
	return append(out, source[from:]...), nil
}

// additions are what a cell imports and declares in addition, and the package whose Show it calls if it shows a value.
func additions(file *ast.File, shows bool) (imports, variables, by string) {
	imports = fmt.Sprintf("; import fedkitguard %q", guards)
	variables, by = "; var _ = fedkitguard.Guard", "fedkitguard" // also without main, the import is used
	linksFedkit := usesFedkit(file)
	if linksFedkit { // other cells run briefly, and Go could no longer detect a deadlock in them
		variables = "; var _ = fedkitguard.Begin()"
	}
	if linksFedkit || imported(file, "fedkit.example/fedkit/table") != "" {
		imports += fmt.Sprintf("; import _ %q", sends)
	}
	if name := imported(file, commands); name != "" { // first: in a worker it does not return
		variables = fmt.Sprintf("; var _ = %s.Main()", name) + variables
	}
	if name := imported(file, musts); name != "" {
		variables += fmt.Sprintf("; var _ = func() int { %s.M = fedkitguard.Panic; return 0 }()", name) // before other variables
	}
	if shows && linksFedkit {
		by, imports = "fedkitshow", imports+fmt.Sprintf("; import fedkitshow %q", draws)
	}
	return imports, variables, by
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
		return p == "fedkit.example/fedkit" || strings.HasPrefix(p, "fedkit.example/notebooks/") || within && !slices.Contains([]string{"chart", "table", "stats", "gonb", "notebook"}, name)
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
		if silent(file, x.Fun) || drawing(x) {
			return nil
		}
	}
	return statement.X
}

// drawing reports whether a call passes a function to a method Draw, as study.Found has it.
func drawing(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Draw" || len(call.Args) != 1 {
		return false
	}
	_, ok = call.Args[0].(*ast.FuncLit)
	return ok
}

// silent reports whether a function is known to have nothing to show, as the most frequent last lines have: such cells are built once.
func silent(file *ast.File, f ast.Expr) bool {
	name := types.ExprString(f)
	if literal, ok := f.(*ast.FuncLit); ok {
		return literal.Type.Results == nil
	}
	last := name[strings.LastIndex(name, ".")+1:]
	for _, d := range file.Decls { // the cell's own functions and methods
		if own, ok := d.(*ast.FuncDecl); ok && own.Name.Name == last {
			return own.Type.Results == nil
		}
	}
	return last == "Show" || slices.Contains(silentFunctions, name)
}

var silentFunctions = []string{"print", "println", "panic", "close", "clear", "delete", "copy", "fmt.Print", "fmt.Println", "fmt.Printf", "fmt.Fprint",
	"fmt.Fprintln", "fmt.Fprintf", "log.Print", "log.Println", "log.Printf", "flag.Parse", "must.M", "os.Exit", "time.Sleep"}

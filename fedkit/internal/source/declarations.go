package source

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// declarations are those of a package.
type declarations struct {
	files   *token.FileSet
	text    map[string][]byte            // of files
	nodes   map[string][]ast.Node        // by name: that of a method is its type's
	inits   []*ast.FuncDecl              // the functions init, which are nodes of the variables that they use, too
	funcs   []*ast.FuncDecl              // all others, methods too
	imports map[string]map[string]string // by file, paths by the names that it knows them by
	always  map[string]bool              // paths that are imported without a name
	unseen  string                       // why there are none
}

// declarations returns those in the files of a package, or of its tests.
func (b *built) declarations(dir string, tests bool) *declarations {
	key := fmt.Sprint(dir, tests)
	if d := b.declared[key]; d != nil {
		return d
	}
	d := &declarations{files: token.NewFileSet(), text: map[string][]byte{}, nodes: map[string][]ast.Node{}, imports: map[string]map[string]string{}, always: map[string]bool{}}
	b.declared[key] = d
	paths, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") != tests {
			continue
		}
		d.text[p] = b.read(p)
		f, err := parser.ParseFile(d.files, p, d.text[p], 0) // finds what names stand for within the file
		if err != nil {
			d.unseen = err.Error()
			continue
		}
		d.imports[p] = map[string]string{}
		for _, i := range f.Imports {
			at, _ := strconv.Unquote(i.Path.Value)
			switch {
			case i.Name == nil:
				d.imports[p][b.name(at)] = at
			case i.Name.Name == "_" || i.Name.Name == ".":
				d.always[at] = true
			default:
				d.imports[p][i.Name.Name] = at
			}
		}
		for _, decl := range f.Decls {
			d.add(decl)
		}
	}
	for _, f := range d.inits {
		d.uses(f.Body, func(name, of string) {
			if of == "" && d.isVariable(name) {
				d.nodes[name] = append(d.nodes[name], f)
			}
		})
	}
	return d
}

var major = regexp.MustCompile(`^v[0-9]+$`)

// name returns the name of a package: that in its files if it is yours, else by the path.
func (b *built) name(pkg string) string {
	if dir := b.folder(pkg); dir != "" {
		paths, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, p := range paths {
			if f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.PackageClauseOnly); err == nil && !strings.HasSuffix(p, "_test.go") {
				return f.Name.Name
			}
		}
	}
	if major.MatchString(path.Base(pkg)) {
		pkg = path.Dir(pkg)
	}
	return path.Base(pkg)
}

func (d *declarations) add(decl ast.Decl) {
	name := func(n ast.Node, names ...*ast.Ident) {
		for _, id := range names {
			d.nodes[id.Name] = append(d.nodes[id.Name], n)
		}
	}
	if f, is := decl.(*ast.FuncDecl); is {
		name(f, named(f))
		if f.Recv == nil && f.Name.Name == "init" {
			d.inits = append(d.inits, f)
		} else {
			d.funcs = append(d.funcs, f)
		}
	}
	for n := range ast.Preorder(decl) {
		if t, is := n.(*ast.TypeSpec); is { // also in a function
			name(t, t.Name)
		}
	}
	if g, is := decl.(*ast.GenDecl); is {
		for _, s := range g.Specs {
			if v, is := s.(*ast.ValueSpec); is && g.Tok == token.CONST { // all, for iota
				name(g, v.Names...)
			} else if is {
				name(v, v.Names...)
			}
		}
	}
}

// named returns the name of a function, or of a method's type.
func named(f *ast.FuncDecl) *ast.Ident {
	if f.Recv == nil {
		return f.Name
	}
	for n := range ast.Preorder(f.Recv.List[0].Type) {
		if id, ok := n.(*ast.Ident); ok {
			return id
		}
	}
	return nil
}

// reached is what can be reached from a declaration.
type reached struct {
	sum      string          // of its text
	imports  map[string]bool // packages
	captured string          // what a function captures
	unseen   string          // a variable that is set while the program runs, or what is read from outside
}

// outside are functions and variables whose values no source file has.
var outside = []string{"os.Args", "os.Environ", "os.Getenv", "os.LookupEnv", "os.Open", "os.ReadDir", "os.ReadFile", "os.Stdin"}

// reach follows what the declaration of a part uses, and what sets that at the start of the program.
func (b *built) reach(dir string, p part) (r reached) {
	d := b.declarations(dir, p.isTest())
	r = reached{imports: maps.Clone(d.always), unseen: d.unseen}
	var nodes []ast.Node
	queue, seen := []string{p.name}, map[string]bool{"main": true}
	take := func(n ast.Node) {
		nodes = append(nodes, n)
		d.uses(n, func(name, of string) {
			if of == "" {
				queue = append(queue, name)
				return
			}
			r.imports[of] = true
			if of == "flag" || slices.Contains(outside, of+"."+name) {
				r.unseen = of + "." + name
			}
		})
	}
	if p.bound {
		r.captured = "its receiver"
	}
	for l, in := range d.literals(p.literal) {
		r.captured = cmp.Or(r.captured, captures(l, in))
		take(l)
	}
	if nodes == nil && d.nodes[p.name] == nil {
		return reached{unseen: cmp.Or(d.unseen, cmp.Or(p.literal, p.name)+" in "+dir)}
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue // the statements of a cell among them
		}
		seen[name] = true
		for _, n := range d.nodes[name] {
			take(n)
		}
	}
	for _, f := range d.funcs {
		if name := d.sets(f, seen); name != "" && r.unseen == "" {
			r.unseen = fmt.Sprintf("variable %s, which %s sets", name, f.Name.Name)
		}
	}
	r.sum = d.hash(nodes)
	return r
}

// hash fingerprints the texts of nodes.
func (d *declarations) hash(nodes []ast.Node) string {
	var texts []string
	for _, n := range nodes {
		begin, end := d.files.PositionFor(n.Pos(), false), d.files.PositionFor(n.End(), false)
		texts = append(texts, string(d.text[begin.Filename][begin.Offset:end.Offset]))
	}
	slices.Sort(texts)
	h := sha256.New()
	for _, text := range slices.Compact(texts) {
		fmt.Fprintf(h, "%d\n%s", len(text), text)
	}
	return fmt.Sprintf("%x\n", h.Sum(nil))
}

// uses calls f with the names that a node uses, other than its own: those of the package, and with a path those of others.
func (d *declarations) uses(in ast.Node, f func(name, of string)) {
	imports := d.imports[d.files.PositionFor(in.Pos(), false).Filename]
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl: // but for its name
			if n.Recv != nil {
				ast.Inspect(n.Recv, visit)
			}
			if ast.Inspect(n.Type, visit); n.Body != nil {
				ast.Inspect(n.Body, visit)
			}
			return false
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && id.Obj == nil && imports[id.Name] != "" {
				f(n.Sel.Name, imports[id.Name])
			} else {
				ast.Inspect(n.X, visit)
			}
			return false
		case *ast.Ident:
			if !inside(n, in) {
				f(n.Name, "")
			}
		}
		return true
	}
	ast.Inspect(in, visit)
}

// inside reports whether what a name stands for is declared within a node.
func inside(id *ast.Ident, n ast.Node) bool {
	return id.Obj != nil && n.Pos() <= id.Obj.Pos() && id.Obj.Pos() < n.End()
}

func (d *declarations) isVariable(name string) bool {
	return slices.ContainsFunc(d.nodes[name], func(n ast.Node) bool { _, is := n.(*ast.ValueSpec); return is })
}

// sets returns which of the variables a function sets or takes the address of, "" if it does not.
func (d *declarations) sets(f *ast.FuncDecl, names map[string]bool) (set string) {
	at := func(x ast.Expr) {
		for x != nil {
			switch e := x.(type) {
			case *ast.Ident:
				if names[e.Name] && !inside(e, f) && d.isVariable(e.Name) {
					set = e.Name
				}
				return
			case *ast.SelectorExpr:
				x = e.X
			case *ast.IndexExpr:
				x = e.X
			case *ast.StarExpr:
				x = e.X
			case *ast.ParenExpr:
				x = e.X
			default:
				return
			}
		}
	}
	for n := range ast.Preorder(f) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				at(x)
			}
		case *ast.IncDecStmt:
			at(n.X)
		case *ast.RangeStmt:
			at(n.Key)
			at(n.Value)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				at(n.X)
			}
		}
	}
	return set
}

// literals returns the function literals of a line, and the declarations that they are in.
func (d *declarations) literals(at string) map[*ast.FuncLit]ast.Node {
	all := map[*ast.FuncLit]ast.Node{}
	for _, in := range slices.Concat(slices.Collect(maps.Values(d.nodes))...) {
		ast.Inspect(in, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncLit); ok {
				if p := d.files.PositionFor(f.Pos(), false); place(p.Filename, p.Line) == at {
					all[f] = in
				}
			}
			return at != ""
		})
	}
	return all
}

// captures returns what a function literal uses of the function around it, "" for nothing.
func captures(l *ast.FuncLit, in ast.Node) (name string) {
	for n := range ast.Preorder(l) {
		if id, ok := n.(*ast.Ident); ok && inside(id, in) && !inside(id, l) && id.Obj.Decl != in {
			name = id.Name
		}
	}
	return name
}

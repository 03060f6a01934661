package docs_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fedtest/expect"
)

// Every exported name has a comment, and so have the fields of anonymous structs, such as State.
func TestEveryNameHasAComment(t *testing.T) {
	files := token.NewFileSet()
	names := 0
	need := func(name *ast.Ident, comments ...*ast.CommentGroup) {
		said := ""
		for _, c := range comments {
			said += c.Text()
		}
		if names++; said == "" && name.IsExported() {
			t.Errorf("%v: %s has no comment", files.Position(name.Pos()), name)
		}
	}
	var members func(ast.Expr)
	members = func(e ast.Expr) {
		var list *ast.FieldList
		switch e := e.(type) {
		case *ast.StructType:
			list = e.Fields
		case *ast.InterfaceType:
			list = e.Methods
		default:
			return
		}
		for _, f := range list.List {
			_, inPlace := f.Type.(*ast.StructType)
			for _, name := range f.Names {
				if !inPlace {
					need(name, f.Doc, f.Comment)
				}
			}
			members(f.Type)
		}
	}
	declared := func(d *ast.GenDecl) {
		for _, s := range d.Specs {
			doc := func(name *ast.Ident) *ast.CommentGroup {
				if d.Lparen.IsValid() && !slices.Contains(strings.Fields(d.Doc.Text()), name.Name) {
					return nil // the group's comment does not describe this one
				}
				return d.Doc
			}
			switch s := s.(type) {
			case *ast.TypeSpec:
				if need(s.Name, doc(s.Name), s.Doc, s.Comment); s.Name.IsExported() {
					members(s.Type)
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					need(name, doc(name), s.Doc, s.Comment)
				}
			}
		}
	}
	visit := func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "internal" || entry.Name() == "cmd"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || ast.IsExported(receiver(d)) {
					need(d.Name, d.Doc)
				}
			case *ast.GenDecl:
				declared(d)
			}
		}
		return nil
	}
	for _, root := range []string{"datasets", "fedkit"} {
		expect.OK(t, filepath.WalkDir(filepath.Join(top, root), visit))
	}
	expect.That(t, names >= 1000, "found only %d names", names)
}

// receiver is the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		}
	}
}

// Every strategy has an example, with an output, in the tests of its package.
func TestEveryStrategyHasAnExample(t *testing.T) {
	outputs := map[string]string{}
	for _, folder := range []string{"fedkit/strategy", "notebooks/examples"} {
		paths, _ := filepath.Glob(filepath.Join(top, folder, "*_test.go"))
		for _, path := range paths {
			f := expect.Value(parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments))(t)
			for _, e := range doc.Examples(f) {
				outputs[filepath.Base(folder)+"."+e.Name] = e.Output
			}
		}
	}
	for _, s := range every.Kinds[0].Parts {
		expect.That(t, outputs[every.Name(s)] != "", "%s has no example with an output", every.Name(s))
	}
}

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
)

// A workspace is the modules that the cell's go.work uses: by path, their folders.
type workspace map[string]string

func openWorkspace(dir string) workspace {
	w := workspace{}
	data, err := os.ReadFile(filepath.Join(dir, "go.work"))
	if err != nil {
		return w
	}
	work, err := modfile.ParseWork("go.work", data, nil)
	if err != nil {
		return w
	}
	for _, use := range work.Use {
		folder := use.Path
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if mod, err := os.ReadFile(filepath.Join(folder, "go.mod")); err == nil && folder != dir {
			w[modfile.ModulePath(mod)] = folder
		}
	}
	return w
}

// packages returns the paths of all packages that a cell can import, sorted.
func (w workspace) packages() (all []string) {
	for module, root := range w {
		_ = filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return nil
			}
			if name := e.Name(); at != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"internal", "testdata", "cmd", "scripts", "notebooks"}, name)) {
				return filepath.SkipDir
			}
			if sources, _ := filepath.Glob(filepath.Join(at, "*.go")); len(sources) > 0 {
				below, _ := filepath.Rel(root, at)
				all = append(all, path.Join(module, filepath.ToSlash(below)))
			}
			return nil
		})
	}
	slices.Sort(all)
	return all
}

// folder returns the folder of a package's sources, "" if no module of the workspace has it.
func (w workspace) folder(importPath string) string {
	for module, root := range w {
		if below, ok := strings.CutPrefix(importPath+"/", module+"/"); ok {
			return filepath.Join(root, filepath.FromSlash(below))
		}
	}
	return ""
}

// read returns the files of a package, without tests; nil if its sources cannot be read.
func (w workspace) read(importPath string) (files []*ast.File) {
	folder := w.folder(importPath)
	if folder == "" {
		return nil
	}
	paths, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, p := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil && !strings.HasSuffix(p, "_test.go") {
			files = append(files, f)
		}
	}
	return files
}

// A member is a field of a struct or a declared name, with its comment in a line.
type member struct {
	name, text string
	spec       *ast.TypeSpec // of a type
}

// declared returns the names that files declare, sorted, with the first sentence on each.
func declared(files []*ast.File) (all []member) {
	add := func(name *ast.Ident, spec *ast.TypeSpec, comments ...*ast.CommentGroup) {
		i := slices.IndexFunc(comments, func(c *ast.CommentGroup) bool { return c != nil })
		all = append(all, member{name.Name, new(doc.Package).Synopsis(comments[max(0, i)].Text()), spec})
	}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name, nil, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						add(s.Name, s, s.Doc, s.Comment, d.Doc)
					case *ast.ValueSpec:
						for _, name := range s.Names {
							add(name, nil, s.Comment, s.Doc, d.Doc)
						}
					}
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return all
}

// fields returns the exported fields of the struct that a type expression of the cell names, in order; nil if that is not known.
func (c *checked) fields(of ast.Expr) (all []member) {
	files, name := []*ast.File{c.file}, types.ExprString(of)
	if s, qualified := of.(*ast.SelectorExpr); qualified {
		pkg, _ := s.X.(*ast.Ident)
		p, ok := c.info.Uses[pkg].(*types.PkgName)
		if !ok {
			return nil
		}
		files, name = c.read(p.Imported().Path()), s.Sel.Name
	}
	for range 2 { // an alias is declared in another package
		types := declared(files)
		i := slices.IndexFunc(types, func(m member) bool { return m.name == name && m.spec != nil })
		if i < 0 {
			return nil
		}
		switch t := types[i].spec.Type.(type) {
		case *ast.StructType:
			for _, f := range t.Fields.List {
				for _, name := range f.Names {
					if name.IsExported() {
						all = append(all, member{name: name.Name, text: fieldText(f)})
					}
				}
			}
			return all
		case *ast.SelectorExpr:
			name = t.Sel.Name
			files = c.read(pathOf(files, fmt.Sprint(t.X)))
		}
	}
	return nil
}

// pathOf returns the import path of a package that one of the files imports by this name; "" if none does.
func pathOf(files []*ast.File, name string) string {
	for _, f := range files {
		for _, i := range f.Imports {
			if p, _ := strconv.Unquote(i.Path.Value); path.Base(p) == name {
				return p
			}
		}
	}
	return ""
}

// fieldText is the source's comment on a field, in a line.
func fieldText(f *ast.Field) string {
	text := f.Comment.Text()
	if text == "" {
		text = new(doc.Package).Synopsis(f.Doc.Text())
	}
	text = strings.Join(strings.Fields(text), " ")
	if f.Tag == nil {
		return text
	}
	tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
	if r := tag.Get("range"); r != "" {
		text += "; in " + r
	}
	if d := tag.Get("default"); d != "" {
		text += "; default " + d
	}
	return strings.TrimPrefix(text, "; ")
}

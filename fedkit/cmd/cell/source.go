package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
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

// read returns what is exported by the package, nil if its sources cannot be read.
func (w workspace) read(importPath string) *doc.Package {
	folder := w.folder(importPath)
	if folder == "" {
		return nil
	}
	paths, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	fset := token.NewFileSet()
	var files []*ast.File
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		if f, err := parser.ParseFile(fset, p, nil, parser.ParseComments|parser.SkipObjectResolution); err == nil {
			files = append(files, f)
		}
	}
	p, err := doc.NewFromFiles(fset, files, importPath)
	if err != nil {
		return nil
	}
	return p
}

// exported returns the first sentence on every exported name of a package, sorted.
func exported(p *doc.Package) (all []field) {
	add := func(name, text string) {
		if token.IsExported(name) {
			all = append(all, field{name, p.Synopsis(text)})
		}
	}
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			for _, spec := range v.Decl.Specs {
				spec := spec.(*ast.ValueSpec)
				for _, name := range spec.Names {
					add(name.Name, cmp.Or(spec.Comment.Text(), spec.Doc.Text(), v.Doc))
				}
			}
		}
	}
	functions := func(fs []*doc.Func) {
		for _, f := range fs {
			add(f.Name, f.Doc)
		}
	}
	values(p.Consts)
	values(p.Vars)
	functions(p.Funcs)
	for _, t := range p.Types {
		add(t.Name, t.Doc)
		values(t.Consts)
		values(t.Vars)
		functions(t.Funcs)
	}
	slices.SortFunc(all, func(a, b field) int { return cmp.Compare(a.name, b.name) })
	return slices.CompactFunc(all, func(a, b field) bool { return a.name == b.name })
}

// A field is a named member of a struct or a package: a field, a method, an exported name.
type field struct{ name, text string }

// typeOf returns a package's type by name, which may be an alias for one of another package; nil if there is none.
func (w workspace) typeOf(importPath, name string) *doc.Type {
	p := w.read(importPath)
	if p == nil {
		return nil
	}
	i := slices.IndexFunc(p.Types, func(t *doc.Type) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	t := p.Types[i]
	of, qualified := t.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.SelectorExpr)
	if !qualified {
		return t
	}
	j := slices.IndexFunc(p.Imports, func(at string) bool { return path.Base(at) == fmt.Sprint(of.X) })
	if j < 0 {
		return t
	}
	return cmp.Or(w.typeOf(p.Imports[j], of.Sel.Name), t)
}

// fields returns the exported fields that a literal of the struct may set, in order; nil if it is no struct.
func fields(spec ast.Spec) (all []field) {
	t, ok := spec.(*ast.TypeSpec)
	if !ok {
		return nil
	}
	s, ok := t.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			if token.IsExported(name.Name) {
				all = append(all, field{name.Name, fieldText(f)})
			}
		}
	}
	return all
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

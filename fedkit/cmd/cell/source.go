package main

import (
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
			if name := e.Name(); at != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"internal", "testdata", "cmd", "scripts", "runs"}, name)) {
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

// What was read of packages, and of cells. This program reads few of them.
var (
	fset     = token.NewFileSet()
	loaded   = map[string]*types.Package{} // by folder
	comments = map[token.Pos]string{}      // on what is declared at a place
)

// Import implements types.Importer: it reads what a package of the workspace declares from its sources, and knows no other.
func (c *checked) Import(importPath string) (*types.Package, error) {
	folder := c.folder(importPath)
	if folder == "" {
		return nil, fs.ErrNotExist
	}
	if p := loaded[folder]; p != nil {
		return p, nil
	}
	loaded[folder] = types.NewPackage(importPath, path.Base(importPath)) // also if it imports itself in the end
	var files []*ast.File
	paths, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, p := range paths {
		if f, err := parse(p); err == nil && !strings.HasSuffix(p, "_test.go") {
			files = append(files, f)
		}
	}
	p, _ := (&types.Config{Importer: c, IgnoreFuncBodies: true, FakeImportC: true, Error: func(error) {}}).Check(importPath, fset, files, nil)
	loaded[folder] = p
	return p, nil
}

// parse reads a file, and notes its comments on types, functions, values and fields.
func parse(path string) (*ast.File, error) {
	file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	first := func(all ...*ast.CommentGroup) string {
		i := slices.IndexFunc(all, func(c *ast.CommentGroup) bool { return c != nil })
		return new(doc.Package).Synopsis(all[max(0, i)].Text())
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			comments[n.Name.Pos()] = first(n.Doc)
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					comments[s.Name.Pos()] = first(s.Doc, s.Comment, n.Doc)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						comments[name.Pos()] = first(s.Comment, s.Doc, n.Doc)
					}
				}
			}
		case *ast.Field:
			for _, name := range n.Names {
				comments[name.Pos()] = fieldText(n)
			}
		}
		return true
	})
	return file, nil
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

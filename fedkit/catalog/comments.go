package catalog

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
	"sync"

	sources "fedkit.example"
)

// said is what the source says of a type or function.
type said struct {
	doc       string
	fields    map[string]string // of a struct
	constants []string          // of an enumeration, 0, 1, …
}

// library is what is said, by package and name: "strategy.FedProx".
type library map[string]*said

// comments reads the sources, once.
var comments = sync.OnceValue(func() library {
	l := library{}
	_ = fs.WalkDir(sources.Files, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := sources.Files.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil { // it has been compiled
			l.read(f)
		}
		return err
	})
	return l
})

// of never returns nil.
func (l library) of(name string) *said {
	if l[name] == nil {
		l[name] = new(said)
	}
	return l[name]
}

func (l library) read(f *ast.File) {
	pkg := f.Name.Name + "."
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				l.of(pkg + d.Name.Name).doc = d.Doc.Text()
			}
		case *ast.GenDecl:
			switch d.Tok {
			case token.TYPE:
				l.types(pkg, d)
			case token.CONST:
				l.enumeration(pkg, d)
			}
		}
	}
}

func (l library) types(pkg string, d *ast.GenDecl) {
	for _, s := range d.Specs {
		spec := s.(*ast.TypeSpec)
		t := l.of(pkg + spec.Name.Name)
		t.doc = spec.Doc.Text() + d.Doc.Text()
		if s, ok := spec.Type.(*ast.StructType); ok {
			t.fields = map[string]string{}
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					t.fields[name.Name] = oneLine(f.Doc.Text() + f.Comment.Text())
				}
			}
		}
	}
}

// enumeration reads constants of a type of their own that count from 0: Stop NotFinite = iota, Skip.
func (l library) enumeration(pkg string, d *ast.GenDecl) {
	first := d.Specs[0].(*ast.ValueSpec)
	t, named := first.Type.(*ast.Ident)
	if !named || len(first.Values) != 1 {
		return
	}
	if iota, ok := first.Values[0].(*ast.Ident); !ok || iota.Name != "iota" {
		return
	}
	for _, s := range d.Specs {
		l.of(pkg + t.Name).constants = append(l.of(pkg+t.Name).constants, s.(*ast.ValueSpec).Names[0].Name)
	}
}

// text formats the comment as go doc does.
func (s *said) text(width int) string {
	return string((&comment.Printer{TextWidth: width}).Text(new(comment.Parser).Parse(s.doc)))
}

var (
	inParentheses = regexp.MustCompile(`\(([^()]*(?:arXiv|et al\.)[^()]*)\)`)
	arXiv         = regexp.MustCompile(`arXiv \d{4}\.\d{4,5}`)
)

// paper is the paragraph that begins with "Source:" or, if there is none, what is said in parentheses of a paper.
func (s *said) paper() string {
	for p := range strings.SplitSeq(s.doc, "\n\n") {
		if source, ok := strings.CutPrefix(p, "Source: "); ok {
			return oneLine(source)
		}
	}
	if p := inParentheses.FindStringSubmatch(oneLine(s.doc)); p != nil {
		return p[1]
	}
	return arXiv.FindString(oneLine(s.doc))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

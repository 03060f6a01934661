package catalog

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// said is the source's comments on a type or function.
type said struct {
	Doc       string            `json:"doc,omitempty"`
	Fields    map[string]string `json:"fields,omitempty"`    // of a struct
	Constants []string          `json:"constants,omitempty"` // of an enumeration, 0, 1, …
}

// library maps names with packages to comments: "strategy.FedProx".
type library map[string]*said

// commentsFile is the library of the catalog. A test writes it, and fails if it differs from the sources.
//
//go:embed comments.json
var commentsFile []byte

// comments reads the library, once.
var comments = sync.OnceValue(func() (l library) {
	if err := json.Unmarshal(commentsFile, &l); err != nil {
		panic(err) // a test has read it
	}
	return l
})

// commentsOn returns the comments on a type, by its name with its package; it never returns nil.
func commentsOn(name string) *said {
	return cmp.Or(comments()[name], known.commentsOn(name), new(said))
}

// text formats the comment as go doc does.
func (s *said) text(width int) string {
	return string((&comment.Printer{TextWidth: width}).Text(new(comment.Parser).Parse(s.Doc)))
}

var (
	inParentheses = regexp.MustCompile(`\(([^()]*(?:arXiv|et al\.)[^()]*)\)`)
	arXiv         = regexp.MustCompile(`arXiv \d{4}\.\d{4,5}`)
)

// paper is the paragraph that begins with "Source:" or, if there is none, the text in parentheses that names a paper.
func (s *said) paper() string {
	for p := range strings.SplitSeq(s.Doc, "\n\n") {
		if source, ok := strings.CutPrefix(p, "Source: "); ok {
			return oneLine(source)
		}
	}
	if p := inParentheses.FindStringSubmatch(oneLine(s.Doc)); p != nil {
		return p[1]
	}
	return arXiv.FindString(oneLine(s.Doc))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// at returns the position of a name.
func (l library) at(name string) *said {
	if l[name] == nil {
		l[name] = new(said)
	}
	return l[name]
}

// readFolder reads the sources of a package. Files that cannot be read are left out.
func (l library) readFolder(folder string) {
	paths, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, path := range paths {
		if f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution); err == nil {
			l.read(f)
		}
	}
}

func (l library) read(f *ast.File) {
	pkg := f.Name.Name + "."
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				l.at(pkg + d.Name.Name).Doc = d.Doc.Text()
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
		t := l.at(pkg + spec.Name.Name)
		t.Doc = spec.Doc.Text() + d.Doc.Text()
		if s, ok := spec.Type.(*ast.StructType); ok {
			t.Fields = map[string]string{}
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					t.Fields[name.Name] = oneLine(f.Doc.Text() + f.Comment.Text())
				}
			}
		}
	}
}

// enumeration reads typed constants that count from 0: Stop NotFinite = iota, Skip.
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
		l.at(pkg + t.Name).Constants = append(l.at(pkg+t.Name).Constants, s.(*ast.ValueSpec).Names[0].Name)
	}
}

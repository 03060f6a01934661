package catalog

import (
	_ "embed"
	"encoding/json"
	"go/doc/comment"
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

// of never returns nil.
func (l library) of(name string) *said {
	if l[name] == nil {
		return new(said)
	}
	return l[name]
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

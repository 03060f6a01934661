package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A hint is a few lines of advice on a message of the compiler: match has the parts of the message.
type hint struct {
	message *regexp.Regexp
	text    func(m *mistake, match []string) string
}

// A mistake is a place in the cell that the compiler complains about.
type mistake struct {
	workspace
	file         *ast.File // nil if the cell cannot be parsed
	fset         *token.FileSet
	line, column int
	earlier      []string // variables of earlier cells
}

var hints = []hint{
	{regexp.MustCompile(`^(?:unknown|cannot refer to unexported) field (\w+) in struct literal of type ([\w.]+)`), unknownField},
	{regexp.MustCompile(`^\S+\.(\w+) undefined \(type \*?([\w.]+) has no field or method \w+[,)]`), unknownMember},
	{regexp.MustCompile(`^undefined: (\w+)\.(\w+)(?: \(but have \w+\))?$`), unknownExport},
	{regexp.MustCompile(`^name (\w+) not exported by package (\w+)$`), func(m *mistake, match []string) string { return unknownExport(m, []string{"", match[2], match[1]}) }},
	{regexp.MustCompile(`^undefined: (\w+)$`), unknownName},
	{regexp.MustCompile(`^declared and not used: `), unused},
	{regexp.MustCompile(`(\S+) does not implement \S+ \(method \w+ has pointer receiver\)`), pointer},
	{regexp.MustCompile(`\S+ does not implement ([\w.]+) \(missing method (\w+)\)`), missingMethod},
	{regexp.MustCompile(`^assignment mismatch: (\d+) variables? but (\S+) returns (\d+) values$`), uncaught},
	{regexp.MustCompile(`^multiple-value ([\w.]+)\(.*\) \(value of type \((.*)\)\)`), nested},
	{regexp.MustCompile(`(?s)^not enough arguments in call to .*have \((\S*).*want \(context\.Context`), noContext},
	{regexp.MustCompile(`\(untyped float constant\) truncated to int`), wholeNumber},
	{regexp.MustCompile(`(?:no required module provides package|cannot find module providing package) (\S+?)(?:;|:|$)|^package (\S+) is not in std`), unknownPackage},
}

var place = regexp.MustCompile(`^\S*main(?:_test)?\.go:(\d+):(?:(\d+):)? (.*)`)

// hinted adds a hint after each message that has one, and drops the line that names the package.
func hinted(out, dir string) string {
	m := &mistake{workspace: openWorkspace(dir), fset: token.NewFileSet(), earlier: remembered(dir)}
	for _, name := range []string{"main.go", "main_test.go"} { // GoNB writes one of them
		if f, err := parser.ParseFile(m.fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution); err == nil {
			m.file = f
		}
	}
	var b strings.Builder
	given := map[string]bool{}
	for _, message := range messages(out) {
		b.WriteString(message)
		at := place.FindStringSubmatch(message)
		if at == nil {
			continue
		}
		m.line, _ = strconv.Atoi(at[1])
		m.column, _ = strconv.Atoi(at[2])
		said := at[3] + strings.TrimPrefix(message, at[0])
		if text := m.hint(strings.TrimSpace(said)); text != "" && !given[said] && !given[text] {
			given[said], given[text] = true, true
			b.WriteString(indented(text) + "\n")
		}
	}
	return b.String()
}

var fetch = regexp.MustCompile(`; to add it:\n\tgo get \S+`)

// messages splits the compiler's output: each message is a line, with those after it that begin with a tab. Advice to fetch
// modules is dropped, as nothing can be fetched.
func messages(out string) (all []string) {
	for line := range strings.Lines(fetch.ReplaceAllString(out, "")) {
		switch {
		case strings.HasPrefix(line, "# "):
		case strings.HasPrefix(line, "\t") && len(all) > 0:
			all[len(all)-1] += line
		default:
			all = append(all, strings.TrimSuffix(line, "\n")+"\n")
		}
	}
	return all
}

func indented(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

func (m *mistake) hint(message string) string {
	for _, h := range hints {
		if match := h.message.FindStringSubmatch(message); match != nil {
			return h.text(m, match)
		}
	}
	return ""
}

// path returns the import path that a name of the cell stands for, "" if there is none.
func (m *mistake) path(name string) string {
	if m.file == nil {
		return ""
	}
	for _, i := range m.file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		if i.Name != nil && i.Name.Name == name || i.Name == nil && path.Base(p) == name {
			return p
		}
	}
	return ""
}

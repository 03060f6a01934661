package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"slices"
	"strings"

	"fedkit.example/fedkit/internal/nearest"
)

// declared returns the type that a message calls "strategy.FedAvg", or "Mine" if the cell itself declares it.
func (m *mistake) declared(name string) (spec ast.Spec, t *doc.Type) {
	pkg, of, qualified := strings.Cut(name, ".")
	if !qualified {
		return m.own(name), nil
	}
	if t = m.typeOf(m.path(pkg), of); t == nil {
		return nil, nil
	}
	return t.Decl.Specs[0], t
}

// own returns a type that the cell declares.
func (m *mistake) own(name string) (found ast.Spec) {
	if m.file != nil {
		ast.Inspect(m.file, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok && t.Name.Name == name {
				found = t
			}
			return found == nil
		})
	}
	return found
}

func unknownField(m *mistake, match []string) string {
	spec, _ := m.declared(match[2])
	return suggested(match[1], match[2]+" has:", fields(spec))
}

func unknownMember(m *mistake, match []string) string {
	spec, t := m.declared(match[2])
	all := fields(spec)
	if t != nil {
		for _, f := range t.Methods {
			all = append(all, field{f.Name + "()", new(doc.Package).Synopsis(f.Doc)})
		}
	}
	return suggested(match[1], match[2]+" has:", all)
}

func unknownExport(m *mistake, match []string) string { return m.exports(m.path(match[1]), match[2]) }

// exports lists what a package exports under names similar to one; "" if its sources cannot be read.
func (m *mistake) exports(importPath, name string) string {
	p := m.read(importPath)
	if p == nil {
		return ""
	}
	return suggested(name, "package "+p.Name+" has, among others:", exported(p))
}

// suggested names the most similar name, and lists similar ones with their comments; "" if there are none.
func suggested(name, head string, all []field) string {
	const most = 8
	if len(all) == 0 {
		return ""
	}
	var names []string
	text := map[string]string{}
	for _, f := range all {
		names, text[f.name] = append(names, f.name), f.text
	}
	near := nearest.Sort(name, names)
	if len(near) > most {
		near = near[:most]
	} else {
		head = strings.Replace(head, ", among others", "", 1)
	}
	if best := nearest.Of(name, near); best != "" {
		head = "did you mean " + best + "? " + head
	}
	width := len(slices.MaxFunc(near, func(a, b string) int { return cmp.Compare(len(a), len(b)) }))
	for _, n := range near {
		said := strings.TrimPrefix(text[n], strings.TrimSuffix(n, "()")+" ") // as comments begin with the name
		head += strings.TrimRight(fmt.Sprintf("\n  %-*s  %s", width, n, cut(said, 90)), " ,")
	}
	return head
}

func cut(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return strings.TrimRight(string(r[:n]), " ,;") + " …"
	}
	return text
}

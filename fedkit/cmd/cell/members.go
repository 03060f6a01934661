package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"maps"
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
	if p := m.read(m.path(pkg)); p != nil {
		if t = typeOf(p, of); t != nil {
			return t.Decl.Specs[0], t
		}
	}
	return nil, nil
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
	all := fields(spec)
	if len(all) == 0 {
		return ""
	}
	names := make([]string, len(all))
	text := map[string]string{}
	for i, f := range all {
		names[i], text[f.name] = f.name, f.text
	}
	return suggested(match[1], names, match[2]+" has:", text)
}

func unknownMember(m *mistake, match []string) string {
	spec, t := m.declared(match[2])
	text := map[string]string{}
	var names []string
	for _, f := range fields(spec) {
		names, text[f.name] = append(names, f.name), f.text
	}
	if t != nil {
		for _, f := range t.Methods {
			names, text[f.Name+"()"] = append(names, f.Name+"()"), new(doc.Package).Synopsis(f.Doc)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return suggested(match[1], names, match[2]+" has:", text)
}

func unknownExport(m *mistake, match []string) string { return m.exports(m.path(match[1]), match[2]) }

// exports lists what a package exports under names near to one; "" if its sources cannot be read.
func (m *mistake) exports(importPath, name string) string {
	p := m.read(importPath)
	if p == nil {
		return ""
	}
	all := exported(p)
	return suggested(name, slices.Sorted(maps.Keys(all)), "package "+p.Name+" has, among others:", all)
}

// suggested names the nearest, and lists those that come near, each with what is said of it.
func suggested(name string, names []string, head string, text map[string]string) string {
	const most = 8
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

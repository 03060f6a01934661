package main

import (
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"strconv"
	"strings"
)

// Hints on how a name that exists is used.

func unused(*mistake, []string) string {
	return "Go refuses variables that nothing uses: alone on the last line, a variable is shown; _ = x uses x, too"
}

func pointer(_ *mistake, match []string) string {
	return fmt.Sprintf("write &%s{…}: what it keeps between rounds is behind a pointer", strings.TrimPrefix(match[1], "*"))
}

func missingMethod(m *mistake, match []string) string {
	spec, _ := m.declared(match[1])
	t, ok := spec.(*ast.TypeSpec)
	if !ok {
		return ""
	}
	wanted, ok := t.Type.(*ast.InterfaceType)
	if !ok {
		return ""
	}
	for _, f := range wanted.Methods.List {
		for _, name := range f.Names {
			if name.Name != match[2] {
				continue
			}
			var b strings.Builder
			if printer.Fprint(&b, token.NewFileSet(), f.Type) == nil {
				return fmt.Sprintf("%s wants the method %s%s", match[1], name.Name, strings.TrimPrefix(b.String(), "func"))
			}
		}
	}
	return ""
}

func uncaught(_ *mistake, match []string) string {
	variables, _ := strconv.Atoi(match[1])
	values, _ := strconv.Atoi(match[3])
	if values != variables+1 {
		return ""
	}
	call, _, _ := strings.Cut(match[2], "(")
	return fmt.Sprintf("if its last value is an error: must.M%d(%s(…)) ends the cell with it, and x, err := %s(…) takes it", variables, call, call)
}

func nested(_ *mistake, match []string) string {
	types := strings.Split(match[2], ", ")
	if n := len(types) - 1; strings.HasSuffix(types[n], "error") {
		return fmt.Sprintf("its last value is an error: must.M%d(%s(…)) ends the cell with it", n, match[1])
	}
	return ""
}

func noContext(_ *mistake, match []string) string {
	if strings.Contains(match[1], "Context") {
		return ""
	}
	return "the first argument is a context: context.Background()"
}

func wholeNumber(*mistake, []string) string {
	return "Go never mixes whole numbers with others: write float64(n) * 0.5"
}

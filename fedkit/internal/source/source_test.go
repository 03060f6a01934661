package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// own is a part with a method and a helper of its own.
type own struct{ N int }

func (own) Step() int { return helper() }

func helper() int { return 1 }

func alone() {}

//go:noinline
func made() func() int { return func() int { return 2 } }

func write(t *testing.T, path, text string) {
	t.Helper()
	expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
	expect.OK(t, os.WriteFile(path, []byte(text), 0o666))
}

// The version changes with every source file, and not with tests.
func TestFiles(t *testing.T) {
	root := t.TempDir()
	if hashFiles(root) != "" {
		t.Error("a hash of nothing")
	}
	seen := map[string]bool{}
	for _, f := range []struct{ path, text string }{{"fedkit/a.go", "a"}, {"fedkit/a.go", "b"}, {"fedkit/in/b.go", "a"}, {"datasets/c.go", ""}} {
		write(t, filepath.Join(root, f.path), f.text)
		sum := hashFiles(root)
		if seen[sum] {
			t.Error(f, sum)
		}
		seen[sum] = true
	}
	write(t, filepath.Join(root, "fedkit/a_test.go"), "test")
	write(t, filepath.Join(root, "README.md"), "text")
	if sum := hashFiles(root); !seen[sum] {
		t.Error("another version")
	}
}

// A declaration's hash changes with what it uses, and with nothing else.
func TestDeclarations(t *testing.T) {
	dir := t.TempDir()
	const text = "package main\n\ntype T struct{}\n\nfunc (t *T) M() int { return used }\n\nvar used = f()\n\nfunc f() int { return 1 }\n\nfunc other() {}\n"
	sum := func(text string) string {
		write(t, filepath.Join(dir, "main.go"), text)
		return hashDeclarations(dir, []string{"T"})
	}
	first := sum(text)
	if first == "" || sum(strings.Replace(text, "other() {}", "other() { f() }", 1)) != first || sum(text+"// end\n") != first {
		t.Error("what is not used counts")
	}
	for _, change := range []string{"return 1;return 2", "return used;return used + 1", "struct{};struct{ N int }"} {
		old, by, _ := strings.Cut(change, ";")
		if sum(strings.Replace(text, old, by, 1)) == first {
			t.Errorf("%s does not count", change)
		}
	}
	const closure = "package main\n\nfunc main() {\n\tx := 1\n\trun(func() int { return f() })\n}\n\nfunc f() int { return 1 }\n"
	literal := func(text string) string {
		write(t, filepath.Join(dir, "main.go"), text)
		return hashDeclarations(dir, []string{"main.go:5"})
	}
	if first := literal(closure); first == "" || literal(strings.Replace(closure, "x := 1", "x := 2", 1)) != first ||
		literal(strings.Replace(closure, "return f()", "return 2*f()", 1)) == first || literal(strings.Replace(closure, "return 1", "return 2", 1)) == first {
		t.Error("a function literal: what surrounds it counts, or what it does or uses does not")
	}
	if got := hashDeclarations(dir, []string{"missing"}); got != "" || hashDeclarations(filepath.Join(dir, "none"), []string{"T"}) != "" {
		t.Error(got)
	}
}

func TestOf(t *testing.T) {
	plain := Of(struct{}{})
	if plain != "fedkit in a test" || Of(3, nil, []any{}) != plain {
		t.Error(plain)
	}
	seen := map[string]bool{plain: true}
	for _, v := range []any{own{}, alone} {
		is := Of(v)
		if seen[is] || !strings.HasPrefix(is, plain+"; own ") {
			t.Error(is)
		}
		seen[is] = true
	}
	pointer := new(any)
	*pointer = own{}
	// A bound method belongs to the code of its type; a closure has code of its own.
	bound := struct {
		Name string
		F    func() int
	}{"one", own{}.Step}
	for i, is := range []string{Of(bound), Of(pointer)} {
		if want := Of([]any{own{}, own{}}[i]); is != want || is == plain {
			t.Errorf("%d: %s, want %s", i, is, want)
		}
	}
	if is := Of(made()); seen[is] || is == Of(made) {
		t.Error(is)
	}
	if Of(&own{2}) != Of(own{}) {
		t.Error("a value counts")
	}
	if module() == "" {
		t.Error("no module")
	}
}

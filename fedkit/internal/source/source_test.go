package source

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fedkit.example/fedkit/fedtest/expect"
)

// mine is a part with a method and a helper of its own.
type mine struct{ N int }

func (mine) Step() int { return helper() }

func helper() int { return 1 }

func alone() {}

// set is a part whose method depends on what a function sets.
type set struct{}

func (set) Step() int { return factor }

var factor = 1

func change() { factor++ }

// asks is a part whose method depends on the environment.
type asks struct{}

func (asks) Step() string { return os.Getenv("STEP") }

// hidden has a part in an unexported field.
type hidden struct{ in any }

//go:noinline
func made() func() int { return func() int { return helper() } }

//go:noinline
func captures1(n int) func() int { return func() int { return n } }

func write(t *testing.T, path, text string) {
	t.Helper()
	expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
	expect.OK(t, os.WriteFile(path, []byte(text), 0o666))
}

// The version changes with every source file, and not with tests.
func TestFiles(t *testing.T) {
	root := t.TempDir()
	expect.That(t, hashFiles(root) == "", "a hash of nothing")
	seen := map[string]bool{}
	for _, f := range []struct{ path, text string }{{"fedkit/a.go", "a"}, {"fedkit/a.go", "b"}, {"fedkit/in/b.go", "a"}, {"datasets/c.go", ""}} {
		write(t, filepath.Join(root, f.path), f.text)
		sum := hashFiles(root)
		expect.That(t, !seen[sum], "%v, %v", f, sum)
		seen[sum] = true
	}
	write(t, filepath.Join(root, "fedkit/a_test.go"), "test")
	write(t, filepath.Join(root, "README.md"), "text")
	sum := hashFiles(root)
	expect.That(t, seen[sum], "another version")
	expect.That(t, module() != "", "no module")
}

func TestOf(t *testing.T) {
	change()
	const plain = "fedkit in a test"
	for _, v := range []any{struct{}{}, 3, nil, []any{}, strings.NewReader("")} {
		is := Of(v)
		expect.That(t, is == plain, "%T: %s", v, is)
	}
	pointer := new(any)
	*pointer = mine{}
	for _, v := range []any{mine{}, &mine{2}, alone, pointer, hidden{mine{}}, struct{ f func() int }{helper}, made()} {
		is := Of(v)
		expect.That(t, strings.HasPrefix(is, plain+"; own ") && Unseen(is) == "", "%T: %s", v, is)
	}
	for want, v := range map[string]any{
		"set = code that uses variable factor, which change sets, which cannot be seen: must be made of constants, and of fields": set{},
		"in = code that uses variable factor, which change sets, which cannot be seen":                                            hidden{set{}},
		"asks = code that uses os.Getenv, which cannot be seen":                                                                   &asks{},
		"in = a function that captures n, whose value cannot be seen: must be a method of a type that has it in a field":          hidden{captures1(2)},
	} {
		is := Unseen(Of(v))
		expect.That(t, strings.HasPrefix(is, want), "%q, want %q", is, want)
	}
	sum, unseen := Own(struct{ F, G func() int }{captures1(2), mine{}.Step})
	expect.That(t, sum != "" && unseen == "", "%v, %v", sum, unseen)
}

// A program's own code counts by package, a cell's by declaration.
func TestPrograms(t *testing.T) {
	expect.Long(t, "a program after the other")
	const main = `package main

import (
	"fmt"

	"fedkit.example/fedkit/internal/source"
	"fedkit.example/fedkit/try/own"
)

type base struct{}

func (base) Step() int { return own.Step() + factor }

type mine struct{ base }

var factor = 1

func init() { factor = 2 }

func other() {}

func main() {
	other()
	fmt.Print(source.Of(struct{ Part any }{mine{}}))
}
`
	files := map[string]string{
		"main.go":        main,
		"own/own.go":     "package own\n\nimport _ \"embed\"\n\n//go:embed data/*.txt\nvar text string\n\nfunc Step() int { return len(text) + in() }\n",
		"own/in.go":      "package own\n\nfunc in() int { return 1 }\n",
		"own/data/a.txt": "one",
	}
	root := expect.Value(filepath.Abs("../../.."))(t)
	dir := expect.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	write(t, filepath.Join(dir, "go.mod"), "module fedkit.example/fedkit/try\n\ngo 1.26.5\n")
	write(t, filepath.Join(dir, "go.work"), fmt.Sprintf("go 1.26.5\n\nuse .\nuse %q\n", root))
	begin := time.Now().Add(-time.Hour)
	edit := func(file, old, new string) { // as if the program had been built since
		t.Helper()
		for name, text := range files {
			if name == file {
				expect.Must(t, strings.Contains(text, old), "%v", old)
				text = strings.Replace(text, old, new, 1)
			}
			write(t, filepath.Join(dir, name), text)
			expect.OK(t, os.Chtimes(filepath.Join(dir, name), begin, begin))
		}
	}
	build := func(flags ...string) {
		t.Helper()
		cmd := exec.Command("go", append(append([]string{"build", "-o", "made"}, flags...), ".")...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"), "GOFLAGS=-mod=readonly")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
	says := func(cell bool) string {
		cmd := exec.Command(filepath.Join(dir, "made"))
		cmd.Env = append(os.Environ(), "GONB_PIPE=")
		if cell {
			cmd.Env = append(os.Environ(), "GONB_PIPE=pipe", "GONB_TMP_DIR="+dir)
		}
		_, own, _ := strings.Cut(string(expect.Value(cmd.Output())(t)), "; ")
		return own
	}
	edit("", "", "")
	build()
	program, cell := says(false), says(true)
	expect.Must(t, strings.HasPrefix(program, "own ") && strings.HasPrefix(cell, "own ") && program != cell, "%v, %v", program, cell)
	for _, c := range []struct {
		file, old, new string
		cell           bool // whether a cell's code is another one, too
	}{
		{"main.go", "own.Step() + factor", "own.Step() - factor", true},
		{"main.go", "factor = 2", "factor = 3", true},
		{"main.go", "var factor = 1", "var factor = 4", true},
		{"main.go", "func other() {}", "func other() { _ = 0 }", false},
		{"own/in.go", "return 1", "return 2", true},
		{"own/data/a.txt", "one", "two", true},
	} {
		edit(c.file, c.old, c.new)
		is, also := says(false), says(true)
		expect.That(t, is != program && strings.HasPrefix(is, "own "), "%s: %s", c.new, is)
		expect.That(t, (also != cell) == c.cell && strings.HasPrefix(also, "own "), "%s, a cell: %s", c.new, also)
	}
	edit("main.go", "	other()", "	factor = 5")
	is := says(false)
	expect.That(t, strings.HasPrefix(is, "unseen Part = code that uses variable factor, which main sets, which cannot be seen"), "%v", is)
	edit("", "", "")
	expect.OK(t, os.Chtimes(filepath.Join(dir, "own/in.go"), time.Now(), time.Now().Add(time.Hour)))
	for _, is := range []string{says(false), says(true)} {
		expect.That(t, strings.Contains(is, "in.go, which was changed after the program was built"), "%v", is)
	}
	build("-trimpath")
	is = says(false)
	expect.That(t, is == "unseen Part = code of a program that does not know its files, as after -trimpath: must be built without that", "%v", is)
}

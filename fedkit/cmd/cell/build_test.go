package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// A cell shows its last line if that has a value, which only the compiler knows of other packages' functions. What is wrong is said with
// the line of the cell.
func TestBuild(t *testing.T) {
	t.Setenv("GOWORK", "")
	t.Setenv("GOFLAGS", "-ldflags=-s")
	in := func(last string) cell {
		dir := folder(t, "package main\n\nimport \"runtime\"\n\nfunc main() {\n"+last+"\n}\n")
		t.Chdir(dir)
		return cell{expect.Value(exec.LookPath("go"))(t), dir, []string{"build", "-o", "out"}}
	}
	for last, want := range map[string]string{"runtime.NumCPU() * 0": "0\n", "runtime.GC()": ""} {
		c := in(last)
		expect.Must(t, c.build() == 0, "%s: not built", last)
		got := expect.Value(exec.Command(filepath.Join(c.dir, "out")).Output())(t)
		expect.That(t, string(got) == want, "%s: %q is shown, want %q", last, got, want)
	}
	out, status := in("runtime.Nothing()").compile("main.go", true)
	expect.That(t, status != 0 && strings.Contains(string(out), "main.go:6:9: undefined: runtime.Nothing"), "%d: %s", status, out)
}

// A cell that only declares is compiled and neither linked nor run, unless its variables, or what gives them their values, are not those of
// a cell that ran.
func TestDeclare(t *testing.T) {
	t.Setenv("GOWORK", "")
	t.Setenv("GOFLAGS", "-ldflags=-s")
	const imports = "package main\n\nimport \"flag\"\n\n"
	const start = "type T int\n\nfunc (t *T) Set() { size() }\n\nconst (\n\ta = iota\n\tb\n)\n\nfunc size() int { return b }\n\nvar x = new(T)\n\nfunc init() { x.Set() }\n"
	dir := folder(t, "")
	t.Chdir(dir)
	t.Setenv("GONB_TMP_DIR", dir)
	built := func(declarations, statements string) string {
		expect.OK(t, os.WriteFile("main.go", []byte(imports+declarations+"\nfunc main() { "+statements+" }\n"), 0o600))
		c := cell{expect.Value(exec.LookPath("go"))(t), dir, []string{"build", "-o", filepath.Join(dir, "out")}}
		if c.build() != 0 {
			return "not built"
		}
		out, err := exec.Command(filepath.Join(dir, "out")).CombinedOutput()
		expect.OK(t, err)
		if program := expect.Value(os.ReadFile("out"))(t); strings.HasPrefix(string(program), "#!") {
			return "declared"
		}
		return "run" + string(out)
	}
	for i, c := range []struct{ declarations, statements, want string }{
		{start, "flag.Parse()", "run"},
		{start, "flag.Parse()", "declared"},
		{start + "func more() {}\n", "flag.Parse()", "declared"},
		{start + "func more() { undefined() }\n", "flag.Parse()", "not built"},
		{start + "func more() { println(1) }\n", "flag.Parse(); more()", "run1\n"},
		{start + "var y = []T{1, -2}\n", "flag.Parse()", "declared"},
		{start + "var y = map[string]func() int{\"size\": size, \"none\": func() int { panic(1) }}\n", "flag.Parse()", "declared"},
		{start + "var y = size()\n", "flag.Parse()", "run"},
		{start, "flag.Parse()", "run"},
		{strings.Replace(start, "return b", "return b + 1", 1), "flag.Parse()", "run"},
		{strings.Replace(start, "= iota", "= iota + 1", 1), "flag.Parse()", "run"},
		{strings.Replace(start, "= iota", "= iota + 1", 1), "flag.Parse()", "declared"},
		{"func more() {}\n", "flag.Parse()", "declared"},
	} {
		got := built(c.declarations, c.statements)
		expect.That(t, got == c.want, "%d: %s, want %s", i, got, c.want)
	}
}

package main

import (
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

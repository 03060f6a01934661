package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// What the guide says of a custom program holds: it runs its strategy, and a study knows when its code has changed.
func TestOwnProgram(t *testing.T) {
	expect.Long(t, "a program is built and linked twice")
	page := string(expect.Value(os.ReadFile("../../notebooks/guide/strategies.md"))(t))
	block := func(start string) string {
		found := regexp.MustCompile("(?s)```(?:go|sh)\n(" + regexp.QuoteMeta(start) + ".*?)```").FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("the guide has no code that starts with %q", start)
		}
		return found[1]
	}
	dir, root := t.TempDir(), expect.Value(filepath.Abs("../.."))(t)
	write := func(name, text string) { expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	do := func(name string, args ...string) string {
		c := exec.Command(name, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	write("go.mod", fmt.Sprintf("module example.com/mine\n\ngo 1.26\n\nrequire fedkit.example v0.0.0\n\nreplace fedkit.example => %q\n", root))
	write("go.sum", string(expect.Value(os.ReadFile("../../go.sum"))(t)))
	write("main.go", block("package main"))
	strategy := "package main\n\nimport \"fedkit.example/fedkit\"\n\n" + block("// HalfWay")
	build := func(text string) {
		write("halfway.go", text)
		do("go", "build", "-mod=mod", "-ldflags=-s", "-o", "mine", ".")
	}
	write("halfway.go", strategy)
	t.Setenv("GOFLAGS", "-mod=mod -ldflags=-s -buildvcs=false")
	out := do("sh", "-ec", block("go build -o mine"))
	for _, want := range []string{`"rounds":10`, "0 stored, 2 to run", "2 runs: 2 stored, 0 failed, 0 to run"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s\nwant %s", out, want)
		}
	}
	if out := do("./mine", "study", "half"); !strings.Contains(out, "2 stored, 0 to run") {
		t.Error(out)
	}
	build(strings.Replace(strategy, "Scale(0.5)", "Scale(0.25)", 1))
	if out := do("./mine", "study", "status", "half"); !strings.Contains(out, "1 stored, 0 failed, 1 to run") || !strings.Contains(out, "code of your own") {
		t.Error(out)
	}
}

// --version names a commit that there is.
func TestVersion(t *testing.T) {
	if out := version(); out != "fedkit without a commit (code in a test)" {
		t.Error(out)
	}
	expect.Long(t, "a program is built and linked")
	root := expect.Value(filepath.Abs("../.."))(t)
	if info, err := os.Stat(filepath.Join(root, ".git")); err != nil || !info.IsDir() {
		t.Skip("not in a clone: Go records no commit")
	}
	built := filepath.Join(t.TempDir(), "fedkit")
	do := func(name string, args ...string) string {
		c := exec.Command(name, args...)
		c.Dir = root
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	do("go", "build", "-buildvcs=true", "-ldflags=-s", "-o", built, "./fedkit/cmd/fedkit")
	found := regexp.MustCompile(`^fedkit ([0-9a-f]{12})\+? \(code [0-9a-f]{12}\)\n$`).FindStringSubmatch(do(built, "--version"))
	if found == nil || do("git", "cat-file", "-t", found[1]) != "commit\n" {
		t.Errorf("--version prints %s", do(built, "--version"))
	}
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// TestMain is what go runs its tools by, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "tool-of-cell" {
		fail(runTool(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func TestBuiltAgain(t *testing.T) {
	root, dir, mine := expect.Value(filepath.Abs("../../.."))(t), t.TempDir(), t.TempDir()
	write := func(path, text string) { expect.OK(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(filepath.Join(dir, "go.mod"), "module cell\n\ngo 1.26\n")
	write(filepath.Join(mine, "go.mod"), "module example.com/mine\n\ngo 1.26\n")
	write(filepath.Join(mine, "mine.go"), "package mine\n\nconst Who = \"me\"\n")
	write(filepath.Join(dir, "go.work"), fmt.Sprintf("go 1.26.5\n\nuse (\n\t.\n\t%q\n\t%q\n)\n", root, mine))
	t.Chdir(dir)
	t.Setenv("GONB_TMP_DIR", dir)
	t.Setenv("GOFLAGS", "-ldflags=-s")
	t.Setenv("GOWORK", "")
	c := cell{program: expect.Value(exec.LookPath("go"))(t), dir: dir, args: []string{"build", "-o", "out"}}
	builds := func(imports []string, line, want, how string) {
		t.Helper()
		source := "package main\n\n"
		for _, p := range imports {
			source += fmt.Sprintf("import %q\n", p)
		}
		write(filepath.Join(dir, "main.go"), source+"\nfunc main() { "+line+" }\n")
		before := fmt.Sprint(c.notes())
		if out, status := c.dressed("main.go", true); want == "" {
			if status == 0 || !strings.Contains(string(out), "main.go:") {
				t.Errorf("%d: %s", status, out)
			}
		} else if status != 0 {
			t.Fatalf("%s", out)
		} else if got := string(expect.Value(exec.Command(c.output()).Output())(t)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		got := "noted"
		if fmt.Sprint(c.notes()) == before {
			got = "not noted"
		}
		if how != "" && got != how {
			t.Errorf("%s: %s", line, got)
		}
	}
	for i := range 2 { // the first time, a package may not be in go's cache
		builds([]string{"fmt", "strings", "example.com/mine"}, fmt.Sprintf(`fmt.Print(strings.ToUpper(mine.Who), %d)`, i), fmt.Sprint("ME", i), "")
	}
	both := []string{"fmt", "example.com/mine"}
	builds(both, `fmt.Print("again, ", mine.Who)`, "again, me", "not noted")
	builds(both, `fmt.Print("again, ", mine.What)`, "", "not noted")
	builds([]string{"fmt", "os"}, `fmt.Print(len(os.Args))`, "1", "noted")
	builds([]string{"fmt"}, "f() }\n\n//go:noinline\nfunc f() { fmt.Print(1)", "1", "not noted")
	write(filepath.Join(mine, "mine.go"), "package mine\n\nconst Who = \"another\"\n")
	for i := range 2 {
		builds(both, fmt.Sprintf(`fmt.Print(mine.Who, %d)`, i), fmt.Sprint("another", i), "")
	}
	builds(both, `fmt.Print(1, mine.Who)`, "1another", "not noted")
	expect.OK(t, os.RemoveAll(c.own("importcfg")))
	notes := c.notes()
	notes[0].Link.Config = ""
	expect.OK(t, save(c.own("built.json"), notes))
	builds(both, `fmt.Print(2, mine.Who)`, "2another", "noted") // what is noted does not serve
}

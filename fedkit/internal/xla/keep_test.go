package xla

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/gomlx/gomlx/core/graph"
)

// Another process loads what one has compiled, with the same results; damaged files are made again, and a folder that others can write to
// is not used.
func TestProgramsAreKept(t *testing.T) {
	if os.Getenv("FEDKIT_TEST_CHILD") != "" {
		runChild(t)
		return
	}
	dir := filepath.Join(t.TempDir(), "programs")
	child := func(folder string) (loaded int, result string) {
		t.Helper()
		c := exec.Command(expect.Value(os.Executable())(t), "-test.run", "^TestProgramsAreKept$", "-test.v")
		c.Env = append(os.Environ(), "FEDKIT_TEST_CHILD=1", keptEnv+"="+folder)
		_, said, _ := strings.Cut(string(expect.Value(c.Output())(t)), "loaded ")
		expect.Value(fmt.Sscanf(said, "%d results %s\n", &loaded, &result))(t)
		return loaded, result
	}
	check := func(folder string, want int, result string) string {
		t.Helper()
		loaded, got := child(folder)
		if loaded != want || result != "" && got != result {
			t.Errorf("%d programs loaded with the result %s, want %d with %s", loaded, got, want, result)
		}
		return got
	}
	want := check("off", 0, "")
	check(dir, 0, want)
	check(dir, 2, want)
	files := expect.Value(filepath.Glob(filepath.Join(dir, "*")))(t)
	if len(files) != 2 {
		t.Errorf("files %v, want 2", files)
	}
	for _, damaged := range []func(b []byte) []byte{
		func(b []byte) []byte { b[len(b)-1]++; return b },
		func([]byte) []byte { return []byte(strings.Repeat("fedkit", 100)) },
	} {
		expect.OK(t, os.WriteFile(files[0], damaged(expect.Value(os.ReadFile(files[0]))(t)), 0o600))
		check(dir, 1, want)
		check(dir, 2, want)
	}
	other := expect.Value(os.ReadFile(files[1]))(t)
	expect.OK(t, os.WriteFile(files[1], expect.Value(os.ReadFile(files[0]))(t), 0o600))
	expect.OK(t, os.WriteFile(files[0], other, 0o600))
	check(dir, 0, want) // each is the other's
	expect.OK(t, os.Remove(files[0]))
	expect.OK(t, syscall.Mkfifo(files[0], 0o600))
	check(dir, 1, want)
	check(dir, 2, want)
	expect.OK(t, os.Chmod(dir, 0o777))
	check(dir, 0, want)
	check(files[0], 0, want) // no folder
}

// runChild prints how many of two programs were loaded, and their results.
func runChild(t *testing.T) {
	t.Helper()
	out := expect.Value(NewProgram("kept", func(a []*graph.Node) []*graph.Node {
		x := graph.Sin(graph.Add(a[0], graph.Const(a[0].Graph(), []float32{0.1, 0.2, 0.3})))
		return []*graph.Node{graph.Mul(x, x), graph.ReduceAllSum(graph.Exp(x))}
	}).Call([]float32{1, 2, 3}))(t)
	twice := expect.Value(NewProgram("twice", func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.MulScalar(a[0], 2)} }).Call(out[0]))(t)
	fmt.Printf("loaded %d results", keptLoads.Load())
	sep := " "
	for _, o := range append(out, twice...) {
		fmt.Printf("%s%v", sep, strings.ReplaceAll(fmt.Sprint(expect.Value(Host(o))(t)), " ", ","))
		sep = ","
	}
	fmt.Println()
}

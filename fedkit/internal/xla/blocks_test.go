package xla

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// The memory that blocks.c hands out is nobody else's, in a C program by itself.
func TestBlocks(t *testing.T) {
	cc := expect.Value(exec.Command("go", "env", "CC").Output())(t)
	program := filepath.Join(t.TempDir(), "blocks")
	for _, command := range [][]string{
		{strings.TrimSpace(string(cc)), "-O2", "-Wall", "-Werror", "-pthread", "-o", program, "blocks.c", "testdata/blocks.c"},
		{program},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", command, err, out)
		}
	}
}

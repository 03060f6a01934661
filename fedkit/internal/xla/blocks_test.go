package xla

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// The memory that blocks.c hands out is nobody else's, in a C program by itself.
func TestBlocks(t *testing.T) {
	cc, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		t.Skip(err)
	}
	program := filepath.Join(t.TempDir(), "blocks")
	for _, command := range [][]string{
		{string(cc[:len(cc)-1]), "-O2", "-Wall", "-Werror", "-pthread", "-o", program, "blocks.c", "testdata/blocks.c"},
		{program},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", command, err, out)
		}
	}
}

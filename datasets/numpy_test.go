package datasets

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// numpy returns the lines that a script prints, run with the Python that FEDKIT_PYTHON names, which has NumPy.
func numpy(t *testing.T, script string, args ...string) []string {
	t.Helper()
	python := os.Getenv("FEDKIT_PYTHON")
	if python == "" {
		t.Skip("FEDKIT_PYTHON does not name a Python with NumPy")
	}
	out, err := exec.CommandContext(t.Context(), python, append([]string{"-c", script}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

package weights_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
)

// python runs a script with the Python that FEDKIT_PYTHON names, which has pandas and safetensors.
func python(t *testing.T, script string, args ...string) string {
	t.Helper()
	interpreter := os.Getenv("FEDKIT_PYTHON")
	if interpreter == "" {
		t.Skip("FEDKIT_PYTHON does not name a Python with pandas and safetensors")
	}
	out, err := exec.CommandContext(t.Context(), interpreter, append([]string{"-c", script}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func digits(t *testing.T, clients int, m fedkit.Model) *fedkit.Federation {
	t.Helper()
	return expect.Value(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: clients, Alpha: 0.5}, m))(t)
}

func host(t *testing.T, m *fedkit.Matrix) []float32 {
	t.Helper()
	return expect.Value(m.Host())(t)
}

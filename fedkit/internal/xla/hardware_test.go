package xla

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

func TestHardware(t *testing.T) {
	model, more := processorIn(strings.NewReader("processor\t: 0\ncpu family\t: 6\nmodel name\t: Xeon\nflags\t\t: fpu\n\nmodel name\t: another\n"))
	if model != "Xeon" || more != "c6" {
		t.Errorf("%q, %q", model, more)
	}
	if model, _ := processorIn(strings.NewReader("")); model != runtime.GOARCH {
		t.Errorf("nothing is known: %q", model)
	}
	if one, two := Processors("Xeon", 1), Processors("Xeon", 2); one != "Xeon, 1 processor" || two != "Xeon, 2 processors" {
		t.Errorf("%q, %q", one, two)
	}
	if h := Hardware(); OnCPU() && !strings.Contains(h, " processor") {
		t.Errorf("%q", h)
	}
}

func TestModelsOfGPUs(t *testing.T) {
	folder := t.TempDir()
	for gpu, model := range map[string]string{"0000:01:00.0": "NVIDIA H100", "0000:02:00.0": "NVIDIA H100", "0000:03:00.0": "NVIDIA A100"} {
		path := filepath.Join(folder, gpu, "information")
		expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		expect.OK(t, os.WriteFile(path, []byte("Model: \t\t "+model+"\nIRQ:   \t\t 42\n"), 0o666))
	}
	if got := modelsIn(folder); !slices.Equal(got, []string{"NVIDIA A100", "NVIDIA H100"}) {
		t.Errorf("%q", got)
	}
	if got := modelsIn(filepath.Join(folder, "none")); got != nil {
		t.Errorf("%q", got)
	}
}

package xla

import (
	"fmt"
	"os"
	"os/exec"
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

// XLA computes with as many threads as Threads says: those that NPROC asks for, or else the processors that Go may use, which a quota limits.
func TestThreads(t *testing.T) {
	if os.Getenv("FEDKIT_TEST_CHILD") != "" {
		expect.Value(Backend())(t)
		started := 0
		for _, task := range expect.Value(filepath.Glob("/proc/self/task/*/comm"))(t) {
			if name, _ := os.ReadFile(task); string(name) == "tf_XLAEigen\n" {
				started++
			}
		}
		fmt.Printf("threads %d %d\n", Threads(), started)
		return
	}
	if !OnCPU() || runtime.GOOS != "linux" {
		t.Skip("counts the threads of the CPU's plugin in /proc")
	}
	all := runtime.NumCPU()
	for env, want := range map[string]int{
		"GOMAXPROCS=1": 1, "GOMAXPROCS=1000": all, "GOMAXPROCS=1 NPROC=2": 2, "NPROC=3": 3, "NPROC=3 PJRT_NPROC=5": 5, "NPROC=0": 1, "NPROC=many": all,
	} {
		c := exec.Command(expect.Value(os.Executable())(t), "-test.run", "^TestThreads$")
		c.Env = append(os.Environ(), "FEDKIT_TEST_CHILD=1", "GOMAXPROCS=", "NPROC=", "PJRT_NPROC=")
		c.Env = append(c.Env, strings.Fields(env)...)
		var said, started int
		_, out, _ := strings.Cut(string(expect.Value(c.Output())(t)), "threads ")
		if _, err := fmt.Sscan(out, &said, &started); err != nil || said != want || started != want {
			t.Errorf("%s: %d threads said and %d started, want %d", env, said, started, want)
		}
	}
}

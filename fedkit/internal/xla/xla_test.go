package xla_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

func TestMain(m *testing.M) {
	if os.Getenv("FEDKIT_TEST_OPEN") != "" { // a separate process, since a backend is opened only once
		_, err := xla.Backend()
		fmt.Println(errors.Is(err, xla.ErrNoPlugin), err)
		syscall.Exit(0)
	}
	// Under the race detector the plugin's destructors abort when the process exits normally.
	syscall.Exit(m.Run())
}

func TestMissingPlugin(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string][]string{
		"none installed": {"GOMLX_BACKEND=", "HOME=" + t.TempDir(), "PJRT_PLUGIN_LIBRARY_PATH=" + t.TempDir()},
		"no such file":   {"GOMLX_BACKEND=xla:/no/such/plugin.so"},
		"no such device": {"GOMLX_BACKEND=xla:abacus"},
		"other backend":  {"GOMLX_BACKEND=abacus"},
	} {
		c := exec.Command(self)
		c.Env = append(append(os.Environ(), "FEDKIT_TEST_OPEN=1"), env...)
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "true no XLA device") || !strings.Contains(string(out), "./scripts/lab") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if n := strings.Count(string(out), "\n"); n > 3 {
			t.Errorf("%s: the error has %d lines: %s", name, n, out)
		}
	}
}

// The CPU plugin has at least one thread per device, so several devices would oversubscribe a small machine.
func TestCPUIsOneDevice(t *testing.T) {
	b, err := xla.Backend()
	if err != nil {
		t.Fatal(err)
	}
	if xla.OnCPU() && b.NumDevices() != 1 {
		t.Errorf("the CPU shows %d devices, want 1", b.NumDevices())
	}
}

func TestProgram(t *testing.T) {
	p := xla.NewProgram("double", func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.Add(a[0], a[0])} })
	before := xla.Compilations()
	for range 3 {
		out, err := p.Call([]float32{1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := xla.Host(out[0]); err != nil || v[2] != 6 {
			t.Errorf("%v, %v", v, err)
		}
	}
	if n := xla.Compilations() - before; n != 1 {
		t.Errorf("%d compilations for one shape, want 1", n)
	}
	bad := xla.NewProgram("bad", func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.Add(a[0], a[1])} })
	_, err := bad.Call([]float32{1, 2}, []float32{1, 2, 3})
	if err == nil || !strings.Contains(err.Error(), `program "bad"`) {
		t.Errorf("error %v for a program that cannot be built", err)
	}
}

func TestUploadChecksItsSize(t *testing.T) {
	if _, err := xla.Upload([]int32{1, 2, 3}, 2, 2); err == nil {
		t.Error("3 values filled a shape of 4")
	}
	u, err := xla.Upload([]float32{1, 2, 3, 4}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := xla.Host(u); err != nil || v[3] != 4 {
		t.Errorf("%v, %v", v, err)
	}
	xla.Free(u, nil)
}

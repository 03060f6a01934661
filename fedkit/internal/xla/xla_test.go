package xla_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/plugins"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
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

// A plugin that cannot be opened gives a short error with advice, and a damaged file does not end the process.
func TestMissingPlugin(t *testing.T) {
	self := expect.Value(os.Executable())(t)
	dir := t.TempDir()
	text, part := filepath.Join(dir, "text.so"), filepath.Join(dir, "pjrt_c_api_cpu_v0.104.0_plugin.so")
	program, err := os.ReadFile(self)
	for path, b := range map[string][]byte{text: []byte("#!/bin/sh\nexec plugin \"$@\"\n"), part: program[:len(program)/2]} {
		err = errors.Join(err, os.WriteFile(path, b, 0o777))
	}
	expect.OK(t, err)
	none := []string{"HOME=" + t.TempDir(), "PJRT_PLUGIN_LIBRARY_PATH=" + t.TempDir()}
	for name, test := range map[string]struct {
		backend string
		want    string
		env     []string
	}{
		"none installed": {"", `"xla:cpu": ` + self + ` finds no XLA plugin: run ./scripts/lab once to install it here, ./scripts/study --build DIR for a folder with both that other machines can use, or set GOMLX_BACKEND to xla:/path/to/plugin.so (`, none},
		"no such file":   {"xla:/no/such/plugin.so", `: no such file or directory`, nil},
		"relative":       {"xla:./plugin.so", `: the plugin's path must be absolute`, nil},
		"a folder":       {"xla:" + dir, `: it is a folder`, nil},
		"no library":     {"xla:" + text, `: it is no shared library, or was cut off: bad magic number`, nil},
		"half a library": {"xla:" + part, `: it is no shared library, or was cut off: `, nil},
		"half the CPU's": {"", `"xla:cpu": the plugin ` + part + ` cannot be used: it is no shared library, or was cut off: `, []string{"PJRT_PLUGIN_LIBRARY_PATH=" + dir}},
		"no such device": {"xla:abacus", `: a plugin's name is cpu or cuda, or set GOMLX_BACKEND to `, nil},
		"other backend":  {"abacus", `: must be xla:cpu, xla:cuda or xla:/path/to/plugin.so`, nil},
		"interpreter":    {"go", `: must be xla:cpu, xla:cuda or xla:/path/to/plugin.so`, nil},
		"no CUDA plugin": {"xla:cuda,tf32=true", `: XLA's CUDA plugin is not installed: on a machine with an NVIDIA driver, GOMLX_BACKEND=xla:cuda ./scripts/lab setup `, none},
	} {
		if runtime.GOOS+runtime.GOARCH != "linuxamd64" && (strings.Contains(test.want, "library") || strings.Contains(test.want, "CUDA")) {
			continue
		}
		c := exec.Command(self)
		c.Env = append(append(os.Environ(), "FEDKIT_TEST_OPEN=1", "GOMLX_BACKEND="+test.backend), test.env...)
		out, err := c.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "true no XLA device: GOMLX_BACKEND = ") || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if n := strings.Count(string(out), "\n"); n > 3 {
			t.Errorf("%s: the error has %d lines: %s", name, n, out)
		}
	}
}

// A plugin beside the program is found where none is installed.
func TestPluginBesideTheProgram(t *testing.T) {
	installed := plugins.Installed()
	if !xla.OnCPU() || len(installed) == 0 {
		t.Skip("not with a plugin that is installed for the CPU")
	}
	dir := filepath.Join(t.TempDir(), "cuda programs")
	self := filepath.Join(dir, "program")
	expect.OK(t, os.Mkdir(dir, 0o777))
	program, err := os.ReadFile(expect.Value(os.Executable())(t))
	expect.OK(t, errors.Join(err, os.WriteFile(self, program, 0o777), os.Symlink(installed[0], filepath.Join(dir, filepath.Base(installed[0])))))
	c := exec.Command(self)
	c.Env = []string{"FEDKIT_TEST_OPEN=1", "HOME=/nonexistent"}
	out, err := c.CombinedOutput()
	if err != nil || string(out) != "false <nil>\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// The CPU plugin has at least one thread per device, so more devices than threads would oversubscribe a small machine.
func TestCPUHasADevicePerThread(t *testing.T) {
	b := expect.Value(xla.Backend())(t)
	if want := min(xla.Threads(), 8); xla.OnCPU() && (b.NumDevices() != want || xla.Devices() != want) {
		t.Errorf("the CPU shows %d devices, of which %d are used, want %d", b.NumDevices(), xla.Devices(), want)
	}
}

// Calls at the same time run on other devices. Results are arguments on all of them, and stay right when their memory is freed.
func TestCallsAtTheSameTime(t *testing.T) {
	p := xla.NewProgram("add one", func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.Add(a[0], a[1]), graph.Neg(a[2])} })
	none := expect.Value(xla.Upload([]float32{}, 0))(t)
	var calls sync.WaitGroup
	start := expect.Value(xla.Upload([]float32{0, 1, 2}, 3))(t)
	ends := make([]*tensors.Tensor, 16)
	for i := range ends {
		calls.Go(func() {
			at := start
			for range 100 {
				out, err := p.Call(at, []float32{1, 1, 1}, none)
				if err != nil {
					t.Error(err)
					return
				}
				if at != start {
					xla.Free(at)
				}
				at = out[0]
			}
			ends[i] = at
		})
	}
	calls.Wait()
	for i, end := range ends {
		next := expect.Value(p.Call(end, []float32{1, 1, 1}, none))(t)
		for j, want := range []float32{101, 102, 103} {
			raw := expect.Value(xla.HostBytes(end))(t)
			v := expect.Value(xla.Host(next[0]))(t)
			expect.That(t, v[j] == want && len(raw) == 12, "call %d: %v, want %v", i, v, want)
		}
	}
}

func TestProgram(t *testing.T) {
	p := xla.NewProgram("double", func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.Add(a[0], a[0])} })
	before := xla.Compilations()
	for range 3 {
		out := expect.Value(p.Call([]float32{1, 2, 3}))(t)
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
	u := expect.Value(xla.Upload([]float32{1, 2, 3, 4}, 2, 2))(t)
	if v, err := xla.Host(u); err != nil || v[3] != 4 {
		t.Errorf("%v, %v", v, err)
	}
	xla.Free(u, nil)
}

package fleet

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

// peak returns the most memory that a process has had, in MB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("needs Linux: ", err)
	}
	found := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(b)
	kB, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kB >> 10
}

// A 500 MB model travels to a worker as an object; its successor is kept, used and read back there, in bounded memory.
func TestLargeModel(t *testing.T) {
	if os.Getenv("FEDKIT_FAULTS") == "" {
		t.Skip("moves gigabytes: runs with the long campaign of faults, FEDKIT_FAULTS=200")
	}
	const n = 125e6
	c := &crowd{T: t, dir: t.TempDir()}
	f, err := Local(1, LocalOptions{Dir: c.dir, Idle: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	worker := f.Workers()[0].PID
	d := device1(t, f)
	x := large(t, 1.5, n)
	defer xla.Free(x)
	before, hub := peak(t, os.Getpid()), peak(t, c.hubPID())

	begin := time.Now()
	out, err := d.Run(t.Context(), double, []any{x})
	if err != nil {
		t.Fatal(err)
	}
	there := time.Since(begin)
	if !out[0].Remote() {
		t.Fatal("it has come back")
	}
	begin = time.Now()
	sum, err := out[0].Then(xla.NewProgram("sum", func(a []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.ReduceAllSum(graph.Slice(a[0], graph.AxisRange(0, 1000)))}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := sum[0].Tensor(); err != nil || s.Value() != float32(3000) {
		t.Errorf("the sum of a thousand is %v (%v), want 3000", s, err)
	}
	mixed := time.Since(begin)
	begin = time.Now()
	y, err := out[0].Tensor()
	if err != nil {
		t.Fatal(err)
	}
	back := time.Since(begin)
	values, err := xla.Host(y)
	if err != nil || len(values) != n || values[0] != 3 || values[n-1] != 3 {
		t.Fatalf("%d values (%v)", len(values), err)
	}
	out[0].Free()
	t.Logf("there in %v, a program on it in %v, back in %v; hub: %d MB, before %d; this process: %d MB, before %d; worker: %d MB",
		there, mixed, back, peak(t, c.hubPID()), hub, peak(t, os.Getpid()), before, peak(t, worker))
	if most := hub + 256; peak(t, c.hubPID()) > most {
		t.Errorf("the hub took %d MB, want at most %d", peak(t, c.hubPID()), most)
	}
	if most := before + 4*500; peak(t, os.Getpid()) > most {
		t.Errorf("this process took %d MB, want at most %d", peak(t, os.Getpid()), most)
	}
	if most := 4*500 + 256; peak(t, worker) > most {
		t.Errorf("the worker took %d MB, want at most %d", peak(t, worker), most)
	}
	if received, sent := f.Bytes(); received > 505e6 || sent > 505e6 {
		t.Errorf("%d bytes were sent and %d received, want 500 MB each", sent, received)
	}
}

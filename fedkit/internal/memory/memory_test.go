package memory

import (
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

func TestMemoryOfThisMachine(t *testing.T) {
	if free := Available(); !(free > 1<<20) || free > Unknown {
		t.Errorf("%v bytes are free", free)
	}
}

// Memory that a container uses is not free; what Linux would reclaim is.
func TestMemoryOfAContainer(t *testing.T) {
	const none = "9223372036854771712\n" // version 1 without a limit
	for name, c := range map[string]struct {
		files map[string]string
		want  float64
	}{
		"no files":   {nil, math.Inf(1)},
		"no limit":   {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.current": "500\n"}, math.Inf(1)},
		"limit only": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"}, 1000},
		"version 2": {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "1000\n", "sys/fs/cgroup/a/memory.current": "700\n",
			"sys/fs/cgroup/a/memory.stat": "anon 400\nactive_file 100\ninactive_file 200\n"}, 500},
		"a group above": {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/b/memory.current": "700\n",
			"sys/fs/cgroup/a/memory.max": "2000\n", "sys/fs/cgroup/a/memory.current": "1900\n"}, 100},
		"more than allowed": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "1100\n"}, 0},
		"version 1": {map[string]string{"proc/self/cgroup": "5:cpu,memory:/a\n1:name=systemd:/\n0::/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": none,
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "900\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1000\n",
			"sys/fs/cgroup/memory/a/memory.usage_in_bytes": "800\n", "sys/fs/cgroup/memory/a/memory.stat": "inactive_file 1\ntotal_inactive_file 300\n"}, 500},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
			expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
		}
		if got := cgroupsLeave(root); got != c.want {
			t.Errorf("%s: %v bytes are left, want %v", name, got, c.want)
		}
	}
}

// What the device frees stays with this process for the next program, and Settle returns it to the system.
func TestSettleReturnsWhatTheDeviceFreed(t *testing.T) {
	resident := func() float64 {
		kB, known := number("/proc/self/smaps_rollup", "Rss:")
		if !known || !xla.OnCPU() {
			t.Skip("needs Linux, and a device that takes its memory from malloc")
		}
		return kB / 1024
	}
	const mb = 256
	before := resident()
	large := xla.NewProgram("large", func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.BroadcastToDims(a[0], mb<<18)} })
	xla.Free(expect.Value(large.Call(float32(1)))(t)...)
	kept := resident()
	Settle()
	if after := resident(); kept-before < mb || after-before > mb/2 {
		t.Errorf("%.0f MB, then %.0f, and %.0f after Settle", before, kept, after)
	}
}

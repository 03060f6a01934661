package memory

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

func TestMemoryOfThisMachine(t *testing.T) {
	free := Available()
	expect.That(t, free > 1<<20 && free <= room.Unknown, "%v bytes are free", free)
}

// What the device frees may stay with this process for the next program. Settle returns it to the system.
func TestSettleReturnsWhatTheDeviceFreed(t *testing.T) {
	resident := func() float64 {
		var kB float64
		text, _ := os.ReadFile("/proc/self/smaps_rollup")
		if _, rss, found := strings.Cut(string(text), "Rss:"); !found || !xla.OnCPU() {
			t.Skip("needs Linux, and a device that takes its memory from malloc")
		} else {
			expect.Value(fmt.Sscan(rss, &kB))(t)
		}
		return kB / 1024
	}
	const mb = 256
	before := resident()
	large := xla.NewProgram("large", func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.BroadcastToDims(a[0], mb<<18)} })
	xla.Free(expect.Value(large.Call(float32(1)))(t)...)
	kept := resident()
	Settle()
	after := resident()
	expect.That(t, after-before <= mb/2, "%.0f MB, then %.0f, and %.0f after Settle", before, kept, after)
}

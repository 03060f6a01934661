package xla

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
)

// Threads that run programs share one pool of memory. Each further one of glibc's is 64 MiB of addresses at a multiple of that, of which a part
// is in use.
func TestThreadsShareOneArena(t *testing.T) {
	if os.Getenv("MALLOC_ARENA_MAX") != "" {
		t.Skip("MALLOC_ARENA_MAX says how many there are")
	}
	p := NewProgram("double", func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.MulScalar(a[0], 2)} })
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			out, err := p.Call([]float32{1, 2, 3})
			if err != nil {
				t.Error(err)
			}
			Free(out...)
		})
	}
	all.Wait()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	var before uint64 // the end of what may be the part in use of an arena
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil {
			t.Fatal(err)
		}
		if mode == "---p" && from == before && to%size == 0 && from/size == (to-1)/size {
			t.Errorf("there is another arena, which ends at %s", line)
		}
		before = 0
		if mode == "rw-p" && from%size == 0 && from > 0x7f0000000000 { // Go's own are below
			before = to
		}
	}
}

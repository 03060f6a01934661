package fedkit

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gomlx/go-xla/pjrt"
)

// After 2,000 rounds with checkpoints and a streamed history, a run has no more memory than after 200, on the host and on
// the device, but for the history and what selectors know of the clients.
func TestLongRunsNeedNoMoreMemory(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	var bytes [2]float64
	var buffers [2]int64
	for i, rounds := range []int{200, 2000} {
		dir := t.TempDir()
		u, err := begin(fed, trained(), Options{Rounds: rounds, EvalEvery: 20, Checkpoint: filepath.Join(dir, "c"), CheckpointEvery: 10, History: filepath.Join(dir, "h")})
		if err != nil {
			t.Fatal(err)
		}
		for err = u.start(context.Background()); err == nil && len(u.h.Rounds) < rounds; {
			err = u.round(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := u.files.Finish(nil); err != nil {
			t.Fatal(err)
		}
		u.h.Rounds, u.past = nil, nil
		for range 3 { // what finalizers free counts too
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		bytes[i], buffers[i] = float64(m.HeapAlloc), pjrt.BuffersAlive()
		u.release()
	}
	t.Logf("%.2f and %.2f MB, %d and %d buffers", bytes[0]/1e6, bytes[1]/1e6, buffers[0], buffers[1])
	if bytes[1] > 1.05*bytes[0] || buffers[1] > buffers[0] {
		t.Errorf("after 2000 rounds there are %.0f bytes and %d buffers on the device, after 200 there were %.0f and %d", bytes[1], buffers[1], bytes[0], buffers[0])
	}
}

package fedkit_test

import (
	"context"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/go-xla/pjrt"
)

// meter is a watcher that measures what a run holds after some of its rounds.
type meter struct {
	after   []int
	enough  float64 // bytes beyond those after the first of the rounds that it does not wait to see go
	bytes   []float64
	buffers []int64
}

func (m *meter) Round(h *fedkit.History, _ int) {
	if !slices.Contains(m.after, len(h.Rounds)) {
		return
	}
	least := math.Inf(1)
	for i := 0; i < 5 || i < 2000 && len(m.bytes) > 0 && least > m.bytes[0]+m.enough; i++ { // finalizers free some later, and others hold some for a moment
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		least = min(least, float64(s.HeapAlloc))
		time.Sleep(5 * time.Millisecond)
	}
	m.bytes, m.buffers = append(m.bytes, least), append(m.buffers, pjrt.BuffersAlive())
}

func (*meter) Done(*fedkit.History, error) {}

// A run of 1,000 clients whose history keeps little, with a selector that ranks them, checkpoints and a streamed history, takes less
// than a kilobyte per round on the host, for the round's record, and nothing on the device.
func TestLongRunsNeedNoMoreMemory(t *testing.T) {
	fed := expect.Value(fedtest.Quadratic(slices.Repeat([]int{4}, 1000)...))(t)
	const first, last = 200, 2000
	dir, m := t.TempDir(), &meter{after: []int{first, last}, enough: 1000 * (last - first)}
	s := &strategy.FedAvg{Fraction: 0.03, Selector: selection.Fair{Quota: 0.5, Then: selection.Hybrid{}}, Local: fedkit.Local{Batch: 4, LR: 1e-8}}
	expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: last, EvalEvery: 100, Watch: m,
		Keep:       fedkit.Keep{Scores: fedkit.Never, Results: fedkit.Never, Clusters: fedkit.Never, Absences: fedkit.Never},
		Checkpoint: filepath.Join(dir, "c"), CheckpointEvery: 10, History: filepath.Join(dir, "h")}))(t)
	perRound := (m.bytes[1] - m.bytes[0]) / (last - first)
	t.Logf("%.2f MB, then %.0f bytes per round; %d and %d buffers", m.bytes[0]/1e6, perRound, m.buffers[0], m.buffers[1])
	if perRound > 1000 || m.buffers[1] > m.buffers[0] {
		t.Errorf("a round adds %.0f bytes; there are %d buffers on the device after round %d and %d after round %d", perRound, m.buffers[0], first, m.buffers[1], last)
	}
}

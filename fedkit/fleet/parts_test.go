package fleet

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/remote"
	"github.com/gomlx/compute/dtypes"
	"github.com/nats-io/nats.go"
)

// hub starts a hub in this process.
func startHub(t *testing.T, o HubOptions) *Hub {
	t.Helper()
	if o.File == "" {
		o.File = filepath.Join(t.TempDir(), "fleet.json")
	}
	h, err := StartHub(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func join(t *testing.T, file string) *Fleet {
	t.Helper()
	f, err := Join(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func hubAndFleet(t *testing.T) (*Hub, *Fleet) {
	t.Helper()
	h := startHub(t, HubOptions{})
	return h, join(t, h.File())
}

// workers waits until there are n.
func workers(t *testing.T, f *Fleet, n int) {
	t.Helper()
	if err := f.Wait(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// startWorker starts a worker in this process, after a change to it. Kill ends it silently, like a killed process.
func startWorker(t *testing.T, file string, o WorkerOptions, change func(w *worker)) (w *worker, kill func()) {
	t.Helper()
	w, err := newWorker(file, o)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(w)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.run(ctx) }()
	kill = func() {
		w.nc.Close()
		cancel()
	}
	t.Cleanup(func() {
		kill()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("a worker does not end")
		}
	})
	return w, kill
}

// before lets a worker do something before each call.
func before(do func(ctx context.Context, c *remote.Call)) func(w *worker) {
	return func(w *worker) {
		honest := w.perform
		w.perform = func(ctx context.Context, c *remote.Call, queued bool) *remote.Answer {
			do(ctx, c)
			return honest(ctx, c, queued)
		}
	}
}

// running runs double, and returns how that ends.
func running(ctx context.Context, d engine.Device) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := d.Run(ctx, double, []any{float32(1)})
		ended <- err
	}()
	return ended
}

// lying computes wrong results.
func lying(w *worker) {
	honest := w.perform
	w.perform = func(ctx context.Context, c *remote.Call, queued bool) *remote.Answer {
		for _, a := range c.Args {
			for i, p := range a.Parts {
				if b := slices.Clone(p.Data); a.Type == dtypes.Float32 {
					for i := 1; i < len(b); i += 4 {
						b[i] ^= 0x40
					}
					a.Parts[i].Data = b
				}
			}
		}
		return honest(ctx, c, queued)
	}
}

// usualLimits lets small results return with the answer, as outside tests.
func usualLimits(t *testing.T) {
	a, b := small, tiny
	t.Cleanup(func() { small, tiny = a, b })
	small, tiny = 32<<10, 2<<10
}

// wait waits until a condition holds.
func wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("in vain waited for:", what)
		}
	}
}

// pretend sends heartbeats of a worker that does not exist, of this process's kind.
func pretend(t *testing.T, nc *nats.Conn, name string) {
	t.Helper()
	kind, err := thisKind()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(WorkerInfo{Worker: name, Slots: 1, Protocol: remote.Protocol, Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for ; t.Context().Err() == nil && nc.Publish(beats+name, b) == nil; time.Sleep(beat) {
		}
	}()
}

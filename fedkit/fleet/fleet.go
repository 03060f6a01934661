// Package fleet runs the programs of runs on many machines and GPUs, over NATS.
//
//	f, err := fleet.Join("fleet.json")
//	h, err := fedkit.Run(ctx, fed, avg, fedkit.Options{Rounds: 100, Fleet: f})
//
// A hub relays messages (./scripts/hub), and workers run programs (./scripts/worker fleet.json, on any machine). Local starts
// both on this machine. Workers know nothing of federated learning: they receive programs and arguments, by hash, and keep the
// resulting models until these are mixed or fetched. So every strategy and every model of your own runs on them.
//
// Histories and States have the same bytes without a fleet and with any number of workers of one Platform, whichever are killed
// meanwhile: clients are grouped here, a group is one call, and means are added up in a fixed order.
//
// Anyone with the file can run any XLA program on the workers: trust them as you trust those with a shell there. Workers have
// their own file, and the guide (notebooks/guide/fleet.md) says what it allows.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fedkit.example/fedkit/internal/engine"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// Fleet is a hub and its workers, as this process sees them. It is an option of runs: fedkit.Options{Fleet: f}. Runs share it
// fairly.
type Fleet struct {
	// Mixed allows workers of different kinds in one run. Its bytes then depend on which worker ran what. Default: runs are
	// refused while there are workers of different kinds.
	Mixed bool
	// Audit is the share of calls that a second worker computes too before their results are used, in [0, 1]. A worker whose results
	// are wrong is detected and left out. Calls that are computed twice for other reasons are always compared. Default 0.
	Audit float64
	// Timeout is how long to wait for the hub, and for a first worker. Default 30 s.
	Timeout time.Duration

	file string
	name string // of this notebook
	nc   *nats.Conn

	runs    atomic.Int64
	pending atomic.Int64 // bytes that workers keep since the last garbage collection
	tried   sync.Map     // of chan struct{}, by program: closed once a worker has answered a call of it
	seats   seats
	store   store

	mu      sync.Mutex
	workers map[string]*member
	there   context.Context    // until the hub is lost; another one once it is back
	away    context.CancelFunc // ends it
	ctx     context.Context    // until Close
	tell    context.CancelFunc
	events  []string
}

var (
	// ErrNoWorker says that there is no worker to run programs.
	ErrNoWorker = errors.New("no worker")
	// ErrNoHub says that the hub cannot be reached.
	ErrNoHub = errors.New("no hub")
)

// newName returns a name that is unique across processes and cannot be guessed.
func newName() string { return nuid.New().Next()[:12] }

// Join connects to the fleet of a file that a hub has written.
func Join(file string) (*Fleet, error) {
	t, err := readTicket(file)
	if err != nil {
		return nil, err
	}
	f := &Fleet{file: file, name: newName(), workers: map[string]*member{}}
	f.seats.free, f.seats.any = f.free, f.any
	f.store.fleet, f.store.desk = f, hubDesk
	f.ctx, f.tell = context.WithCancel(context.Background())
	f.here()
	f.nc, err = t.connectNotebook(nats.Name("notebook"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the waiting caller gets the error
		nats.DisconnectErrHandler(func(*nats.Conn, error) { f.lostHub() }), nats.ReconnectHandler(func(*nats.Conn) { f.here() }))
	if err != nil {
		return nil, err
	}
	if !t.ofHub() {
		err = f.ownDesk()
	}
	if err == nil {
		_, err = f.nc.Subscribe(beats+"*", f.onBeat)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("fleet: %w", err)
	}
	go f.watch()
	return f, nil
}

// ownDesk starts a desk of this process, for a server that has none.
func (f *Fleet) ownDesk() error {
	dir, err := os.MkdirTemp("", "fedkit-desk-")
	if err != nil {
		return err
	}
	context.AfterFunc(f.ctx, func() { _ = os.RemoveAll(dir) })
	f.store.desk = f.name
	return serve(f.nc, f.name, dir, hubDisk)
}

// File returns the path of the fleet's file, for other programs to join.
func (f *Fleet) File() string { return f.file }

// Close leaves the fleet. The hub and the workers stay.
func (f *Fleet) Close() {
	f.tell()
	f.nc.Close()
}

// Open implements fedkit.Machines.
func (f *Fleet) Open(ctx context.Context) (engine.Device, func(), error) {
	if !(f.Audit >= 0 && f.Audit <= 1) {
		return nil, nil, fmt.Errorf("fleet: Audit = %v: want a part, in [0, 1]", f.Audit)
	}
	kinds, err := f.choose(ctx)
	if err != nil {
		return nil, nil, err
	}
	d := &device{fleet: f, kinds: kinds, prefix: fmt.Sprintf("%s.%d.", f.name, f.runs.Add(1)), line: new(line)}
	d.ctx, d.cancel = context.WithCancel(ctx)
	return d, d.leave, nil
}

// Bytes returns how many bytes this process has received from the hub and sent to it, without what TLS adds.
func (f *Fleet) Bytes() (received, sent uint64) {
	s := f.nc.Stats()
	return s.InBytes, s.OutBytes
}

// String summarizes workers, traffic and events in one line.
func (f *Fleet) String() string {
	f.mu.Lock()
	busy, n := 0, 0
	for w := range f.counting() {
		if n++; len(w.Doing) > 0 {
			busy++
		}
	}
	events := slices.Clone(f.events)
	kinds := len(f.kinds())
	f.mu.Unlock()
	received, sent := f.Bytes()
	s := fmt.Sprintf("%d workers, %d at work, %s sent, %s received", n, busy, bytesText(sent), bytesText(received))
	if kinds > 1 {
		s += fmt.Sprintf(", of %d kinds", kinds)
	}
	if len(events) > 0 {
		s += "; " + strings.Join(events, "; ")
	}
	return s
}

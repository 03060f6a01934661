package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit/internal/remote"
	"fedkit.example/fedkit/internal/xla"
	"github.com/nats-io/nats.go"
)

// WorkerOptions configure a worker. The zero value is ready to use.
type WorkerOptions struct {
	Slots  int                           // concurrent programs; default: half of the processors that it may run on, at least one; 1 on a GPU
	Memory int64                         // limit on the bytes of objects and results that it keeps; default 4 GB
	Idle   time.Duration                 // time without a notebook after which the worker exits; default: never
	Logf   func(format string, a ...any) // receives log lines; default: none

	number int // from 1, of a worker that Local started
}

// WorkerInfo is a worker's heartbeat, sent twice a second.
type WorkerInfo struct {
	Worker   string   // its name
	Host     string   // name of the machine
	PID      int      // of its process
	Number   int      `json:",omitempty"` // from 1, of a worker that Local started
	Protocol int      // version of the message format
	Kind     Platform // device, plugin and processors, which decide how it rounds
	Slots    int      // calls that it runs at once
	Doing    []string // calls that it runs or prepares
	Programs []string // their programs, in the same order
	Waiting  []string `json:",omitempty"` // queued calls, if notebooks share the worker
	Leaving  bool     `json:",omitempty"` // it exits, and leaves its calls to others
	Bytes    int64    // that it keeps
	Done     int64    // calls finished
}

var (
	// ErrLeft says that a worker was told to leave.
	ErrLeft = errors.New("told to leave")
	// ErrIdle says that a worker exited because no notebook was there.
	ErrIdle = errors.New("nobody was there")
)

// RunWorker makes this process a worker of the fleet of a file, until ctx ends: it runs the programs it receives, without knowing
// what they are for, and keeps their results until they are requested. If the hub is lost, it waits.
func RunWorker(ctx context.Context, file string, o WorkerOptions) error {
	w, err := newWorker(file, o)
	if err != nil {
		return err
	}
	return w.run(ctx)
}

// newWorker returns a worker that is connected.
func newWorker(file string, o WorkerOptions) (*worker, error) {
	t, err := readTicket(file)
	if err != nil {
		return nil, err
	}
	kind, err := thisKind()
	if err != nil {
		return nil, fmt.Errorf("fleet: worker: %w", err)
	}
	client, err := xla.NewClient()
	if err != nil {
		return nil, fmt.Errorf("fleet: worker: %w", err)
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if o.Slots == 0 {
		if o.Slots = 1; xla.OnCPU() {
			o.Slots = max(1, runtime.NumCPU()/2)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	o.Memory = cmp.Or(o.Memory, 4<<30)
	w := &worker{memory: o.Memory, idle: o.Idle, last: time.Now(), say: o.Logf, places: make(chan struct{}, o.Slots+1), jobs: map[string]*job{}, lastBeats: map[string]time.Time{},
		beat: WorkerInfo{Host: host, PID: os.Getpid(), Number: o.number, Protocol: remote.Protocol, Kind: kind, Slots: o.Slots}}
	w.nc, w.beat.Worker, err = t.connectWorker(nats.Name("worker "+host), nats.RetryOnFailedConnect(false),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil: closed by this worker
				o.Logf("the hub is away: %v", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { o.Logf("%v", err) }),
		nats.ReconnectHandler(func(*nats.Conn) {
			o.Logf("the hub is back")
			w.reconnected()
		}))
	if err != nil {
		return nil, err
	}
	w.machine = remote.NewMachine(client, o.Slots, o.Memory, w.fetch)
	w.perform = w.machine.Run
	w.drop = time.AfterFunc(silent, func() {
		w.reading.Lock()
		defer w.reading.Unlock()
		w.read, w.data = "", nil
	})
	o.Logf("worker %s of %s: %s, %d at once", w.beat.Worker, t.URL, kind, o.Slots)
	return w, nil
}

// worker is the state of a running worker.
type worker struct {
	nc      *nats.Conn
	machine *remote.Machine
	perform func(ctx context.Context, c *remote.Call, queued bool) *remote.Answer // machine.Run
	memory  int64
	places  chan struct{} // one per call that needs a slot and is running or prepared
	idle    time.Duration
	last    time.Time // last heartbeat of any notebook
	say     func(format string, a ...any)

	fetching sync.Mutex // one large object at a time

	telling   sync.Mutex // heartbeats leave in the order in which they were made
	running   sync.WaitGroup
	mu        sync.Mutex
	beat      WorkerInfo
	jobs      map[string]*job      // by call
	lastBeats map[string]time.Time // last heartbeat, by notebook

	reading sync.Mutex
	read    string // key of the result being read
	data    []byte
	drop    *time.Timer // after a while
}

func (w *worker) run(ctx context.Context) error {
	defer w.nc.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	me := asks + w.beat.Worker
	for subject, handle := range map[string]nats.MsgHandler{
		me + askRun:    func(m *nats.Msg) { go w.onCall(ctx, m) },
		me + askRead:   func(m *nats.Msg) { respond(m, w.readPart) },
		me + askHash:   func(m *nats.Msg) { go respond(m, w.hash) },
		me + forget:    func(m *nats.Msg) { w.forgetKeys(strings.Fields(string(m.Data))) },
		me + leave:     func(m *nats.Msg) { cancel(fmt.Errorf("fleet: worker: %w: %s", ErrLeft, m.Data)) },
		hellos + "*":   w.hello,
		goodbyes + "*": func(m *nats.Msg) { w.forgetRun(string(m.Data)) },
	} {
		if _, err := w.nc.Subscribe(subject, handle); err != nil {
			return fmt.Errorf("fleet: worker: %w", err)
		}
	}
	w.beatOn(ctx, cancel)
	w.mu.Lock()
	w.beat.Leaving = true
	w.mu.Unlock() // from here on no call begins
	w.tell()
	_ = w.nc.FlushTimeout(late) // if the hub is there
	w.running.Wait()
	return context.Cause(ctx)
}

// beatOn sends heartbeats until ctx ends, and drops what is kept for notebooks that are gone.
func (w *worker) beatOn(ctx context.Context, end context.CancelCauseFunc) {
	for tick := time.NewTicker(beat); ; {
		w.tell()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w.mu.Lock()
		if w.idle > 0 && time.Since(w.last) > w.idle {
			end(fmt.Errorf("fleet: worker: %w for %v", ErrIdle, w.idle))
		}
		for name, at := range w.lastBeats {
			if time.Since(at) > 20*silent && w.nc.IsConnected() {
				delete(w.lastBeats, name)
				w.say("notebook %s is gone", name)
				go w.forgetRun(name + ".")
			}
		}
		w.mu.Unlock()
	}
}

// tell sends a heartbeat.
func (w *worker) tell() {
	w.telling.Lock()
	defer w.telling.Unlock()
	w.mu.Lock()
	b := w.beat
	for _, call := range slices.Sorted(maps.Keys(w.jobs)) {
		switch j := w.jobs[call]; {
		case j.request == nil: // it is asked again
		case j.waiting:
			b.Waiting = append(b.Waiting, call)
		default:
			b.Doing, b.Programs = append(b.Doing, call), append(b.Programs, j.name)
		}
	}
	w.mu.Unlock()
	b.Bytes = w.machine.Bytes()
	if text, err := json.Marshal(b); err == nil && w.nc.IsConnected() {
		_ = w.nc.Publish(beats+b.Worker, text) // the next heartbeat repeats it
	}
}

// hello handles the heartbeat of a notebook. A new one gets the worker's at once.
func (w *worker) hello(m *nats.Msg) {
	name := strings.TrimPrefix(m.Subject, hellos)
	w.mu.Lock()
	_, known := w.lastBeats[name]
	w.last = time.Now()
	w.lastBeats[name] = w.last
	w.mu.Unlock()
	if !known {
		w.tell()
	}
}

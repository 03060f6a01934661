// Package fleet runs the programs of runs on many machines and GPUs, over NATS.
//
//	f, err := fleet.Join("fleet.json")
//	h, err := fedkit.Run(ctx, fed, avg, fedkit.Options{Rounds: 100, On: f})
//
// A hub passes messages on (./scripts/hub), and workers run programs (./scripts/worker fleet.json, on any machine). Local starts both
// on this machine. Workers know nothing of federated learning: they get programs and arguments, by hash, and keep the models that come
// out until these are mixed or fetched. So every strategy and every model of your own runs on them.
//
// Histories and States have the same bytes without a fleet and with any number of workers of one Kind, whoever is killed meanwhile:
// who trains beside whom is planned here, a group of clients is one call, and means are added up in a fixed order.
//
// Who has the file may run any program of XLA's on the workers: trust them as you trust those with a shell there.
package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/remote"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Fleet is a hub and its workers, as this process sees them. It is an option of runs: fedkit.Options{On: f}. Runs share it fairly.
type Fleet struct {
	// Mixed lets workers of different kinds work on one run. Its bytes then depend on who did what. Default: runs are refused while
	// there are workers of different kinds.
	Mixed bool
	// Audit is the part of calls that a second worker does too before their results are used, in [0, 1]. A worker whose results are
	// wrong is found out and left out. Calls that are done twice for other reasons are always compared. Default 0.
	Audit float64
	// Patience is how long to wait for the hub, and for a first worker. Default 30 s.
	Patience time.Duration

	file string
	name string // of this notebook
	nc   *nats.Conn
	js   jetstream.JetStream

	runs    atomic.Int64
	pending atomic.Int64 // bytes that workers keep since the collector was last called
	calls   sync.Map     // of *call, by ID: those whose answers matter
	done    ring
	seats   seats
	store   store

	mu      sync.Mutex
	workers map[string]*member
	ready   chan struct{}        // closed once stream and store are there; another one while the hub is away
	gone    chan struct{}        // closed when the hub is lost
	losses  int                  // of the hub
	left    map[string]time.Time // by kind, when the last worker was lost that was of it
	stream  jetstream.Stream     // of calls
	queues  map[string]bool
	ctx     context.Context // until Close
	tell    context.CancelFunc
	events  []string
}

// member is a worker as it is seen from here.
type member struct {
	Beat
	kind string // key of its Kind
	seen time.Time
	gone chan struct{} // closed when it is lost
	out  string        // why its results do not count

	reading sync.Mutex // a large result
}

var (
	// ErrNoWorker says that nobody runs the programs.
	ErrNoWorker = errors.New("no worker")
	// ErrNoHub says that the hub cannot be reached.
	ErrNoHub = errors.New("no hub")
)

// newName returns a name that nobody else has, in this process or another.
func newName() string { return nuid.New().Next()[:12] }

// Join connects to the fleet of a file that a hub has written.
func Join(file string) (*Fleet, error) {
	t, err := readTicket(file)
	if err != nil {
		return nil, err
	}
	f := &Fleet{file: file, name: newName(), workers: map[string]*member{}, ready: make(chan struct{}), gone: make(chan struct{}), queues: map[string]bool{}, left: map[string]time.Time{}}
	f.seats.room, f.store.fleet = f.room, f
	f.ctx, f.tell = context.WithCancel(context.Background())
	f.nc, err = t.connect(notebook, nats.Name("notebook"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // whoever waits is told
		nats.DisconnectErrHandler(func(*nats.Conn, error) { f.away() }), nats.ReconnectHandler(func(*nats.Conn) { go f.back() }))
	if err != nil {
		return nil, err
	}
	if err := f.begin(t); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *Fleet) begin(t *ticket) (err error) {
	if f.js, err = jetstream.New(f.nc); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	for subject, handle := range map[string]nats.MsgHandler{answers + f.name: f.answered, beats + "*": f.heard} {
		if _, err := f.nc.Subscribe(subject, handle); err != nil {
			return fmt.Errorf("fleet: %w", err)
		}
	}
	setup, cancel := context.WithTimeout(f.ctx, 10*time.Second)
	defer cancel()
	if err := f.setUp(setup); err != nil {
		return fmt.Errorf("fleet: hub %s: %w", t.URL, err)
	}
	f.here(0)
	go f.watch()
	return nil
}

// File returns the path of the fleet's file, for other programs to join.
func (f *Fleet) File() string { return f.file }

// Close leaves the fleet. The hub and the workers stay.
func (f *Fleet) Close() {
	f.tell()
	f.nc.Close()
}

// setUp makes the stream of calls and the store, if the hub does not have them.
func (f *Fleet) setUp(ctx context.Context) error {
	calls, err := f.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{queue + "*"}, Retention: jetstream.WorkQueuePolicy,
		Storage: jetstream.MemoryStorage, Discard: jetstream.DiscardNew, MaxAge: time.Hour}) // the hub's memory is the limit
	if err != nil {
		return fmt.Errorf("stream of calls: %w", err)
	}
	objects, err := f.js.ObjectStore(ctx, bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		objects, err = f.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket, Storage: jetstream.FileStorage, TTL: storeAge})
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queues = map[string]bool{}
	if f.stream == nil { // they are names, and do for another hub too
		f.stream, f.store.objects = calls, objects
	}
	return nil
}

// makeQueue makes the queue of a kind, if this was not done yet.
func (f *Fleet) makeQueue(ctx context.Context, kind string) error {
	f.mu.Lock()
	known := f.queues[kind]
	f.mu.Unlock()
	if known {
		return nil
	}
	_, err := f.js.CreateOrUpdateConsumer(ctx, stream, jetstream.ConsumerConfig{Durable: queueOf(kind), FilterSubject: queue + queueOf(kind), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: lease, MaxDeliver: thrice, MaxAckPending: 10000, MaxWaiting: 10000, MemoryStorage: true})
	if err != nil {
		return fmt.Errorf("queue of calls: %w", err)
	}
	f.mu.Lock()
	f.queues[kind] = true
	f.mu.Unlock()
	return nil
}

// away notes that the hub is lost: nobody waits for it as if it were there.
func (f *Fleet) away() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.losses++
	select {
	case <-f.ready:
		f.ready = make(chan struct{})
		close(f.gone)
	default:
	}
}

// here notes that the hub is there, and has all it needs; unless it was lost meanwhile. Workers get time to find it too.
func (f *Fleet) here(losses int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.losses != losses {
		return
	}
	for _, w := range f.workers {
		w.seen = time.Now()
	}
	select {
	case <-f.ready:
	default:
		f.gone = make(chan struct{})
		close(f.ready)
	}
}

// back makes what a hub that was started again does not have. Whoever waits for it then does again what may have been lost.
func (f *Fleet) back() {
	f.mu.Lock()
	losses := f.losses
	f.mu.Unlock()
	for f.nc.IsConnected() {
		ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
		err := f.setUp(ctx)
		cancel()
		if err == nil {
			f.store.forget()
			f.here(losses)
			return
		}
		pause(f.ctx, beat/5)
	}
}

// hub waits until the hub is there, and returns a context that ends when it is lost, or with ctx.
func (f *Fleet) hub(ctx context.Context) (context.Context, context.CancelFunc, error) {
	f.mu.Lock()
	ready := f.ready
	f.mu.Unlock()
	select {
	case <-ready:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-f.ctx.Done():
		return nil, nil, fmt.Errorf("fleet: %w: this fleet was closed", ErrNoHub)
	case <-time.After(f.patience()):
		return nil, nil, fmt.Errorf("fleet: %w for %v: start it again with ./scripts/hub", ErrNoHub, f.patience())
	}
	f.mu.Lock()
	gone := f.gone
	f.mu.Unlock()
	there, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-gone:
		case <-there.Done():
		}
	}()
	return there, cancel, nil
}

func (f *Fleet) patience() time.Duration { return cmp.Or(f.Patience, 30*time.Second) }

// watch says that this notebook is there, and notices workers that are not any more. Nobody is heard while the hub is away.
func (f *Fleet) watch() {
	for tick := time.NewTicker(beat); ; {
		connected := f.nc.IsConnected()
		if connected {
			_ = f.nc.Publish(hellos+f.name, nil) // the next one says it again
		}
		select {
		case <-f.ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		f.mu.Lock()
		select {
		case <-f.ready:
		default:
			connected = false
		}
		for _, w := range f.workers {
			if connected && time.Since(w.seen) > silent {
				f.lost(w)
			}
		}
		f.mu.Unlock()
		f.seats.grant()
		f.seats.turnAway(func(kinds []string) bool { return f.aloneFor(kinds) > f.patience() })
	}
}

// lost notes that a worker is gone. The caller has f.mu.
func (f *Fleet) lost(w *member) {
	select {
	case <-w.gone:
	default:
		close(w.gone)
	}
	if w.out == "" {
		delete(f.workers, w.Worker)
		f.left[w.kind] = time.Now()
	}
}

// live counts the workers that can be given calls. The caller has f.mu.
func (f *Fleet) live() (n int) {
	for _, w := range f.workers {
		if w.counts() {
			n++
		}
	}
	return n
}

// counts reports whether a worker's results count.
func (w *member) counts() bool { return w.out == "" && w.Protocol == remote.Protocol }

// heard takes a beat.
func (f *Fleet) heard(m *nats.Msg) {
	var b Beat
	if err := json.Unmarshal(m.Data, &b); err != nil || beats+b.Worker != m.Subject || b.Slots < 1 || b.Slots > 1<<16 {
		return // not from a worker
	}
	f.mu.Lock()
	w := f.workers[b.Worker]
	if w == nil {
		w = &member{gone: make(chan struct{})}
		f.workers[b.Worker] = w
	}
	w.Beat, w.kind, w.seen = b, b.Kind.Key(), time.Now()
	f.mu.Unlock()
	f.seats.grant()
}

// member returns a worker that is there; nil if it is not.
func (f *Fleet) member(name string) *member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.workers[name]
}

// leaveOut lets a worker's results not count from now on, and tells it to leave.
func (f *Fleet) leaveOut(name, why string) {
	f.mu.Lock()
	w := f.workers[name]
	if w == nil {
		w = &member{Beat: Beat{Worker: name}, gone: make(chan struct{})}
		f.workers[name] = w
	}
	w.out = why
	f.lost(w)
	f.left[w.kind] = time.Now()
	f.events = append(f.events, fmt.Sprintf("worker %s was left out: %s", w.label(), why))
	f.mu.Unlock()
	_ = f.nc.Publish(asks+name+leave, []byte(why)) // it does not count, whether it hears or not
}

// label names a worker for people.
func (w *Beat) label() string {
	if w.Host == "" {
		return w.Worker
	}
	return fmt.Sprintf("%s (%s, process %d)", w.Worker, w.Host, w.PID)
}

// Workers returns the workers that are there, in the order of their hosts.
func (f *Fleet) Workers() []Beat {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Beat
	for _, w := range f.workers {
		if w.out == "" {
			all = append(all, w.Beat)
		}
	}
	slices.SortFunc(all, func(a, b Beat) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Worker, b.Worker))
	})
	return all
}

// Wait waits until there are n workers.
func (f *Fleet) Wait(ctx context.Context, n int) error {
	for begin := time.Now(); ; pause(ctx, beat/10) {
		f.mu.Lock()
		live := f.live()
		f.mu.Unlock()
		switch {
		case live >= n:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(begin) > f.patience():
			return fmt.Errorf("fleet: %d of %d workers after %v: start them with ./scripts/worker %s", live, n, f.patience(), f.file)
		}
	}
}

// kinds returns the kinds of the workers that count, and how many there are of each. The caller has f.mu.
func (f *Fleet) kinds() map[Kind]int {
	kinds := map[Kind]int{}
	for _, w := range f.workers {
		if w.counts() {
			kinds[w.Kind]++
		}
	}
	return kinds
}

// choose returns the kinds of workers that a run may use.
func (f *Fleet) choose(ctx context.Context) ([]string, error) {
	for begin := time.Now(); ; pause(ctx, beat/10) {
		f.mu.Lock()
		kinds := f.kinds()
		f.mu.Unlock()
		switch {
		case len(kinds) == 1 || len(kinds) > 1 && f.Mixed:
			var keys []string
			for k := range kinds {
				keys = append(keys, k.Key())
			}
			slices.Sort(keys)
			return keys, nil
		case len(kinds) > 1:
			var list []string
			for k, n := range kinds {
				list = append(list, fmt.Sprintf("%d × %s", n, k))
			}
			slices.Sort(list)
			return nil, fmt.Errorf("fleet: workers of %d kinds, which round differently: %s; stop all but one kind, or set Fleet.Mixed", len(kinds), strings.Join(list, "; "))
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case time.Since(begin) > f.patience():
			return nil, f.nobody()
		}
	}
}

// Device implements fedkit.Machines.
func (f *Fleet) Device() (string, error) {
	if _, err := f.choose(context.Background()); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	devices := map[string]bool{}
	for kind := range f.kinds() {
		devices[kind.Device] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(devices)), "+"), nil
}

// nobody is the error for a fleet without workers.
func (f *Fleet) nobody() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	more := ""
	for _, w := range f.workers {
		switch {
		case w.out != "":
			more += fmt.Sprintf("; %s was left out: %s", w.label(), w.out)
		case w.Protocol != remote.Protocol:
			more += fmt.Sprintf("; %s speaks version %d and this fedkit %d: start it from the same version", w.label(), w.Protocol, remote.Protocol)
		}
	}
	if kinds := f.kinds(); len(kinds) > 0 { // of other kinds than the run began with
		more += "; those that are there round differently from those that the run began with"
	}
	return fmt.Errorf("fleet: %w for %v: start one with ./scripts/worker %s%s", ErrNoWorker, f.patience(), f.file, more)
}

// room returns how many calls of a kind should be under way: as many as workers do at once, and one more for each of them.
func (f *Fleet) room(kind string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.workers {
		if w.counts() && w.kind == kind {
			n += w.Slots + 1
		}
	}
	return n
}

// AtOnce implements fedkit.Machines.
func (f *Fleet) AtOnce() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.workers {
		if w.counts() {
			n += w.Slots
		}
	}
	return n
}

// Open implements fedkit.Machines.
func (f *Fleet) Open(ctx context.Context, run string) (engine.Device, func(), error) {
	if !(f.Audit >= 0 && f.Audit <= 1) {
		return nil, nil, fmt.Errorf("fleet: Audit = %v: want a part, in [0, 1]", f.Audit)
	}
	kinds, err := f.choose(ctx)
	if err != nil {
		return nil, nil, err
	}
	d := &device{fleet: f, ctx: ctx, name: run, kinds: kinds, prefix: fmt.Sprintf("%s.%d.", f.name, f.runs.Add(1)), line: new(line)}
	return d, d.leave, nil
}

// Bytes returns how many bytes this process has received from the hub and sent to it, without what TLS adds.
func (f *Fleet) Bytes() (received, sent uint64) {
	s := f.nc.Stats()
	return s.InBytes, s.OutBytes
}

// String says who is there and what was moved, in a line.
func (f *Fleet) String() string {
	f.mu.Lock()
	busy, n := 0, f.live()
	for _, w := range f.workers {
		if w.counts() && len(w.Doing) > 0 {
			busy++
		}
	}
	events := slices.Clone(f.events)
	kinds := len(f.kinds())
	f.mu.Unlock()
	received, sent := f.Bytes()
	s := fmt.Sprintf("%d workers, %d at work, %s sent, %s received", n, busy, size(sent), size(received))
	if kinds > 1 {
		s += fmt.Sprintf(", of %d kinds", kinds)
	}
	if len(events) > 0 {
		s += "; " + strings.Join(events, "; ")
	}
	return s
}

func size(n uint64) string {
	for _, u := range []struct {
		name string
		n    float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if float64(n) >= u.n {
			return fmt.Sprintf("%.1f %s", float64(n)/u.n, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

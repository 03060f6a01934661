package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit/internal/remote"
	"fedkit.example/fedkit/internal/xla"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// WorkerOptions say how a worker works. The zero value is a usual one.
type WorkerOptions struct {
	Slots  int                           // programs at once; default: half of the processors that it may run on, at least one; 1 on a GPU
	Memory int64                         // bytes of objects and results that it keeps, at most; default 4 GB
	Idle   time.Duration                 // the worker ends if no notebook was there for so long; default: never
	Say    func(format string, a ...any) // told what happens; default: nobody
}

// Beat is what a worker says of itself, twice a second.
type Beat struct {
	Worker   string
	Host     string
	PID      int
	Protocol int
	Kind     Kind
	Slots    int
	Doing    []string // calls that it works on or has waiting
	Bytes    int64    // that it keeps
	Done     int64    // calls
}

var (
	// ErrLeft says that a worker was told to leave.
	ErrLeft = errors.New("told to leave")
	// ErrIdle says that a worker ended since nobody needed it.
	ErrIdle = errors.New("nobody was there")
)

// Work makes this process a worker of the fleet of a file, until ctx ends: it runs the programs that it is given, knows nothing of what
// they are for, and keeps what comes out until it is asked for. It waits for a hub that is away.
func Work(ctx context.Context, file string, o WorkerOptions) error {
	w, err := newWork(file, o)
	if err != nil {
		return err
	}
	return w.run(ctx)
}

// newWork returns a worker that is connected.
func newWork(file string, o WorkerOptions) (*work, error) {
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
	if o.Say == nil {
		o.Say = func(string, ...any) {}
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
	w := &work{memory: o.Memory, idle: o.Idle, last: time.Now(), say: o.Say, again: make(chan struct{}), doing: map[string]int{}, heard: map[string]time.Time{},
		beat: Beat{Worker: newName(), Host: host, PID: os.Getpid(), Protocol: remote.Protocol, Kind: kind, Slots: o.Slots}}
	w.nc, err = t.connect(worker, nats.Name("worker "+host), nats.RetryOnFailedConnect(false),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // not at the end
				o.Say("the hub is away: %v", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { o.Say("%v", err) }),
		nats.ReconnectHandler(func(*nats.Conn) {
			o.Say("the hub is back")
			w.askAgain()
		}))
	if err != nil {
		return nil, err
	}
	if w.js, err = jetstream.New(w.nc); err != nil {
		w.nc.Close()
		return nil, fmt.Errorf("fleet: worker: %w", err)
	}
	w.machine = remote.NewMachine(w.beat.Worker, client, o.Slots, o.Memory, w.fetch)
	w.perform = w.machine.Run
	o.Say("worker %s of %s: %s, %d at once", w.beat.Worker, t.URL, kind, o.Slots)
	return w, nil
}

// work is a worker at work.
type work struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	machine *remote.Machine
	perform func(ctx context.Context, c *remote.Call, queued bool) *remote.Answer // machine.Run
	memory  int64
	idle    time.Duration
	last    time.Time // that a notebook was heard
	say     func(format string, a ...any)

	fetching sync.Mutex // one large object at a time

	mu    sync.Mutex
	beat  Beat
	again chan struct{}        // closed at a reconnection, which requests for work do not survive; another one then
	doing map[string]int       // by call, how often it was asked for
	heard map[string]time.Time // by notebook, when it was heard of last

	reading sync.Mutex
	read    string // key of the result that is read
	data    []byte
	readAt  time.Time
}

func (w *work) run(ctx context.Context) error {
	defer w.nc.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	me := asks + w.beat.Worker
	for subject, handle := range map[string]nats.MsgHandler{
		me + askRun:    func(m *nats.Msg) { go w.asked(ctx, m) },
		me + askRead:   func(m *nats.Msg) { w.reply(m, w.readPart) },
		me + askHash:   func(m *nats.Msg) { go w.reply(m, w.hash) },
		me + forget:    func(m *nats.Msg) { w.forget(strings.Fields(string(m.Data))) },
		me + leave:     func(m *nats.Msg) { cancel(fmt.Errorf("fleet: worker: %w: %s", ErrLeft, m.Data)) },
		hellos + "*":   w.hello,
		goodbyes + "*": func(m *nats.Msg) { w.forgetRun(string(m.Data)) },
	} {
		if _, err := w.nc.Subscribe(subject, handle); err != nil {
			return fmt.Errorf("fleet: worker: %w", err)
		}
	}
	var all sync.WaitGroup
	for range w.machine.Slots() + 1 { // one is made ready while the others are at work
		all.Go(func() { w.take(ctx) })
	}
	all.Go(func() { w.beatOn(ctx, cancel) })
	all.Wait()
	return context.Cause(ctx)
}

// beatOn says what the worker does, and forgets what notebooks wanted that are gone.
func (w *work) beatOn(ctx context.Context, end context.CancelCauseFunc) {
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
		for name, at := range w.heard {
			if time.Since(at) > 20*silent && w.nc.IsConnected() {
				delete(w.heard, name)
				w.say("notebook %s is gone", name)
				w.machine.ForgetAll(func(key string) bool { return strings.HasPrefix(key, name+".") })
			}
		}
		w.mu.Unlock()
		w.closeRead(func(string) bool { return time.Since(w.readAt) > silent })
	}
}

func (w *work) tell() {
	w.mu.Lock()
	b := w.beat
	for call := range w.doing {
		b.Doing = append(b.Doing, call)
	}
	w.mu.Unlock()
	b.Bytes = w.machine.Bytes()
	slices.Sort(b.Doing)
	if text, err := json.Marshal(b); err == nil && w.nc.IsConnected() {
		_ = w.nc.Publish(beats+b.Worker, text) // the next beat says it again
	}
}

// hello notes that a notebook is there. One that was not known is told about the worker at once.
func (w *work) hello(m *nats.Msg) {
	name := strings.TrimPrefix(m.Subject, hellos)
	w.mu.Lock()
	_, known := w.heard[name]
	w.last = time.Now()
	w.heard[name] = w.last
	w.mu.Unlock()
	if !known {
		w.tell()
	}
}

// forgetRun forgets the results of a run.
func (w *work) forgetRun(prefix string) {
	of := func(key string) bool { return strings.HasPrefix(key, prefix) }
	w.closeRead(of)
	w.machine.ForgetAll(of)
}

func (w *work) forget(keys []string) {
	w.closeRead(func(key string) bool { return slices.Contains(keys, key) })
	w.machine.Forget(keys)
}

// closeRead lets go of the result that is read, if it is meant.
func (w *work) closeRead(meant func(key string) bool) {
	w.reading.Lock()
	defer w.reading.Unlock()
	if meant(w.read) {
		w.read, w.data = "", nil
	}
}

// askAgain ends the requests for work that were made before a reconnection.
func (w *work) askAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.again)
	w.again = make(chan struct{})
}

// take takes one call after the other, as long as ctx lasts.
func (w *work) take(ctx context.Context) {
	var calls jetstream.Consumer
	for ctx.Err() == nil {
		w.mu.Lock()
		again := w.again
		w.mu.Unlock()
		asking, cancel := context.WithTimeout(ctx, 5*time.Second)
		go func() {
			defer cancel()
			select {
			case <-again:
			case <-asking.Done():
			}
		}()
		var err error
		if calls == nil {
			calls, err = w.js.Consumer(asking, stream, queueOf(w.beat.Kind.Key()))
		}
		if err == nil {
			err = w.takeOne(ctx, asking, calls)
		}
		cancel()
		if err != nil && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, jetstream.ErrNoMessages) && !errors.Is(err, context.DeadlineExceeded) {
			calls = nil
			pause(ctx, 100*time.Millisecond) // no notebook has come yet, or the hub was started again and the queue has to be made again
		}
	}
}

// takeOne takes a call if one comes while asking lasts.
func (w *work) takeOne(ctx, asking context.Context, calls jetstream.Consumer) error {
	batch, err := calls.Fetch(1, jetstream.FetchContext(asking), jetstream.FetchHeartbeat(time.Second))
	if err != nil {
		return err
	}
	for m := range batch.Messages() {
		w.do(ctx, m)
	}
	return batch.Error()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// do answers a call from the queue. It renews the lease meanwhile.
func (w *work) do(ctx context.Context, m jetstream.Msg) {
	c, err := remote.DecodeCall(m.Data())
	if err != nil {
		w.say("a call that cannot be read: %v", err)
		_ = m.Term()
		return
	}
	from, _, _ := strings.Cut(c.ID, ".")
	w.mu.Lock()
	heard, known := w.heard[from]
	if known && time.Since(heard) > 10*silent { // nobody waits for it any more
		w.mu.Unlock()
		_ = m.Term()
		return
	}
	w.mu.Unlock()
	defer w.busy(c.ID)()
	begun := remote.Answer{ID: c.ID, Machine: w.beat.Worker, Begun: true}
	_ = w.nc.Publish(answers+from, begun.Encode()) // so that it is known who is to blame if no more is heard; the beats say it too
	working, stop := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for tick := time.NewTicker(lease / 4); ; {
			select {
			case <-working.Done():
				tick.Stop()
				return
			case <-tick.C:
				_ = m.InProgress() // a lease that runs out costs the call once more, and nothing else
			}
		}
	})
	a := w.perform(ctx, c, true)
	stop()
	renewing.Wait()
	if ctx.Err() != nil {
		_ = m.Nak()
		return
	}
	if w.answer(ctx, answers+from, a.Encode()) {
		_ = m.Ack()
	}
}

// busy notes that the worker has a call, until it is done.
func (w *work) busy(call string) (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doing[call]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.doing[call]--; w.doing[call] == 0 {
			delete(w.doing, call)
		}
		w.beat.Done++
	}
}

// answer publishes an answer, and says whether the hub has it.
func (w *work) answer(ctx context.Context, to string, message []byte) bool {
	for ctx.Err() == nil {
		if err := w.nc.Publish(to, message); err == nil && w.nc.FlushTimeout(lease) == nil {
			return true
		}
		pause(ctx, 100*time.Millisecond)
	}
	return false
}

// asked answers a call that was sent to this worker.
func (w *work) asked(ctx context.Context, m *nats.Msg) {
	c, err := remote.DecodeCall(m.Data)
	if err != nil {
		w.say("a call that cannot be read: %v", err)
		return
	}
	defer w.busy(c.ID)()
	_ = m.Respond(w.perform(ctx, c, false).Encode()) // it is asked again if nobody hears
}

// readRequest asks for some bytes of a result.
type readRequest struct {
	Key        string
	From, Size int
}

// Headers of replies.
const (
	replyLost  = "Fedkit-Lost"  // the result is not kept
	replyError = "Fedkit-Error" // what went wrong
)

func (w *work) reply(m *nats.Msg, to func(request []byte) (data []byte, ok bool, err error)) {
	data, ok, err := to(m.Data)
	reply := nats.NewMsg(m.Reply)
	switch {
	case err != nil:
		reply.Header.Set(replyError, err.Error())
	case !ok:
		reply.Header.Set(replyLost, "yes")
	default:
		reply.Data = data
	}
	_ = m.RespondMsg(reply) // it is asked again if nobody hears
}

// readPart returns some bytes of a result. The whole of the one that is read stays on the host, until another is read, or for a while.
func (w *work) readPart(request []byte) (data []byte, ok bool, err error) {
	var r readRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, false, err
	}
	w.reading.Lock()
	defer w.reading.Unlock()
	if w.read != r.Key {
		if w.data, ok, err = w.machine.Read(r.Key); !ok || err != nil {
			w.read = ""
			return nil, ok, err
		}
		w.read = r.Key
	}
	w.readAt = time.Now()
	if r.From < 0 || r.Size < 0 || r.From > len(w.data) || r.Size > len(w.data)-r.From {
		return nil, false, fmt.Errorf("bytes %d to %d of a result of %d", r.From, r.From+r.Size, len(w.data))
	}
	return w.data[r.From : r.From+r.Size], true, nil
}

// hash returns the hashes of results, a line each.
func (w *work) hash(request []byte) (data []byte, ok bool, err error) {
	for key := range strings.FieldsSeq(string(request)) {
		b, ok, err := w.machine.Read(key)
		if !ok || err != nil {
			return nil, ok, err
		}
		sum := sha256.Sum256(b)
		data = append(append(data, hex.EncodeToString(sum[:])...), '\n')
	}
	return data, true, nil
}

// fetch gets an object from the store. What the hub cannot give now counts as not there: the notebook sends it again.
func (w *work) fetch(ctx context.Context, hash string) (data []byte, err error) {
	for try := range 3 {
		if try > 0 {
			pause(ctx, 200*time.Millisecond)
		}
		if data, err = w.object(ctx, hash); err == nil || errors.Is(err, errTooLarge) || ctx.Err() != nil {
			return data, err
		}
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			break
		}
	}
	return nil, fmt.Errorf("%w: %w", remote.ErrNoObject, err)
}

var errTooLarge = errors.New("too large for this worker")

// object gets an object, for as long as some of it comes.
func (w *work) object(ctx context.Context, hash string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Hour) // without a deadline, the library gives a whole object five seconds
	defer cancel()
	stalled := time.AfterFunc(slowest, cancel)
	defer stalled.Stop()
	store, err := w.js.ObjectStore(ctx, bucket)
	if err != nil {
		return nil, err
	}
	object, err := store.Get(ctx, hash)
	if err != nil {
		return nil, err
	}
	defer object.Close()
	info, err := object.Info()
	if err != nil {
		return nil, err
	}
	if info.Size > uint64(w.memory) {
		return nil, fmt.Errorf("an object of %s: %w, which keeps at most %s; start it with more --memory", size(info.Size), errTooLarge, size(uint64(w.memory)))
	}
	if info.Size > chunk {
		stalled.Stop()
		w.fetching.Lock()
		defer w.fetching.Unlock()
	}
	data := make([]byte, info.Size)
	for read := 0; read < len(data); {
		stalled.Reset(slowest)
		n, err := object.Read(data[read:])
		if read += n; err != nil && read < len(data) {
			return nil, err
		}
	}
	if n, err := object.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) { // it is compared with its digest at the end
		return nil, fmt.Errorf("object %.12s… is damaged: %w", hash, err)
	}
	return data, nil
}

// slowest is how long nothing of an object may come.
const slowest = 10 * time.Second

package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"fedkit.example/fedkit/internal/remote"
	"github.com/nats-io/nats.go"
)

// member is a worker as this notebook knows it.
type member struct {
	WorkerInfo        // its last heartbeat
	name       string // Worker of every heartbeat
	kind       string // key of its Platform
	seen       time.Time
	gone       chan struct{} // closed when it is lost
	out        string        // why it is banned; "" if it is not
	others     int           // calls from other notebooks

	wrong   int           // wrong answers
	reading sync.Mutex    // one large result at a time
	sending chan struct{} // a place for the one large call that is on its way
	beaten  chan struct{} // closed at the next heartbeat
}

// newMember returns a worker of which nothing was heard yet.
func newMember(name string) *member {
	return &member{name: name, gone: make(chan struct{}), sending: make(chan struct{}, 1), beaten: make(chan struct{})}
}

// watch sends the heartbeats of this notebook, and detects lost workers by the silence of theirs. While the hub is away, nobody is lost.
func (f *Fleet) watch() {
	for tick := time.NewTicker(beat); ; {
		connected := f.nc.IsConnected()
		if connected {
			_ = f.nc.Publish(hellos+f.name, nil) // the next one makes up for a lost one
		}
		select {
		case <-f.ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		f.mu.Lock()
		connected = connected && f.there.Err() == nil
		for _, w := range f.workers {
			if connected && time.Since(w.seen) > silent {
				f.lost(w)
			}
		}
		f.mu.Unlock()
		f.seats.grant()
	}
}

// lost marks a worker as lost, which ends all requests to it. The caller holds f.mu.
func (f *Fleet) lost(w *member) {
	select {
	case <-w.gone:
	default:
		close(w.gone)
	}
	if w.out == "" {
		delete(f.workers, w.Worker)
	}
}

// counts reports whether a worker's results count.
func (w *member) counts() bool { return w.out == "" && w.Protocol == remote.Protocol }

// onBeat handles a worker's heartbeat.
func (f *Fleet) onBeat(m *nats.Msg) {
	var b WorkerInfo
	if err := json.Unmarshal(m.Data, &b); err != nil || beats+b.Worker != m.Subject || b.Slots < 1 || b.Slots > 1<<16 || !b.plain() {
		return // not from a worker
	}
	f.mu.Lock()
	w := f.workers[b.Worker]
	if w == nil {
		w = newMember(b.Worker)
		f.workers[b.Worker] = w
	}
	w.WorkerInfo, w.kind, w.seen, w.others = b, b.Kind.Key(), time.Now(), 0
	close(w.beaten)
	w.beaten = make(chan struct{})
	for _, call := range slices.Concat(b.Doing, b.Waiting) {
		if !strings.HasPrefix(call, f.name+".") {
			w.others++
		}
	}
	if w.Leaving {
		f.lost(w)
	}
	f.mu.Unlock()
	f.seats.grant()
}

// has reports whether the worker's heartbeat lists a call.
func (w *WorkerInfo) has(call string) bool {
	return slices.Contains(w.Doing, call) || slices.Contains(w.Waiting, call)
}

// plain replaces control characters in the texts of a heartbeat, which people see, and reports whether all texts are short.
func (b *WorkerInfo) plain() bool {
	k := &b.Kind
	texts := []*string{&b.Host, &k.Device, &k.Plugin, &k.Processor, &k.Flags}
	for i := range b.Programs {
		texts = append(texts, &b.Programs[i])
	}
	for _, text := range texts {
		if len(*text) > 4096 {
			return false
		}
		*text = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return '·'
			}
			return r
		}, *text)
	}
	return true
}

// member returns a worker that is there, and not banned; nil if it is not.
func (f *Fleet) member(name string) *member {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.workers[name]; w != nil && w.out == "" {
		return w
	}
	return nil
}

// leaveOut bans a worker: its results no longer count, and it is told to leave.
func (f *Fleet) leaveOut(name, why string) {
	f.mu.Lock()
	w := f.workers[name]
	if w == nil {
		w = newMember(name)
		w.Worker = name
		f.workers[name] = w
	}
	w.out = why
	f.lost(w)
	f.events = append(f.events, fmt.Sprintf("worker %s was left out: %s", w.label(), why))
	f.mu.Unlock()
	_ = f.nc.Publish(asks+name+leave, []byte(why)) // it is banned whether it receives this or not
}

// label names a worker for people.
func (w *WorkerInfo) label() string {
	if w.Host == "" {
		return w.Worker
	}
	return fmt.Sprintf("%s (%s, process %d)", w.Worker, w.Host, w.PID)
}

// Workers returns the workers that are there, sorted by host.
func (f *Fleet) Workers() []WorkerInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []WorkerInfo
	for _, w := range f.workers {
		if w.out == "" {
			all = append(all, w.WorkerInfo)
		}
	}
	slices.SortFunc(all, func(a, b WorkerInfo) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Worker, b.Worker))
	})
	return all
}

// Wait waits until there are n workers.
func (f *Fleet) Wait(ctx context.Context, n int) error {
	for begin := time.Now(); ; pause(ctx, beat/10) {
		f.mu.Lock()
		live := len(slices.Collect(f.counting()))
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

// any reports whether there is a worker of some kinds.
func (f *Fleet) any(kinds []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range f.counting(kinds...) {
		return true
	}
	return false
}

func (f *Fleet) labelOf(worker string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.workers[worker]; w != nil {
		return w.label()
	}
	return fmt.Sprintf("%.40s", worker)
}

// isOut reports whether a worker's results do not count.
func (f *Fleet) isOut(worker string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.workers[worker]
	return w != nil && w.out != ""
}

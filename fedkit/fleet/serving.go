package fleet

import (
	"context"
	"slices"
	"strings"

	"fedkit.example/fedkit/internal/remote"
	"github.com/nats-io/nats.go"
)

// job is a call that this worker has.
type job struct {
	name     string
	request  *nats.Msg // the latest: a notebook that asks again no longer listens for a reply to the one before; nil: none that it may reply to
	waiting  bool      // for a place
	unwanted bool      // nobody needs the results
}

// onCall runs a call and replies.
func (w *worker) onCall(ctx context.Context, m *nats.Msg) {
	c, err := remote.DecodeCall(m.Data)
	if err != nil {
		w.say("a call that cannot be read: %v", err)
		return
	}
	j := &job{name: c.Name, request: m}
	w.mu.Lock()
	if known := w.jobs[c.ID]; known != nil || ctx.Err() != nil {
		if known != nil {
			known.request = m
		}
		w.mu.Unlock()
		return
	}
	w.jobs[c.ID] = j
	w.running.Add(1)
	w.mu.Unlock()
	if len(m.Data) > chunk {
		w.tell() // the next one waits for this
	}
	defer w.running.Done()
	a := w.do(ctx, c, j)
	w.mu.Lock()
	delete(w.jobs, c.ID)
	w.beat.Done++
	m = j.request
	if j.unwanted {
		w.machine.Forget(func(key string) bool { return strings.HasPrefix(key, c.ID+"/") })
	}
	w.mu.Unlock()
	if a != nil && m != nil {
		_ = m.Respond(a.Encode()) // if this is lost, it is requested again
	}
}

// reconnected notes that the hub no longer knows which requests this worker may reply to. Heartbeats do not list their calls until notebooks
// have asked again.
func (w *worker) reconnected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.jobs {
		j.request = nil
	}
}

// do returns the answer to a call; nil if this worker ends, or if nobody needs it any more. A call on results that are kept here, such as a
// mean of models, takes no place: it is short, and a whole round waits for it.
func (w *worker) do(ctx context.Context, c *remote.Call, j *job) (a *remote.Answer) {
	kept := slices.ContainsFunc(c.Args, func(a remote.Arg) bool { return len(a.Parts) > 0 && a.Parts[0].Kept != "" })
	if !kept {
		if !w.acquire(ctx, j) {
			return nil
		}
		defer func() { <-w.places }()
	}
	w.mu.Lock()
	needed := !j.unwanted
	w.mu.Unlock()
	if !needed {
		return nil
	}
	if a = w.perform(ctx, c, !kept); ctx.Err() != nil {
		return nil
	}
	return a
}

// acquire waits for a place, in the order of arrival: there are as many as slots, and one for a call that is made ready meanwhile. A call
// that waits is not blamed for the loss of the worker, so a heartbeat says that it no longer does before its program begins.
func (w *worker) acquire(ctx context.Context, j *job) bool {
	select {
	case w.places <- struct{}{}:
		return true
	default:
	}
	w.setWaiting(j, true)
	select {
	case w.places <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	w.setWaiting(j, false)
	w.tell()
	_ = w.nc.FlushTimeout(late) // before the program, which may end this process
	return true
}

func (w *worker) setWaiting(j *job, waiting bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	j.waiting = waiting
}

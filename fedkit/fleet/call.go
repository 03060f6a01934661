package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/remote"
	"fedkit.example/fedkit/internal/xla"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// call is a call that workers are asked for, until nobody needs its results any more.
type call struct {
	d         *device
	program   *xla.Program
	arguments []any // as they were given, for who checks it
	msg       *remote.Call
	objects   []*object

	answers chan *remote.Answer

	again   sync.Mutex // it is done again by one at a time
	mu      sync.Mutex
	answer  *remote.Answer // the one that counts
	holders []string       // workers that keep its results
	using   int            // results that are needed
	counted bool           // in using
	begun   []start        // who took it since it was published
}

// start is that a worker took a call.
type start struct {
	*member
	at time.Time
}

// attempt is a call that is waited for.
type attempt struct {
	*call
	ctx       context.Context
	kind      string
	hub       chan struct{} // its state when the call was published
	begin     time.Time
	published time.Time
	wait      time.Duration // until it is published again if nobody has it
	tries     int
	queued    []uint64 // where it stands in the queue
	asked     []string // who was asked for it directly, since others were slow
}

// do publishes the call and waits for an answer, whatever happens to the hub and to workers.
func (c *call) do(ctx context.Context) (answer *remote.Answer, err error) {
	f := c.d.fleet
	if err := c.d.err(); err != nil {
		return nil, err
	}
	a := &attempt{call: c, ctx: ctx}
	if err := a.sit(); err != nil {
		return nil, err
	}
	defer func() {
		if a.kind != "" {
			f.seats.give(a.kind)
		}
	}()
	f.store.hold(c.objects)
	defer f.store.letGo(c.objects)
	c.mu.Lock()
	c.begun = nil
	c.mu.Unlock()
	for len(c.answers) > 0 { // to the last time it was done
		<-c.answers
	}
	f.calls.Store(c.msg.ID, c)
	defer func() {
		if err != nil {
			f.calls.Delete(c.msg.ID)
		}
		if err != nil || len(a.queued) > 1 || a.asked != nil { // else the worker that answered says that it is done
			go f.withdraw(a.queued)
		}
	}()
	a.begin = time.Now()
	tick := time.NewTicker(beat / 5)
	defer tick.Stop()
	for publish := true; ; {
		if publish {
			if err := a.publish(); err != nil {
				return nil, fmt.Errorf("program %q: %w", c.msg.Name, err)
			}
		}
		select {
		case got := <-c.answers:
			if publish, err = a.take(got); err != nil {
				return nil, err
			}
			if !publish {
				return c.audited(ctx, got)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
			if publish, err = a.look(); err != nil {
				return nil, err
			}
		}
	}
}

// sit waits for a seat, unless there is nobody to work.
func (a *attempt) sit() (err error) {
	a.kind, err = a.d.fleet.seats.take(a.ctx, a.d.line, a.d.kinds)
	if errors.Is(err, ErrNoWorker) {
		return a.d.fleet.nobody()
	}
	return err
}

// take looks at an answer, and says whether the call has to be published again.
func (a *attempt) take(got *remote.Answer) (again bool, err error) {
	f := a.d.fleet
	if f.isOut(got.Machine) {
		return true, nil
	}
	if len(got.Missing) > 0 {
		if a.tries++; a.tries > 20 {
			return false, fmt.Errorf("fleet: program %q: workers do not find %d objects in the hub's store, which is too small or damaged", a.msg.Name, len(got.Missing))
		}
		f.store.forget(got.Missing...)
		return true, nil
	}
	if got.Error != "" {
		return false, fmt.Errorf("worker %s: %s", f.labelOf(got.Machine), got.Error)
	}
	a.d.times.add(a.msg.Program, got.Seconds)
	return false, nil
}

// look sees how it is with the call, and says whether it has to be published again.
func (a *attempt) look() (again bool, err error) {
	f := a.d.fleet
	at, died := a.where()
	switch alone := f.aloneFor([]string{a.kind}); {
	case a.d.err() != nil:
		return false, a.d.err()
	case len(died) >= thrice:
		return false, fmt.Errorf("fleet: program %q: %d workers were lost while they had it: %s; it may bring them down, see their logs", a.msg.Name, len(died), strings.Join(died, ", "))
	case f.isAgain(a.hub): // the hub was lost, and the call with it
		return true, nil
	case f.aloneFor(a.d.kinds) > f.patience():
		return false, f.nobody()
	case alone > silent && len(a.d.kinds) > 1: // somebody of another kind may
		f.seats.give(a.kind)
		return true, a.sit()
	case at != nil:
		a.published, a.wait = time.Now(), 0
		if len(a.asked) < 2 && time.Since(a.begin) > a.d.times.slow(a.msg.Program) {
			a.overtake(at)
		}
	case alone == 0 && time.Since(a.published) > silent+a.wait: // nobody has it: a message was lost, or all are busy
		if a.tries++; a.tries > 60 {
			return false, fmt.Errorf("fleet: program %q was given to workers %d times, and no answer came", a.msg.Name, a.tries)
		}
		a.wait = min(2*(a.wait+silent), time.Minute)
		return true, nil
	}
	return false, nil
}

// where returns the workers that have the call, and the labels of those that were lost while they had it.
func (c *call) where() (at, died []string) {
	f := c.d.fleet
	at = f.at(c.msg.ID)
	f.mu.Lock()
	defer f.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.begun {
		select {
		case <-s.gone:
			if s.out == "" {
				died = append(died, s.label())
			}
		default:
			if time.Since(s.at) < silent && !slices.Contains(at, s.Worker) { // its next beat says so
				at = append(at, s.Worker)
			}
		}
	}
	return at, died
}

// overtake asks a worker that is idle too, once others take too long.
func (a *attempt) overtake(slow []string) {
	other := a.d.fleet.other(a.d.kinds, append(slow, a.asked...), true)
	if other == "" {
		return
	}
	a.asked = append(a.asked, other)
	c := a.call
	c.d.fleet.store.hold(c.objects)
	go func() {
		defer c.d.fleet.store.letGo(c.objects)
		if got, err := c.ask(c.d.ctx, other); err == nil { // else the others go on
			c.answered(got)
		}
	}()
}

// publish puts what the call needs into the store, and the call into the queue.
func (a *attempt) publish() error {
	f := a.d.fleet
	for begin := time.Now(); ; {
		if err := f.store.put(a.ctx, a.objects); err != nil {
			return err
		}
		there, cancel, err := f.hub(a.ctx)
		if err != nil {
			return err
		}
		f.mu.Lock()
		a.hub = f.ready
		f.mu.Unlock()
		if err = f.makeQueue(there, a.kind); err == nil {
			var ack *jetstream.PubAck
			if ack, err = f.js.Publish(there, queue+queueOf(a.kind), a.msg.Encode()); err == nil {
				a.queued = append(a.queued, ack.Sequence)
			}
		}
		cancel()
		switch {
		case err == nil:
			a.published = time.Now()
			return nil
		case a.ctx.Err() != nil:
			return a.ctx.Err()
		case errors.Is(err, nats.ErrMaxPayload):
			return err
		case time.Since(begin) > f.patience():
			return fmt.Errorf("fleet: the hub does not take calls: %w", err)
		}
		pause(a.ctx, beat/5)
	}
}

// withdraw takes calls out of the queue.
func (f *Fleet) withdraw(queued []uint64) {
	ctx, cancel := context.WithTimeout(f.ctx, silent)
	defer cancel()
	for _, at := range queued {
		_ = f.stream.DeleteMsg(ctx, at) // if it is there yet; the hub forgets it after a while
	}
}

// isAgain reports whether the hub was lost and is there again, since it was in a state.
func (f *Fleet) isAgain(state chan struct{}) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.ready:
		return f.ready != state
	default:
		return false
	}
}

// aloneFor returns for how long there has been no worker of some kinds.
func (f *Fleet) aloneFor(kinds []string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var last time.Time
	for _, w := range f.workers {
		if w.counts() && slices.Contains(kinds, w.kind) {
			return 0
		}
	}
	for _, kind := range kinds {
		if left := f.left[kind]; left.After(last) {
			last = left
		}
	}
	return time.Since(last)
}

// at returns the workers that say that they have a call.
func (f *Fleet) at(call string) (workers []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, w := range f.workers {
		if w.counts() && slices.Contains(w.Doing, call) {
			workers = append(workers, name)
		}
	}
	return workers
}

// other returns a worker of some kinds that has the least to do, but for those not meant; "" if there is none, or none that is idle.
func (f *Fleet) other(kinds, not []string, idle bool) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var best *member
	for name, w := range f.workers {
		if w.counts() && slices.Contains(kinds, w.kind) && !slices.Contains(not, name) && (best == nil || len(w.Doing) < len(best.Doing)) {
			best = w
		}
	}
	if best == nil || idle && len(best.Doing) > 0 {
		return ""
	}
	return best.Worker
}

func (f *Fleet) labelOf(worker string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.workers[worker]; w != nil {
		return w.label()
	}
	return worker
}

// isOut reports whether a worker's results do not count.
func (f *Fleet) isOut(worker string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.workers[worker]
	return w != nil && w.out != ""
}

// answered takes an answer of a worker.
func (f *Fleet) answered(m *nats.Msg) {
	a, err := remote.DecodeAnswer(m.Data)
	if err != nil {
		return // not from a worker
	}
	v, ok := f.calls.Load(a.ID)
	switch {
	case ok && a.Begun:
		if w := f.member(a.Machine); w != nil {
			c := v.(*call)
			c.mu.Lock()
			c.begun = append(slices.DeleteFunc(c.begun, func(s start) bool { return s.member == w }), start{w, time.Now()})
			c.mu.Unlock()
		}
	case ok:
		v.(*call).answered(a)
	default: // nobody needs it any more
		f.forgetResults(a)
	}
}

// forgetResults lets a worker forget what it keeps of an answer.
func (f *Fleet) forgetResults(a *remote.Answer) {
	for i, r := range a.Results {
		if r.Kept {
			f.forget(a.Machine, remote.Key(a.ID, i))
		}
	}
}

// answered takes an answer. That of a call which has one is compared with it.
func (c *call) answered(a *remote.Answer) {
	c.mu.Lock()
	first := c.answer
	c.mu.Unlock()
	if first != nil && len(a.Missing) == 0 && a.Error == "" {
		if first.Machine != a.Machine {
			go func() {
				c.compare(first, a)
				c.mu.Lock()
				needed := c.using > 0
				c.mu.Unlock()
				if !needed {
					c.d.fleet.forgetResults(a)
				}
			}()
		}
		return
	}
	select {
	case c.answers <- a:
	default: // more than anybody asked for
	}
}

// forget lets a worker forget results.
func (f *Fleet) forget(worker string, keys ...string) {
	_ = f.nc.Publish(asks+worker+forget, []byte(strings.Join(keys, " "))) // they are forgotten with their run, at the latest
}

// accept makes an answer the one that counts.
func (c *call) accept(a *remote.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = a
	for _, r := range a.Results {
		if r.Kept && !c.counted {
			c.using++
		}
	}
	c.counted = true
	c.holds(a.Machine)
	if c.using == 0 {
		c.d.fleet.forgetLater(c)
	}
}

// holds notes that a worker has the results. The caller has c.mu.
func (c *call) holds(worker string) {
	if !slices.Contains(c.holders, worker) {
		c.holders = append(c.holders, worker)
	}
}

// forgetLater keeps a call whose results are all here for a while, so that late answers can be compared.
func (f *Fleet) forgetLater(c *call) {
	size := 0
	for _, o := range c.objects {
		size += o.size
	}
	for _, old := range f.done.add(c.msg.ID, size) {
		f.calls.Delete(old)
	}
}

// ring is the calls that were done last: some, and no more than some bytes of arguments stay here for.
type ring struct {
	mu    sync.Mutex
	ids   []string
	sizes []int
	bytes int
}

func (r *ring) add(id string, size int) (old []string) {
	const calls, bytes = 256, 64 << 20
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids, r.sizes, r.bytes = append(r.ids, id), append(r.sizes, size), r.bytes+size
	for len(r.ids) > calls || r.bytes > bytes && len(r.ids) > 0 {
		old = append(old, r.ids[0])
		r.bytes -= r.sizes[0]
		r.ids, r.sizes = r.ids[1:], r.sizes[1:]
	}
	return old
}

// audited accepts an answer, in some cases only after another worker has given the same.
func (c *call) audited(ctx context.Context, a *remote.Answer) (*remote.Answer, error) {
	f := c.d.fleet
	if rand.Float64() >= f.Audit { // who is asked twice changes no result
		c.accept(a)
		return a, nil
	}
	for not := []string(nil); ; {
		other := f.other(c.d.kinds, append(not, a.Machine), false)
		if other == "" { // what cannot be checked is not checked
			c.accept(a)
			return a, nil
		}
		not = append(not, other)
		b, err := c.ask(ctx, other)
		if errors.Is(err, errLost) {
			continue
		}
		if err != nil {
			return nil, err
		}
		same, err := c.same(a, b)
		if errors.Is(err, errLost) { // by one of them
			a = b
			continue
		}
		if err != nil {
			return nil, err
		}
		if same {
			c.accept(a)
			c.mu.Lock()
			c.holds(b.Machine)
			c.mu.Unlock()
			return a, nil
		}
		wrong, why := c.judge(a, b)
		for _, w := range wrong {
			f.leaveOut(w.Machine, why)
		}
		if len(wrong) > 1 {
			return nil, fmt.Errorf("fleet: %s", why)
		}
		if wrong[0] == a {
			a = b
		}
	}
}

// compare finds out who is wrong if two workers answered with other bytes. That worker is left out. If its results have been used,
// the run fails.
func (c *call) compare(first, second *remote.Answer) {
	f := c.d.fleet
	same, err := c.same(first, second)
	if err != nil || same {
		if same && err == nil {
			c.mu.Lock()
			c.holds(second.Machine)
			c.mu.Unlock()
		}
		return
	}
	wrong, why := c.judge(first, second)
	for _, a := range wrong {
		f.leaveOut(a.Machine, why)
	}
	if slices.Contains(wrong, first) {
		c.d.fail(fmt.Errorf("fleet: worker %s: %s; its result was used in this run already: run it again, from the checkpoint before if it has any", f.labelOf(first.Machine), why))
	}
}

// same reports whether two answers have the same bytes.
func (c *call) same(a, b *remote.Answer) (bool, error) {
	if len(a.Results) != len(b.Results) || !slices.EqualFunc(a.Inline, b.Inline, bytes.Equal) {
		return false, nil
	}
	var keys []string
	for i, r := range a.Results {
		if r.Kept {
			keys = append(keys, remote.Key(a.ID, i))
		}
	}
	if keys == nil {
		return true, nil
	}
	request := []byte(strings.Join(keys, " "))
	one, err := c.d.fleet.ask(c.d.ctx, a.Machine, askHash, request)
	if err != nil {
		return false, err
	}
	other, err := c.d.fleet.ask(c.d.ctx, b.Machine, askHash, request)
	return bytes.Equal(one, other), err
}

// judge returns which of two answers are wrong: this process computes the call itself if it is of the workers' kind.
func (c *call) judge(first, second *remote.Answer) (wrong []*remote.Answer, why string) {
	f := c.d.fleet
	both := fmt.Sprintf("for the same call of program %q it and worker %%s gave results with other bytes", c.msg.Name)
	if kind, err := thisKind(); err == nil && slices.Contains(c.d.kinds, kind.Key()) {
		if sums, err := c.compute(); err == nil {
			for i, a := range []*remote.Answer{first, second} {
				if got, err := c.sums(a); err == nil && !slices.Equal(got, sums) {
					wrong = append(wrong, a)
					why = fmt.Sprintf(both, f.labelOf([]string{second.Machine, first.Machine}[i])) + ", and this process agrees with the other"
				}
			}
			if len(wrong) == 1 {
				return wrong, why
			}
		}
	}
	return []*remote.Answer{first, second}, fmt.Sprintf("for the same call of program %q workers %s and %s gave results with other bytes", c.msg.Name, f.labelOf(first.Machine), f.labelOf(second.Machine))
}

// sums returns the hashes of all results of an answer.
func (c *call) sums(a *remote.Answer) (sums []string, err error) {
	inline := a.Inline
	for i, r := range a.Results {
		if !r.Kept {
			sums, inline = append(sums, hashOf(inline[0])), inline[1:]
			continue
		}
		b, err := c.d.fleet.ask(c.d.ctx, a.Machine, askHash, []byte(remote.Key(a.ID, i)))
		if err != nil {
			return nil, err
		}
		sums = append(sums, strings.TrimSpace(string(b)))
	}
	return sums, nil
}

// compute does the call in this process, and returns the hashes of its results.
func (c *call) compute() (sums []string, err error) {
	arguments := slices.Clone(c.arguments)
	for i, a := range arguments {
		switch a := a.(type) {
		case engine.Seldom:
			arguments[i] = a.Tensor
		case engine.Rows:
			if arguments[i], err = together(a); err != nil {
				return nil, err
			}
		}
	}
	out, err := c.program.Call(arguments...)
	if err != nil {
		return nil, err
	}
	defer xla.Free(out...)
	for _, t := range out {
		b, err := xla.HostBytes(t)
		if err != nil {
			return nil, err
		}
		sums = append(sums, hashOf(b))
	}
	return sums, nil
}

// together returns rows as a tensor of their own.
func together(r engine.Rows) (any, error) {
	all, err := xla.HostBytes(r.Of)
	if err != nil {
		return nil, err
	}
	shape := r.Of.Shape()
	size := len(all) / shape.Dimensions[0]
	var some []byte
	for _, i := range r.At {
		some = append(some, all[i*size:(i+1)*size]...)
	}
	return xla.FromBytes(some, shape.DType, append([]int{len(r.At)}, shape.Dimensions[1:]...))
}

// times are how long programs take, so that who takes much longer is noticed.
type times struct {
	mu      sync.Mutex
	seconds map[string][]float64 // by program, the last ones
}

func (t *times) add(program string, seconds float64) {
	const most = 16
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seconds == nil {
		t.seconds = map[string][]float64{}
	}
	list := append(t.seconds[program], seconds)
	t.seconds[program] = list[max(0, len(list)-most):]
}

// slow returns how long a call of a program may take until somebody else is asked too: four times the median, and a second.
func (t *times) slow(program string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.Sorted(slices.Values(t.seconds[program]))
	if len(list) == 0 {
		return time.Hour // it may have to be compiled first
	}
	return time.Second + time.Duration(4*list[len(list)/2]*float64(time.Second))
}

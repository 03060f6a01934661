package fleet

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"fedkit.example/fedkit/internal/remote"
	"github.com/nats-io/nats.go"
)

// answered takes an answer of a worker.
func (f *Fleet) answered(m *nats.Msg) {
	a, err := remote.DecodeAnswer(m.Data)
	from := strings.TrimPrefix(m.Subject, answers+f.name+".") // as the hub has made sure
	switch {
	case err != nil:
		a = &remote.Answer{ID: m.Header.Get(answerTo), Machine: from}
	case a.Machine != from:
		return // not from a worker, or not from this one
	}
	v, ok := f.calls.Load(a.ID)
	switch {
	case ok && err != nil:
		v.(*call).answered(a, err)
	case ok && a.Begun:
		if w := f.member(a.Machine); w != nil {
			v.(*call).begin(w)
		}
	case ok:
		v.(*call).answered(a, v.(*call).check(a))
	default: // nobody needs it any more
		f.forgetResults(a)
	}
}

// forgetResults lets a worker forget what it keeps of an answer.
func (f *Fleet) forgetResults(a *remote.Answer) {
	var keys []string
	for i, r := range a.Results {
		if r.Kept {
			keys = append(keys, remote.Key(a.ID, i))
		}
	}
	if keys != nil {
		f.forget(a.Machine, keys...)
	}
}

// answerTo is the header with the call's ID, for answers that cannot be read.
const answerTo = "Fedkit-Call"

// received is an answer, and what is wrong with it.
type received struct {
	*remote.Answer
	wrong error
}

// check says what is wrong with an answer, before anything is made of it. That of a worker that is at fault can have anything in it.
func (c *call) check(a *remote.Answer) error {
	switch {
	case a.ID != c.msg.ID:
		return fmt.Errorf("it is to call %.40q, not %q", a.ID, c.msg.ID)
	case len(a.Missing) > 0:
		for _, name := range a.Missing {
			if name == "" || !c.needs(name) {
				return fmt.Errorf("it misses %.100q, which the call does not need", name)
			}
		}
	case a.Error == "" && !slices.EqualFunc(a.Results, c.returns, remote.Result.Equal):
		return fmt.Errorf("it has the results %.200s, and the program returns %v", fmt.Sprint(a.Results), c.returns)
	}
	return nil
}

// needs reports whether the call has an object or a result among its arguments.
func (c *call) needs(name string) bool {
	return slices.ContainsFunc(c.objects, func(o *object) bool { return o.hash == name }) ||
		slices.ContainsFunc(c.msg.Args, func(a remote.Arg) bool {
			return slices.ContainsFunc(a.Parts, func(p remote.Part) bool { return p.Kept == name })
		})
}

// wrongAnswer is the error for one. What it was to bring is lost, as it is with a worker that is gone.
type wrongAnswer struct{ error }

// Is reports that it is errLost.
func (wrongAnswer) Is(target error) bool { return target == errLost }

// distrust notes a wrong answer of a worker. After three it is left out.
func (f *Fleet) distrust(worker string, wrong error) error {
	wrong = fmt.Errorf("%.500s", wrong) // it may quote the answer
	f.mu.Lock()
	n := 0
	if w := f.workers[worker]; w != nil && w.out == "" { // a name that is nobody's can be made up
		w.wrong++
		n = w.wrong
		f.events = append(f.events, fmt.Sprintf("worker %s gave a wrong answer: %v", w.label(), wrong))
	}
	f.mu.Unlock()
	if n == thrice {
		f.leaveOut(worker, fmt.Sprintf("%d wrong answers, the last: %v", n, wrong))
	}
	return wrongAnswer{fmt.Errorf("worker %s gave a wrong answer: %w", f.labelOf(worker), wrong)}
}

// answered takes an answer. That of a call which has one is compared with it.
func (c *call) answered(a *remote.Answer, wrong error) {
	if wrong != nil {
		wrong = fmt.Errorf("program %q: %w", c.msg.Name, wrong)
	}
	c.mu.Lock()
	first := c.answer
	c.mu.Unlock()
	if first != nil && len(a.Missing) == 0 && a.Error == "" {
		if wrong != nil {
			_ = c.d.fleet.distrust(a.Machine, wrong) // nobody needs it
		} else if first.Machine != a.Machine {
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
	case c.answers <- received{a, wrong}:
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

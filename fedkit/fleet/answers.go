package fleet

import (
	"slices"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit/internal/remote"
	"github.com/nats-io/nats.go"
)

// answered takes an answer of a worker.
func (f *Fleet) answered(m *nats.Msg) {
	a, err := remote.DecodeAnswer(m.Data)
	if err != nil || answers+f.name+"."+a.Machine != m.Subject {
		return // not from a worker, or not from this one
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

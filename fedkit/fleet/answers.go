package fleet

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit/internal/remote"
)

// forgetCall tells a worker to forget the results of a call, finished or not.
func (f *Fleet) forgetCall(worker string, c *call) {
	var keys []string
	for i := range c.returns {
		keys = append(keys, remote.Key(c.msg.ID, i))
	}
	f.forget(worker, keys...)
}

// check validates an answer before any use: a faulty worker may send anything.
func (c *call) check(a *remote.Answer) error {
	switch {
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
	return slices.ContainsFunc(c.objects, func(o object) bool { return o.hash == name }) ||
		slices.ContainsFunc(c.msg.Args, func(a remote.Arg) bool {
			return slices.ContainsFunc(a.Parts, func(p remote.Part) bool { return p.Kept == name })
		})
}

// distrust notes a wrong answer of a worker. After three it is left out.
func (f *Fleet) distrust(worker string, wrong error) error {
	wrong = fmt.Errorf("%.500s", wrong) // it may quote the answer
	f.mu.Lock()
	n := 0
	if w := f.workers[worker]; w != nil && w.out == "" {
		w.wrong++
		n = w.wrong
		f.events = append(f.events, fmt.Sprintf("worker %s gave a wrong answer: %v", w.label(), wrong))
	}
	f.mu.Unlock()
	if n == maxAttempts {
		f.leaveOut(worker, fmt.Sprintf("%d wrong answers, the last: %v", n, wrong))
	}
	return asLost{fmt.Errorf("worker %s gave a wrong answer: %w", f.labelOf(worker), wrong)}
}

// compareLate compares an answer with the one that counts. The worker forgets it unless its results are a second copy to keep.
func (c *call) compareLate(a *remote.Answer) {
	c.mu.Lock()
	first := c.answer
	c.mu.Unlock()
	if first != nil && first.Machine != a.Machine {
		switch wrong, why, err := c.compare(first, a); {
		case err != nil:
		case wrong == nil:
			c.accept(a)
		case slices.Contains(wrong, first):
			c.d.fail(fmt.Errorf("fleet: worker %s: %s; its result was used in this run already: run it again, from the checkpoint before if it has any", c.d.fleet.labelOf(first.Machine), why))
		}
	}
	c.mu.Lock()
	needed := c.using > 0
	c.mu.Unlock()
	if !needed {
		c.d.fleet.forgetCall(a.Machine, c)
	}
}

// forget tells a worker to forget results.
func (f *Fleet) forget(worker string, keys ...string) {
	_ = f.nc.Publish(asks+worker+forget, []byte(strings.Join(keys, " "))) // they are forgotten with their run, at the latest
}

// accept makes an answer the one that counts, unless there is one, and notes that its worker has the results.
func (c *call) accept(a *remote.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answer == nil {
		c.answer = a
	}
	for _, r := range a.Results {
		if r.Kept && !c.counted {
			c.using++
		}
	}
	c.counted = true
	if !slices.Contains(c.holders, a.Machine) {
		c.holders = append(c.holders, a.Machine)
	}
}

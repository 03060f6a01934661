// Package interrupt hears interrupts: Ctrl-C, or a notebook's stop button. It leaves them alone until a program enables it.
package interrupt

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"fedkit.example/fedkit/internal/fault"
)

var enabled atomic.Bool

// Enable lets Context hear interrupts for the rest of the program. The cells of a notebook do that, and the command fedkit. In other
// programs a run obeys its context alone.
func Enable() { enabled.Store(true) }

// Context returns Notify's context if interrupts are enabled, and otherwise one that only ctx and release end.
func Context(ctx context.Context) (_ context.Context, release func()) {
	if enabled.Load() {
		return Notify(ctx)
	}
	return context.WithCancel(ctx)
}

// Stopped reports whether an interrupt ended ctx. It may also end a context of the caller's that ctx comes from, at the same time: the
// answer does not depend on which ends first.
func Stopped(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), fault.ErrStopped) || enabled.Load() && came(100*time.Millisecond)
}

// interrupted is closed by the first interrupt that comes while somebody listens.
var (
	interrupted = make(chan struct{})
	interrupt   = sync.OnceFunc(func() { pardon(); close(interrupted) })
)

// Patience is how long further interrupts count as the first: a button that is clicked twice, or an interrupt that goes both to
// a notebook's kernel, which passes it on, and to all that the kernel has started.
const Patience = 500 * time.Millisecond

// pardon lets interrupts be without effect for a moment.
func pardon() {
	more := make(chan os.Signal, 1)
	signal.Notify(more, os.Interrupt)
	time.AfterFunc(Patience, func() { signal.Stop(more) })
}

// Notify returns a context that an interrupt ends, with ErrStopped as its cause, until release is called. Only the first interrupt is
// caught, so that a later one ends the program as usual, and every later context is over from the start.
func Notify(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if signal.Ignored(os.Interrupt) { // a program in the background of a script, which others' interrupts must not stop
		return ctx, func() { cancel(nil) }
	}
	if came(0) {
		cancel(fault.ErrStopped)
	}
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt)
	var listening sync.WaitGroup
	listening.Go(func() {
		select {
		case <-signals:
			interrupt()
		case <-interrupted: // as another run saw
		case <-over:
		}
		signal.Stop(signals)
		if len(signals) > 0 { // it came with the end
			interrupt()
		}
		if came(0) {
			cancel(fault.ErrStopped)
		}
	})
	return ctx, func() {
		close(over)
		listening.Wait()
		cancel(nil)
	}
}

// came waits a moment for an interrupt that may be on its way.
func came(moment time.Duration) bool {
	select {
	case <-interrupted:
		return true
	case <-time.After(moment):
	}
	select {
	case <-interrupted:
		return true
	default:
		return false
	}
}

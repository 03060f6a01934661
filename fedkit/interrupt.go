package fedkit

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"time"
)

// interrupted is closed by the first interrupt that comes while a run is under way: Ctrl-C, or a notebook's stop button.
var (
	interrupted = make(chan struct{})
	interrupt   = sync.OnceFunc(func() { pardon(); close(interrupted) })
)

// patience is how long further interrupts count as the first: a button that is clicked twice, or an interrupt that goes both to
// a notebook's kernel, which passes it on, and to all that the kernel has started.
const patience = 500 * time.Millisecond

// pardon lets interrupts be without effect for a moment.
func pardon() {
	more := make(chan os.Signal, 1)
	signal.Notify(more, os.Interrupt)
	time.AfterFunc(patience, func() { signal.Stop(more) })
}

// Interruptible returns a context that an interrupt ends, the stop button of a notebook or Ctrl-C, with ErrStopped as its
// cause. Until release is called, the first interrupt does not end the program, nor do those within half a second of it. Run and Rounds do this themselves; a program
// of many runs needs it for the moments between them.
func Interruptible(ctx context.Context) (_ context.Context, release func()) { return listen(ctx) }

// listen returns a context that an interrupt cancels, until release is called. Only the first interrupt is caught, so
// that a later one ends the program as usual.
func listen(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if signal.Ignored(os.Interrupt) { // a program in the background of a script, which others' interrupts must not stop
		return ctx, func() { cancel(nil) }
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
		if wasInterrupted(0) {
			cancel(ErrStopped)
		}
	})
	return ctx, func() {
		close(over)
		listening.Wait()
		cancel(nil)
	}
}

// wasInterrupted waits a moment for an interrupt that may be on its way.
func wasInterrupted(moment time.Duration) bool {
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

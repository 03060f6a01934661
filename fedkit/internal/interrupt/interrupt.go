// Package interrupt handles interrupts: Ctrl-C, or a notebook's stop button. It does nothing until a program enables it.
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

// Enable makes Context handle interrupts for the rest of the program. Notebook cells and the command fedkit call it. In other
// programs a run obeys its context alone.
func Enable() { enabled.Store(true) }

// Context returns Notify's context if interrupts are enabled, and otherwise one that only ctx and release end.
func Context(ctx context.Context) (_ context.Context, release func()) {
	if enabled.Load() {
		return Notify(ctx)
	}
	return context.WithCancel(ctx)
}

// Stopped reports whether an interrupt ended ctx. The interrupt may also end a parent context of the caller's: the answer does
// not depend on which ends first.
func Stopped(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), fault.ErrStopped) || enabled.Load() && came(100*time.Millisecond)
}

// interrupted is closed by the first interrupt during a Notify.
var (
	interrupted = make(chan struct{})
	interrupt   = sync.OnceFunc(func() { debounce(); close(interrupted) })
)

// Patience is the debounce interval, in which further interrupts count as the first: a double click on the button, or an
// interrupt that goes both to a notebook's kernel, which forwards it, and to the kernel's child processes.
var Patience = 500 * time.Millisecond // a variable for the tests

// debounce ignores interrupts for Patience.
func debounce() {
	more := make(chan os.Signal, 1)
	signal.Notify(more, os.Interrupt)
	time.AfterFunc(Patience, func() { signal.Stop(more) })
}

// Notify returns a context that an interrupt cancels, with ErrStopped as its cause, until release is called. Only the first
// interrupt is caught: a later one ends the program as usual, and later contexts are canceled from the start.
func Notify(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if signal.Ignored(os.Interrupt) { // a script's background job: the interrupts are not for it
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
		case <-interrupted: // caught by another run
		case <-over:
		}
		signal.Stop(signals)
		if len(signals) > 0 { // it arrived during release
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

// came reports whether an interrupt has arrived, and waits a moment for one.
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

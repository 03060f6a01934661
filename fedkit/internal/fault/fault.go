// Package fault has the errors of fedkit: what is invalid, the path of the option, and the line of code that led to it.
package fault

import (
	"context"
	"errors"
	"fmt"

	"fedkit.example/fedkit/internal/text"
)

var (
	// ErrInvalid says that an option, a shape or an index is not allowed. It is found before anything runs.
	ErrInvalid = errors.New("invalid")
	// ErrNotFinite says that a client returned an update that holds NaN or Inf.
	ErrNotFinite = errors.New("not finite")
	// ErrStopped says that the program was interrupted, by a notebook's stop button or Ctrl-C: before the run had finished a
	// round, or before it began.
	ErrStopped = errors.New("stopped: the program was interrupted")
	// ErrNewer says that a newer version of fedkit wrote a file, in a format that this one does not read.
	ErrNewer = errors.New("a newer fedkit wrote it")
)

// Invalid is the error for a bad option: it names the field, the value it has and what is allowed. A long value is truncated.
// Strategies and components return it from their Check method.
func Invalid(field string, value any, allowed string) error {
	return &invalid{field, fmt.Sprint(value), allowed}
}

type invalid struct{ field, value, allowed string }

func (e *invalid) Error() string {
	return fmt.Sprintf("%v: %s = %s: must be %s", ErrInvalid, text.Short(e.field), text.Short(e.value), e.allowed)
}

func (e *invalid) Unwrap() error { return ErrInvalid }

// Within prefixes the field that an error names with the path of its component.
func Within(path string, err error) error {
	e, ok := err.(*invalid)
	switch {
	case err == nil || path == "":
		return err
	case !ok:
		return fmt.Errorf("%s: %w", path, err)
	case e.field == "": // the component is the option
		return &invalid{path, e.value, e.allowed}
	}
	return &invalid{path + "." + e.field, e.value, e.allowed}
}

// Recovered turns a panic in user code into an error, "panic: …", prefixed with what unless that is empty; for use with defer.
func Recovered(what string, err *error) {
	if p := recover(); p != nil {
		*err = Within(what, fmt.Errorf("panic: %w", Panicked(p)))
	}
}

// Until does work that is slow for many clients, and returns its error. If ctx is canceled, it returns without waiting for the work.
func Until(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() {
		err := errors.New("the work was given up") // by runtime.Goexit
		defer func() { done <- err }()
		defer Recovered("", &err)
		err = work()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

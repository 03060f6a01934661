package chart

import (
	"errors"
	"fmt"

	"fedkit.example/fedkit/internal/display"
)

// ErrorPrefix begins the line on standard error that says why a chart could not be drawn, so that scripts can find it.
const ErrorPrefix = display.ErrorPrefix

var (
	errEmpty = errors.New("no series has a point with finite values")
	errArrow = errors.New("an arrow of a diagram does not lead from one of its boxes to another")
)

// Failed returns a figure that carries the error: Show displays it, and Err and Save return it.
func Failed(err error) *Figure { return &Figure{err: err} }

// Make returns the figure that build fills in. If build fails or panics, the figure carries the error, with what before
// it: "plot: accuracy: no history given". For tables, there is table.Make.
func Make(what string, build func(*Figure) error) *Figure {
	f := new(Figure)
	if err := display.Try(func() error { return build(f) }); err != nil {
		f.err = fmt.Errorf("%s: %w", what, err)
	}
	return f
}

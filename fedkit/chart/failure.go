package chart

import (
	"errors"
	"fmt"
	"html"
)

// ErrorPrefix begins the line on standard error that says why a chart could not be drawn, so that scripts can find it.
const ErrorPrefix = "chart error: "

var errEmpty = errors.New("no series has a point with finite values")

// Failed returns a figure that carries the error: Show displays it, and Err, PNG and Save return it.
func Failed(err error) *Figure { return &Figure{err: err} }

func (f *Figure) fail(err error) { f.err = err }
func (t *Table) fail(err error)  { t.err = err }

// Make returns the chart that build fills in. If build fails or panics, the chart carries the error, with what before
// it: "plot: accuracy: no history given".
func Make[C Figure | Table](what string, build func(*C) error) *C {
	c := new(C)
	if err := try(func() error { return build(c) }); err != nil {
		any(c).(interface{ fail(error) }).fail(fmt.Errorf("%s: %w", what, err))
	}
	return c
}

// try turns a panic of f, or of the drawing libraries under it, into an error.
func try(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("could not be drawn: %v", p)
		}
	}()
	return f()
}

// errorBox is an error that nobody scrolls past.
func errorBox(err error) string {
	return `<div style="border: 2px solid #c3322f; background: var(--jp-rendermime-error-background, #fdecea); ` +
		`color: var(--jp-content-font-color1, #7a0016); padding: 8px 12px; white-space: pre-wrap; overflow-wrap: anywhere">` +
		html.EscapeString(ErrorPrefix+err.Error()) + `</div>`
}

// Package display sends outputs to the notebook cell that runs the program. It knows nothing of their content, and links no
// kernel: package gonb does.
package display

import (
	"fmt"
	"html"
	"os"
)

// Cell is a notebook cell, or a stand-in for one in tests. Outputs with the same id replace each other.
type Cell interface {
	Send(id string, forms, metadata map[string]any) error // an output by MIME type
	Sync()                                                // waits until all is shown
}

var cell Cell

// Use sets the cell that the program runs in, nil for none.
func Use(c Cell) { cell = c }

// InNotebook reports whether there is a cell.
func InNotebook() bool { return cell != nil }

// Output is one output of the cell. The zero value is ready to use.
type Output struct{ id string }

// Send replaces the output by the forms, by MIME type, and if they are final waits until they are shown.
func (o *Output) Send(forms, metadata map[string]any, final bool) error {
	if o.id == "" {
		o.id = newID()
	}
	if err := cell.Send(o.id, forms, metadata); err != nil {
		return fmt.Errorf("chart: the notebook does not answer: %w", err)
	}
	if final {
		cell.Sync()
	}
	return nil
}

// Text replaces the output by plain text; outside a notebook it does nothing. If it is final, the program may end as soon as Text
// returns.
func (o *Output) Text(text string, final bool) error {
	if !InNotebook() {
		return nil
	}
	return o.Send(map[string]any{"text/plain": text}, nil, final)
}

// Report shows an error, if there is one, in place of a figure or a table; outside a notebook that answers, on standard error.
func (o *Output) Report(err error) {
	if err == nil {
		return
	}
	text := ErrorPrefix + err.Error()
	if !InNotebook() || o.Send(map[string]any{"text/html": ErrorBox(err), "text/plain": text}, nil, true) != nil {
		fmt.Fprintln(os.Stderr, text)
	}
}

// ErrorPrefix begins the text that says why a figure or a table could not be drawn, so that scripts can find it.
const ErrorPrefix = "chart error: "

// ErrorBox is an error in an HTML box that stands out.
func ErrorBox(err error) string {
	return `<div style="border: 2px solid #c3322f; background: var(--jp-rendermime-error-background, #fdecea); ` +
		`color: var(--jp-content-font-color1, #7a0016); padding: 8px 12px; white-space: pre-wrap; overflow-wrap: anywhere">` +
		html.EscapeString(ErrorPrefix+err.Error()) + `</div>`
}

// Try turns a panic of f, or of the drawing libraries under it, into an error.
func Try(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("could not be drawn: %v", p)
		}
	}()
	return f()
}

package chart

import (
	"cmp"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

const mimeVegaLite = "application/vnd.vegalite.v5+json"

func init() {
	gob.Register(map[string]any{}) // what a specification is made of
	gob.Register([]any{})
	if gonbui.IsNotebook {
		cell = gonb{}
	}
}

// InNotebook reports whether charts are drawn in a notebook, because GoNB runs the program.
func InNotebook() bool { return cell != nil }

// Display is one output that is drawn again and again in its place, for what changes while a program runs. The zero
// value is ready to use.
type Display struct {
	Log io.Writer // told which file was written outside a notebook; default os.Stdout

	id string
}

// Show draws the row in place of what the display has shown before. Only the final drawing of a row has a PNG, which
// takes some 50 ms. Outside a notebook the final one is written to its file, and the others are ignored.
func (d *Display) Show(r Row, final bool) error {
	return r.draw(func(s *sheet) error {
		s.draft = !final
		switch {
		case InNotebook():
			forms, metadata, err := s.forms(final)
			if err != nil {
				return err
			}
			return d.send(forms, metadata, final)
		case final:
			return s.write(cmp.Or[io.Writer](d.Log, os.Stdout))
		}
		return nil
	})
}

// Text shows plain text in place of what the display has shown before; outside a notebook it does nothing. Final says
// that no more will come, so that the program may end as soon as Text returns.
func (d *Display) Text(text string, final bool) error {
	if !InNotebook() {
		return nil
	}
	return d.send(object{"text/plain": text}, nil, final)
}

// report shows an error where the chart should be, and on standard error.
func (d *Display) report(err error) {
	if err == nil {
		return
	}
	text := ErrorPrefix + err.Error()
	fmt.Fprintln(os.Stderr, text)
	if InNotebook() {
		_ = d.send(object{"text/html": errorBox(err), "text/plain": text}, nil, true) // standard error has said it
	}
}

// forms returns the sheet in all its forms, by MIME type.
func (s *sheet) forms(withPNG bool) (forms, metadata object, err error) {
	forms = object{mimeVegaLite: s.vegaLite(), "text/plain": s.text()}
	metadata = object{mimeVegaLite: object{"embed_options": object{"defaultStyle": embedStyle}}}
	if withPNG {
		width, height := s.size()
		metadata["image/png"] = object{"width": width, "height": height}
		forms["image/png"], err = s.png()
	}
	return forms, metadata, err
}

// send puts the forms into the display's place, and if they are final waits until they are there.
func (d *Display) send(forms, metadata object, final bool) error {
	if d.id == "" {
		d.id = "chart_" + gonbui.UniqueId()
	}
	if err := cell.send(d.id, forms, metadata); err != nil {
		return fmt.Errorf("chart: the notebook does not answer: %w", err)
	}
	if final {
		cell.sync()
	}
	return nil
}

// cell is the notebook cell that runs, or a stand-in for it in tests; nil outside a notebook. Outputs with the same id
// replace each other.
var cell interface {
	send(id string, forms, metadata object) error
	sync() // waits until all is shown
}

type gonb struct{}

func (gonb) send(id string, forms, metadata object) error {
	data := &protocol.DisplayData{Data: map[protocol.MIMEType]any{}, Metadata: metadata, DisplayID: id}
	for mime, form := range forms {
		data.Data[protocol.MIMEType(mime)] = form
	}
	gonbui.SendData(data)
	return gonbui.Error()
}

// sync does not wait forever: a notebook that has gone away would hold up a run that is otherwise fine.
func (gonb) sync() {
	done := make(chan struct{})
	go func() { gonbui.Sync(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
	}
}

package chart

import (
	"cmp"
	"io"
	"os"

	_ "fedkit.example/fedkit/gonb" // shows what is sent to the notebook
	"fedkit.example/fedkit/internal/display"
)

const mimeVegaLite = "application/vnd.vegalite.v5+json"

// InNotebook reports whether charts are drawn in a notebook, because GoNB runs the program.
func InNotebook() bool { return display.InNotebook() }

// Display is one output that is drawn again and again in its place, for what changes while a program runs. The zero
// value is ready to use.
type Display struct {
	Log io.Writer // told which file was written outside a notebook; default os.Stdout

	output display.Output
}

// Show draws the row in place of what the display has shown before. Only the final drawing of a row has a PNG, which
// takes some 50 ms. Outside a notebook the final one is written to its file, and the others are ignored.
func (d *Display) Show(r Row, final bool) error {
	return r.draw(func(s *sheet) error {
		if s.draft = !final; s.draft {
			s.panels[0].ends = nil // the legend stays while lines move
		}
		switch {
		case InNotebook():
			forms, metadata, err := s.forms(final)
			if err != nil {
				return err
			}
			return d.output.Send(forms, metadata, final)
		case final:
			return s.write(cmp.Or[io.Writer](d.Log, os.Stdout))
		}
		return nil
	})
}

// Text shows plain text in place of what the display has shown before; outside a notebook it does nothing. Final says
// that no more will come, so that the program may end as soon as Text returns.
func (d *Display) Text(text string, final bool) error { return d.output.Text(text, final) }

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

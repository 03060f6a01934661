package chart

import (
	"cmp"
	_ "embed"
	"io"
	"os"
	"strings"

	_ "fedkit.example/fedkit/gonb" // shows what is sent to the notebook
	"fedkit.example/fedkit/internal/display"
)

const mimeVegaLite = "application/vnd.vegalite.v5+json"

//go:embed embed.css
var css string

// embedStyle is how JupyterLab styles figures, instead of vega-embed's own style, which knows one theme only and makes
// figures as wide as they like: tooltips and the menu have the theme's colors, and no figure is wider than its cell. A page
// has the style of the first figure that it shows.
var embedStyle = strings.ReplaceAll(css, "\n", "")

// Display is one output that is drawn again and again in its place, for what changes while a program runs. The zero
// value is ready to use.
type Display struct {
	Log io.Writer // told which file was written outside a notebook; default os.Stdout

	output display.Output
}

// Show draws the row, replacing what the display has shown before. Outside a notebook the final drawing of it is written to
// its file, and the others are ignored.
func (d *Display) Show(r Row, final bool) error {
	return r.draw(func(s *sheet) error {
		if s.draft = !final; s.draft {
			s.panels[0].ends = nil // the legend stays while lines move
		}
		switch {
		case display.InNotebook():
			return d.output.Send(object{mimeVegaLite: s.vegaLite(), "text/plain": s.text()},
				object{mimeVegaLite: object{"embed_options": object{"defaultStyle": embedStyle}}}, final)
		case final:
			return s.write(cmp.Or[io.Writer](d.Log, os.Stdout))
		}
		return nil
	})
}

// Text shows plain text in place of what the display has shown before; outside a notebook it does nothing. Final says
// that no more will come, so that the program may end as soon as Text returns.
func (d *Display) Text(text string, final bool) error { return d.output.Text(text, final) }

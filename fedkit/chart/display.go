package chart

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode"

	_ "fedkit.example/fedkit/gonb" // shows what is sent to the notebook
	"fedkit.example/fedkit/internal/display"
	"fedkit.example/fedkit/internal/file"
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

// Dir is the folder that figures are written to outside a notebook; "" is the current one. It is made if need be.
var Dir = ""

// write writes the sheet into Dir, and says where.
func (s *sheet) write(log io.Writer) error {
	path := filepath.Join(Dir, s.name+".html")
	err := s.save(path)
	if err == nil {
		_, err = fmt.Fprintln(log, "wrote", path)
	}
	return err
}

// save writes the sheet in the form of the path's extension, atomically, and makes its folders.
func (s *sheet) save(path string) (err error) {
	var data []byte
	switch form := strings.ToLower(filepath.Ext(path)); form {
	case ".html":
		data, err = s.page()
	case ".json":
		data, err = json.MarshalIndent(s.vegaLite(), "", " ")
	case ".png", ".svg":
		data, err = s.convert(form[1:])
	default:
		err = fmt.Errorf("a figure is saved as .html, .json, .png or .svg, not %q", form)
	}
	if err == nil {
		err = file.Write(path, data)
	}
	if err != nil {
		return fmt.Errorf("chart: %s: %w", path, err)
	}
	return nil
}

//go:embed page.html
var webPage string

// page is a page with the figure, which browsers draw with the scripts of Vega.
func (s *sheet) page() ([]byte, error) {
	spec, err := json.Marshal(s.vegaLite()) // with < and > as \u003c and \u003e
	return fmt.Appendf(nil, webPage, html.EscapeString(cmp.Or(s.panels[0].Title, s.name)), spec, embedStyle), err
}

//go:embed convert.py
var converter string

// convert has the Python of FEDKIT_PYTHON, or python3, draw the specification.
func (s *sheet) convert(form string) ([]byte, error) {
	spec, err := json.Marshal(s.vegaLite())
	if err != nil {
		return nil, err
	}
	python := cmp.Or(os.Getenv("FEDKIT_PYTHON"), "python3")
	run, says := exec.Command(python, "-c", converter, form), new(bytes.Buffer)
	run.Stdin, run.Stderr = bytes.NewReader(spec), says
	data, err := run.Output()
	if last := strings.TrimSpace(says.String()); err != nil && last != "" {
		err = errors.New(last[strings.LastIndex(last, "\n")+1:]) // of a traceback
	}
	if err != nil {
		return nil, fmt.Errorf("%s draws no .%s (%w): it needs vl-convert, `pip install vl-convert-python`; .html and .json need nothing", python, form, err)
	}
	return data, nil
}

// fileName is Name, or what is left of Title when it is made fit for a file.
func (f *Figure) fileName() string {
	words := strings.FieldsFunc(strings.ToLower(cmp.Or(f.Name, f.Title)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.'
	})
	return cmp.Or(strings.Trim(strings.Join(words, "-"), ".-"), "figure")
}

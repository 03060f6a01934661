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

	"fedkit.example/fedkit/internal/file"
)

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

// page is a page with the figure, which browsers draw with the scripts of Vega.
func (s *sheet) page() ([]byte, error) {
	spec, err := json.Marshal(s.vegaLite()) // with < and > as \u003c and \u003e
	const from = "https://cdn.jsdelivr.net/npm/"
	return fmt.Appendf(nil, `<!doctype html>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<script src="%svega@5"></script>
<script src="%svega-lite@5"></script>
<script src="%svega-embed@6"></script>
<div id="figure"></div>
<script>vegaEmbed("#figure", %s, {"defaultStyle": %q})</script>
`, html.EscapeString(cmp.Or(s.panels[0].Title, s.name)), from, from, from, spec, embedStyle), err
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

package plot

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Row is several figures side by side in one output, with one legend: accuracy and loss, say. Its file is named after
// its first figure.
type Row []*Figure

// Show is Figure.Show for the whole row.
func (r Row) Show() (err error) {
	defer guard(&err)
	s, err := r.prepare()
	if err != nil {
		return err
	}
	return s.show()
}

// PNG is Figure.PNG for the whole row.
func (r Row) PNG() (png []byte, err error) {
	defer guard(&err)
	s, err := r.prepare()
	if err != nil {
		return nil, err
	}
	return s.png()
}

// VegaLite is Figure.VegaLite for the whole row; nil if there is nothing to draw.
func (r Row) VegaLite() (spec map[string]any) {
	defer func() {
		if recover() != nil {
			spec = nil
		}
	}()
	s, err := r.prepare()
	if err != nil {
		return nil
	}
	return s.vegaLite()
}

// Save is Figure.Save for the whole row.
func (r Row) Save(path string) (err error) {
	defer guard(&err)
	s, err := r.prepare()
	if err != nil {
		return err
	}
	var data []byte
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".png":
		data, err = s.png()
	case ".json":
		data, err = json.MarshalIndent(s.vegaLite(), "", " ")
	default:
		err = fmt.Errorf("plot: %s: a figure is saved as .png or .json, not %q", path, ext)
	}
	if err != nil {
		return err
	}
	return writeFile(path, data)
}

// guard turns a panic of the drawing libraries into an error.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("plot: the figure could not be drawn: %v", p)
	}
}

var errEmpty = errors.New("no series has a point with finite values")

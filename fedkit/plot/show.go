package plot

import (
	"encoding/gob"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Dir is the folder that figures are written to outside a notebook; "" is the current one. It is made if need be.
var Dir = ""

const mimeVegaLite = "application/vnd.vegalite.v5+json"

func init() { // what a specification is made of
	gob.Register(map[string]any{})
	gob.Register([]any{})
}

// A screen is where outputs go: the notebook, or a stand-in for it in tests. Forms are by MIME type; outputs that have
// the same id replace each other, and an empty id stands for a new one.
type screen interface {
	send(id string, forms, metadata map[string]any) error
	sync() // waits until all is shown
}

// notebook is the notebook whose cell is running.
type notebook struct{}

func (notebook) send(id string, forms, metadata map[string]any) error {
	data := &protocol.DisplayData{Data: map[protocol.MIMEType]any{}, Metadata: metadata, DisplayID: id}
	for mime, form := range forms {
		data.Data[protocol.MIMEType(mime)] = form
	}
	gonbui.SendData(data)
	if err := gonbui.Error(); err != nil {
		return fmt.Errorf("plot: the notebook does not answer: %w", err)
	}
	return nil
}

// sync does not wait for ever: a notebook that has gone away would hold up a run that is otherwise fine.
func (notebook) sync() {
	done := make(chan struct{})
	go func() { gonbui.Sync(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
	}
}

// show draws the sheet in the notebook, or writes it to its file and says so.
func (s *sheet) show() error {
	if !gonbui.IsNotebook {
		path, err := s.write()
		if err == nil {
			fmt.Println("wrote", path)
		}
		return err
	}
	forms, metadata, err := s.forms(true)
	if err != nil {
		return err
	}
	if err := (notebook{}).send("", forms, metadata); err != nil {
		return err
	}
	notebook{}.sync()
	return nil
}

// forms returns the sheet in all its forms. Drawing the PNG takes some 50 ms; a run in progress does without.
func (s *sheet) forms(withPNG bool) (forms, metadata map[string]any, err error) {
	forms = map[string]any{mimeVegaLite: s.vegaLite(), "text/plain": s.text()}
	if !withPNG {
		return forms, nil, nil
	}
	png, err := s.png()
	if err != nil {
		return nil, nil, err
	}
	forms["image/png"] = png
	width, height := s.size()
	return forms, map[string]any{"image/png": map[string]any{"width": width, "height": height}}, nil
}

// write writes the sheet into Dir and returns the path.
func (s *sheet) write() (path string, err error) {
	png, err := s.png()
	if err != nil {
		return "", err
	}
	path = filepath.Join(Dir, s.name+".png")
	return path, writeFile(path, png)
}

// writeFile writes a file that is complete or not there: under a temporary name in the same folder, then renamed.
func writeFile(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("plot: %w", err)
		}
	}()
	_, err = f.Write(data)
	if e := f.Chmod(0o644); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

package fedkit

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"fedkit.example/fedkit/config"
	"github.com/google/renameio/v2"
)

// checkpoint is what a run needs to continue: what happened, and the strategy's State. Randomness needs nothing, since it
// depends on seed, round and client alone.
type checkpoint struct {
	History []byte // JSON
	State   []byte // gob
	Layout  string // of State, in words: gob would skip a field that has another name now
}

// checkWritable makes the folder of a checkpoint, and refuses a path that cannot be written.
func checkWritable(path string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		if info, _ := os.Stat(path); info != nil && info.IsDir() || os.IsPathSeparator(path[len(path)-1]) {
			err = errors.New("it is a folder")
		}
	}
	if err == nil {
		var f *renameio.PendingFile
		if f, err = renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path))); err == nil {
			err = f.Cleanup()
		}
	}
	if err != nil {
		return fmt.Errorf("%w: Options.Checkpoint = %s: must be a file that can be written: %w", ErrInvalid, path, err)
	}
	return nil
}

// saveCheckpoint writes a run's checkpoint; the file appears whole or not at all.
func saveCheckpoint(path string, h *History, states []any) error {
	var c checkpoint
	var err error
	if c.History, err = json.Marshal(h); err != nil {
		return err
	}
	if c.State, err = encodeStates(states); err != nil {
		return err
	}
	c.Layout = layoutOf(states)
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(c); err != nil {
		return err
	}
	return writeFile(path, b.Bytes())
}

func encodeStates(states []any) ([]byte, error) {
	var b bytes.Buffer
	e := gob.NewEncoder(&b)
	for _, state := range states {
		if err := e.Encode(state); err != nil {
			return nil, fmt.Errorf("the strategy's State cannot be saved: %w", err)
		}
	}
	return b.Bytes(), nil
}

// layoutOf writes down the fields of States.
func layoutOf(states []any) string {
	var all []string
	for _, state := range states {
		all = append(all, layout(reflect.TypeOf(state).Elem(), nil))
	}
	return strings.Join(all, "; ")
}

func layout(t reflect.Type, above []reflect.Type) string {
	if savesItself(t) || slices.Contains(above, t) {
		return t.String()
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			fields = append(fields, t.Field(i).Name+" "+layout(t.Field(i).Type, above))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case reflect.Pointer:
		return "*" + layout(t.Elem(), above)
	case reflect.Slice, reflect.Array:
		return "[]" + layout(t.Elem(), above)
	case reflect.Map:
		return "map[" + layout(t.Key(), above) + "]" + layout(t.Elem(), above)
	}
	return t.Kind().String()
}

// loadCheckpoint restores the strategy's State and returns the history so far. A missing file is no error, and no
// history; one that belongs to another run is refused.
func loadCheckpoint(path string, h *History, states []any) (past *History, err error) {
	defer func() {
		if p := recover(); p != nil { // gob is given a file's bytes
			err = fmt.Errorf("%v", p)
		}
		if err != nil {
			err = fmt.Errorf("checkpoint %s: %w", path, err)
		}
	}()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var c checkpoint
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&c); err != nil {
		return nil, err
	}
	past = new(History)
	if err := json.Unmarshal(c.History, past); err != nil {
		return nil, err
	}
	if err := past.check(); err != nil {
		return nil, err
	}
	if differ := past.differs(h); differ != nil {
		return nil, fmt.Errorf("%w: it belongs to another run: %s", ErrInvalid, strings.Join(differ, "; "))
	}
	if is := layoutOf(states); c.Layout != is {
		return nil, fmt.Errorf("%w: it belongs to another run: State: %s, was %s", ErrInvalid, is, c.Layout)
	}
	d := gob.NewDecoder(bytes.NewReader(c.State))
	for _, state := range states {
		reflect.ValueOf(state).Elem().SetZero() // gob leaves out what is zero
		if err := d.Decode(state); err != nil {
			return nil, fmt.Errorf("the strategy's State: %w", err)
		}
	}
	return past, nil
}

// differs says in what h is another run than past, field by field.
func (past *History) differs(h *History) (fields []string) {
	for _, f := range []struct {
		name    string
		was, is any
	}{
		{"Name", past.Name, h.Name}, {"Data", past.Data, h.Data}, {"Partition", past.Partition, h.Partition}, {"Model", past.Model, h.Model},
		{"Clients", past.Clients, h.Clients}, {"Params", past.Params, h.Params}, {"Seed", past.Seed, h.Seed}, {"Device", past.Device, h.Device},
	} {
		if f.was != f.is {
			fields = append(fields, fmt.Sprintf("%s: %v, was %v", f.name, f.is, f.was))
		}
	}
	if past.Manifest != nil && !past.Manifest.Equal(*h.Manifest) {
		fields = append(fields, fmt.Sprintf("Manifest: %v, was %v", h.Manifest, past.Manifest))
	}
	return append(fields, config.Diff(past.Config, h.Config)...)
}

package fedkit

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
)

// checkpoint is what a run needs to go on: what happened, and the strategy's State. Randomness needs nothing, since it
// depends on seed, round and client alone.
type checkpoint struct {
	History []byte // JSON
	State   []byte // gob
}

// stateField returns the address of a strategy's State field, nil if it has none.
func stateField(s Strategy) any {
	v := reflect.Indirect(reflect.ValueOf(s))
	if v.Kind() != reflect.Struct {
		return nil
	}
	f := v.FieldByName("State")
	if !f.IsValid() || !f.CanAddr() || !f.CanInterface() {
		return nil
	}
	return f.Addr().Interface()
}

// saveCheckpoint writes a run's checkpoint; the file appears whole or not at all.
func saveCheckpoint(path string, h *History, s Strategy) error {
	var c checkpoint
	var err error
	if c.History, err = json.Marshal(h); err != nil {
		return err
	}
	if state := stateField(s); state != nil {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(state); err != nil {
			return fmt.Errorf("the strategy's State: %w", err)
		}
		c.State = b.Bytes()
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(c); err != nil {
		return err
	}
	return writeFile(path, b.Bytes())
}

// loadCheckpoint restores the strategy's State and returns the history so far. A missing file is no error, and no
// history; one that belongs to another run is refused.
func loadCheckpoint(path string, h *History, s Strategy) (past *History, err error) {
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
	was, is := *past, *h
	was.Rounds, is.Rounds = nil, nil
	if was.Manifest == nil { // of the time before it was kept
		is.Manifest = nil
	}
	if !reflect.DeepEqual(was, is) {
		return nil, fmt.Errorf("%w: it belongs to another run: %+v with %v, not %+v with %v", ErrInvalid, was, was.Manifest, is, is.Manifest)
	}
	if state := stateField(s); state != nil {
		if err := gob.NewDecoder(bytes.NewReader(c.State)).Decode(state); err != nil {
			return nil, fmt.Errorf("the strategy's State: %w", err)
		}
	}
	return past, nil
}

package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/file"
	"fedkit.example/fedkit/internal/text"
)

// schema is the number of the form in which entries are written. Those with a larger one are left alone.
const schema = 1

// entry is a Run as it is stored.
type entry struct {
	Schema   int             `json:"schema"`
	Key      string          `json:"key"`
	Name     string          `json:"name"`
	Labels   []Label         `json:"labels,omitempty"`
	Rounds   int             `json:"rounds"`
	Accuracy fedkit.Float    `json:"accuracy"`
	Seconds  float64         `json:"seconds"`
	Finished time.Time       `json:"finished"`
	Models   bool            `json:"models,omitempty"`
	Error    string          `json:"error,omitempty"`
	Retry    bool            `json:"retry,omitempty"`
	About    *fedkit.History `json:"about"`
}

// entry is the run as it is stored.
func (r *Run) entry() entry {
	about := *r.About
	about.Rounds = nil
	return entry{schema, r.Key, r.Name, r.Labels, r.Rounds, r.Accuracy, r.Seconds, r.Finished, r.Models, r.Error, r.Retry, &about}
}

func (r *Run) write() error {
	b, err := json.MarshalIndent(r.entry(), "", "\t")
	if err != nil {
		return err
	}
	return file.Write(r.Path(entryFile), append(b, '\n'))
}

var form = regexp.MustCompile(`^[^/\\]+-[0-9a-f]{12}$`) // of an entry's name

// read reads the entry of a name.
func read(dir, id string) (*Run, error) {
	b, err := os.ReadFile(filepath.Join(dir, id, entryFile))
	if err != nil {
		return nil, err
	}
	r, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("study: %s: %w", filepath.Join(dir, id, entryFile), text.ShortError(err))
	}
	if r.ID = id; idOf(r.About.Strategy, r.Key) != id {
		return nil, fmt.Errorf("study: %s: the key in it is %q", filepath.Join(dir, id, entryFile), r.Key)
	}
	r.dir = dir
	return r, nil
}

// parse reads an entry, and checks that what it says of the run is what its key is made of.
func parse(b []byte) (*Run, error) {
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, err
	}
	if version.Schema > schema {
		return nil, fmt.Errorf("%w: schema %d, this one knows %d", fedkit.ErrNewer, version.Schema, schema)
	}
	var e entry
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return nil, err
	}
	return e.run()
}

// run returns the run of an entry.
func (e *entry) run() (*Run, error) {
	if e.Schema != schema || e.About == nil || e.About.Manifest == nil || e.Rounds < 0 {
		return nil, errors.New("it is not the entry of a run")
	}
	if key, err := keyOf(e.About); err != nil || key != e.Key {
		return nil, errors.New("its key is not that of what it says")
	}
	return &Run{Key: e.Key, Name: e.Name, Labels: e.Labels, Rounds: e.Rounds, Accuracy: e.Accuracy, Seconds: e.Seconds, Finished: e.Finished,
		Models: e.Models, Error: e.Error, Retry: e.Retry, About: e.About}, nil
}

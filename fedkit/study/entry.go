package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/file"
	"fedkit.example/fedkit/internal/lines"
	"fedkit.example/fedkit/internal/text"
)

// schema is the version of the entries' format. Newer entries are left alone; older ones have no checksums, and their runs are
// recomputed.
const schema = 2

// errOlder is the error of what was written without checksums.
var errOlder = errors.New("stored by an older fedkit, without checksums")

// entry is a Run as it is stored.
type entry struct {
	Schema int `json:"schema"`
	*Run
	Files map[string]digest `json:"files,omitempty"`
}

// entry is the run as it is stored.
func (r *Run) entry() entry {
	stored, about := *r, *r.About
	about.Rounds, stored.About = nil, &about
	return entry{schema, &stored, r.files}
}

func (r *Run) write() error {
	b, err := json.MarshalIndent(r.entry(), "", "\t")
	if err != nil {
		return err
	}
	return file.Write(r.Path(entryFile), seal(b))
}

// sealed begins the last line of an entry, with the SHA-256 of all that stands before it.
const sealed = ",\n\t\"sha256\": \""

// seal adds the last line.
func seal(entry []byte) []byte {
	entry = slices.Clip(bytes.TrimSuffix(entry, []byte("\n}")))
	return fmt.Appendf(entry, "%s%x\"\n}\n", sealed, sha256.Sum256(entry))
}

// unseal removes the last line, and refuses an entry that was altered.
func unseal(b []byte) ([]byte, error) {
	i := bytes.LastIndex(b, []byte(sealed))
	if i < 0 {
		return nil, errors.New("altered: it has no checksum")
	}
	entry := append(b[:i:i], "\n}"...)
	if !bytes.Equal(seal(entry), b) {
		return nil, errors.New("altered: its checksum does not match")
	}
	return entry, nil
}

var form = regexp.MustCompile(`^[^/\\]+-[0-9a-f]{12}$`) // of an entry's name

// read reads the entry of a name.
func read(dir, id string) (*Run, error) {
	path := filepath.Join(dir, id, entryFile)
	b, err := room.ReadFile(path, 1)
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	r, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("study: %s: %w", path, text.ShortError(err))
	}
	if r.ID = id; idOf(r.About.Strategy, r.Key) != id {
		return nil, fmt.Errorf("study: %s: the key in it is %q", path, r.Key)
	}
	r.dir = dir
	return r, nil
}

// parse reads an entry, and checks that its key is that of the run it describes.
func parse(b []byte) (*Run, error) {
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, err
	}
	switch {
	case version.Schema > schema:
		return nil, fmt.Errorf("%w: schema %d, this one knows %d", history.ErrNewer, version.Schema, schema)
	case version.Schema > 0 && version.Schema < schema:
		return nil, errOlder
	}
	b, err := unseal(b)
	if err != nil {
		return nil, err
	}
	var e entry
	if err := lines.Strict(b, &e); err != nil {
		return nil, err
	}
	return e.run()
}

// run returns the run of an entry.
func (e *entry) run() (*Run, error) {
	if e.Schema != schema || e.Run == nil || e.About == nil || e.About.Manifest == nil || e.Rounds < 0 {
		return nil, errors.New("it is not the entry of a run")
	}
	if key, err := keyOf(e.About); err != nil || key != e.Key {
		return nil, errors.New("its key is not that of what it says")
	}
	e.files = e.Files
	return e.Run, nil
}

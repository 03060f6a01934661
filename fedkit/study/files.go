package study

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/export"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/file"
	"fedkit.example/fedkit/internal/lines"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/weights"
)

// Files of an entry. The long table is in a folder with those of all runs.
const (
	entryFile      = "entry.json"
	historyFile    = "history.jsonl"
	modelsFile     = "models.safetensors"
	tableFile      = "table.csv.gz"
	checkpointFile = "checkpoint"
	tableFolder    = "table"
)

// Path returns the path of a file of the run: "history.jsonl", "models.safetensors", "table.csv.gz".
func (r *Run) Path(file string) string {
	if file == tableFile {
		return filepath.Join(r.dir, tableFolder, r.ID+".csv.gz")
	}
	return filepath.Join(r.dir, r.ID, file)
}

// digest identifies the content of a file.
type digest struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hexadecimal
}

// record stores the digest of a file that was written.
func (r *Run) record(file string) (err error) {
	if r.files == nil {
		r.files = map[string]digest{}
	}
	r.files[file], err = digestIn(r.Path(file))
	return err
}

func digestIn(path string) (d digest, err error) {
	f, err := os.Open(path)
	if err != nil {
		return d, err
	}
	defer f.Close()
	return digestOf(f)
}

func digestOf(f io.Reader) (d digest, err error) {
	h := sha256.New()
	d.Bytes, err = io.Copy(h, f)
	d.SHA256 = hex.EncodeToString(h.Sum(nil))
	return d, err
}

// open opens a file of the run, and verifies its digest.
func (r *Run) open(file string) (*os.File, error) {
	if err := r.checkSize(file); err != nil {
		return nil, err
	}
	f, err := os.Open(r.Path(file))
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	is, err := digestOf(f)
	if err == nil && is != r.files[file] {
		err = errors.New("altered, or of another run: its checksum is not that in " + entryFile)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close() // it was only read
		return nil, fmt.Errorf("study: %s: %w", r.Path(file), err)
	}
	return f, nil
}

// checkSize refuses a file that is missing, or is not as long as what was stored.
func (r *Run) checkSize(file string) error {
	was, kept := r.files[file]
	if !kept {
		return fmt.Errorf("study: %s: the run has none: %w", r.Path(file), fs.ErrNotExist)
	}
	info, err := os.Stat(r.Path(file))
	switch {
	case err != nil:
		return fmt.Errorf("study: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("study: %s: it is not a file", r.Path(file))
	case info.Size() != was.Bytes:
		return fmt.Errorf("study: %s: altered, or cut off: it has %d bytes of %d", r.Path(file), info.Size(), was.Bytes)
	}
	return nil
}

// Check verifies every file of the run: the history, the final models, and the long table, which other programs read. Loading a
// history or models verifies that file. A run of an extract has no files.
func (r *Run) Check() error {
	var errs []error
	for _, file := range []string{historyFile, modelsFile, tableFile} {
		if _, kept := r.files[file]; kept {
			errs = append(errs, r.verify(file))
		}
	}
	return errors.Join(errs...)
}

// whole refuses a stored run without its history, or without models that were kept. These may be large: their content is verified
// when they are read.
func (r *Run) whole() error {
	if r.Models {
		if err := r.checkSize(modelsFile); err != nil {
			return err
		}
	}
	if r.Rounds == 0 {
		return nil
	}
	_, err := r.Light()
	return err
}

// mend rewrites the long table of a stored run if it is missing or altered, and adds to the entry what its federation is made
// from. The error also says what was mended.
func (r *Run) mend(from []*config.Config) error {
	var table error
	if r.Rounds > 0 {
		table = r.verify(tableFile)
	}
	from = r.newIn(from)
	if table == nil && len(from) == 0 {
		return nil
	}
	lock, err := tryLock(r.dir, r.ID)
	if lock == nil { // another process has the run
		return errors.Join(table, err)
	}
	defer lock.release()
	if table != nil {
		h, err := r.History()
		if err == nil {
			err = r.writeTable(h)
		}
		if err != nil {
			return errors.Join(table, err)
		}
		table = fmt.Errorf("%w: written again", table)
	}
	r.From = append(r.From, from...)
	return errors.Join(table, r.write())
}

// verify reads a file of the run, and refuses one that was altered.
func (r *Run) verify(file string) error {
	f, err := r.open(file)
	if err == nil {
		err = f.Close()
	}
	return err
}

// writeTable writes the long table, and replaces whatever is in its place.
func (r *Run) writeTable(h *fedkit.History) error {
	err := aside(r.Path(tableFile), 0)
	if err == nil {
		err = export.Table(r.Path(tableFile), r.ID, h)
	}
	if err != nil {
		return err
	}
	return r.record(tableFile)
}

// aside renames a file or folder of a type that does not belong in a place. Its content is unknown, so it is not removed.
func aside(path string, belongs fs.FileMode) error {
	if info, err := os.Stat(path); err == nil && info.Mode().Type() == belongs {
		return nil
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	to := path + ".damaged"
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("study: %s does not belong there: remove it, and %s too", path, to)
	}
	return os.Rename(path, to)
}

// keepModels stores the models that the strategy serves at the end.
func (p *plan) keepModels(ctx context.Context) error {
	sv, err := fedkit.Served(ctx, p.fed, p.strategy)
	if err != nil {
		return err
	}
	if err := weights.Models(p.Path(modelsFile), p.fed.Task, sv); err != nil {
		return err
	}
	return p.record(modelsFile)
}

// Final loads the models that the strategy served at the end, for the task that it ran on, and which each client used.
// Study.Models keeps them. A file that is not what was stored is refused: remove it, and the study computes the run again.
func (r *Run) Final(task *fedkit.Task) (*fedkit.Serving, error) {
	f, err := r.open(modelsFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sv, err := weights.ReadModels(f, task)
	if err != nil {
		return nil, fmt.Errorf("study: %s: %w", f.Name(), err)
	}
	return sv, nil
}

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

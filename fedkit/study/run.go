package study

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/history"
)

// Run is a stored run, as its entry describes it.
type Run struct {
	ID     string  `json:"-"`                // names its folder
	Key    string  `json:"key"`              // SHA-256 of what identifies it, in hexadecimal
	Name   string  `json:"name"`             // of its history: Options.Name, or the strategy's
	Labels []Label `json:"labels,omitempty"` // those of the study that computed it or, in what Study.Run returns, those of that study

	Rounds   int           `json:"rounds"`           // that were run
	Accuracy fedkit.Float  `json:"accuracy"`         // at the last evaluated round, as History.Accuracy has it: NaN for a regression
	R2       *fedkit.Float `json:"r2,omitempty"`     // R² of a regression there; nil for other runs
	Seconds  float64       `json:"seconds"`          // wall time, if it was computed in one go
	Finished time.Time     `json:"finished"`         // when it ended
	Commit   string        `json:"commit,omitempty"` // of the checkout that the program was built from, with a + if files were changed; empty in a notebook
	Models   bool          `json:"models,omitempty"` // whether its final models are kept
	Error    string        `json:"error,omitempty"`  // why it failed; empty if it did not
	Retry    bool          `json:"retry,omitempty"`  // it failed for a reason outside of it, such as a full disk: Study.Run computes it again

	// From is what its federation was made from, one per plan that it was found by; empty if none was.
	From  []*config.Config `json:"from,omitempty"`
	About *fedkit.History  `json:"about"` // what identifies it; no rounds

	dir     string            // the store's
	files   map[string]digest // as they were stored, by name
	extract *fedkit.History   // of a run that Open read, which has no files
}

// errNil is the error of a run that neither a study nor Open returned.
var errNil = errors.New("study: the run is nil or empty: must be one that Study.Run, List or Open returned")

// String is what the run is called: its name with its labels, "FedAvg, α 0.1".
func (r *Run) String() string {
	if r == nil {
		return "nil"
	}
	return called(r.Name, r.Labels)
}

// called is what the run is called, with its seed: "FedAvg, α 0.1, seed 1".
func (r *Run) called() string { return fmt.Sprintf("%s, seed %d", r, r.About.Seed) }

// Err returns why the run failed, nil if it did not.
func (r *Run) Err() error {
	switch {
	case r == nil:
		return errNil
	case r.Error == "":
		return nil
	}
	return fmt.Errorf("%s: %s", r, r.Error)
}

// History loads the history; that of a failed run ends before the failure. A file that was altered is refused.
func (r *Run) History() (*fedkit.History, error) { return r.load(true) }

// Light loads the history without what is recorded per client, which is faster, and enough for tables and curves.
func (r *Run) Light() (*fedkit.History, error) { return r.load(false) }

func (r *Run) load(whole bool) (*fedkit.History, error) {
	if r == nil || r.About == nil {
		return nil, errNil
	}
	if r.extract != nil {
		h := *r.extract // its name may be changed
		h.Name, h.Labels = r.Name, r.labels()
		return &h, nil
	}
	if r.Rounds == 0 && r.Error != "" {
		return nil, r.Err()
	}
	f, err := r.open(historyFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	h, err := history.Parse(b, whole)
	switch {
	case err != nil:
		return nil, fmt.Errorf("study: %s: %w", r.Path(historyFile), err)
	case h.Stopped || len(h.Rounds) != r.Rounds:
		return nil, fmt.Errorf("study: %s: it is cut off: it has %d rounds of %d", r.Path(historyFile), len(h.Rounds), r.Rounds)
	}
	h.Name, h.Labels = r.Name, r.labels()
	return h, nil
}

// Size returns the bytes that the run takes on disk, 0 for one of an extract.
func (r *Run) Size() (bytes int64) {
	if r == nil || r.extract != nil {
		return 0
	}
	for _, path := range append(files(r.Path("."), ""), r.Path(tableFile)) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes
}

// Is reports whether a label or an option of the run has a value: see Value.
func (r *Run) Is(key string, value any) bool {
	is, ok := r.Value(key)
	return ok && is == fmt.Sprint(value)
}

// Value returns the value of a label or an option: see fedkit.History.Value.
func (r *Run) Value(key string) (value string, ok bool) {
	r = cmp.Or(r, &Run{})
	h := *cmp.Or(r.About, &fedkit.History{})
	h.Labels = r.labels()
	return h.Value(key)
}

// labels returns the name as a label, and the labels.
func (r *Run) labels() []Label { return append([]Label{{Key: "name", Value: r.Name}}, r.Labels...) }

// newIn returns those of these configurations that no study recorded as what the run's federation was made from.
func (r *Run) newIn(from []*config.Config) []*config.Config {
	return slices.DeleteFunc(slices.Clone(from), func(c *config.Config) bool {
		return slices.ContainsFunc(r.From, func(o *config.Config) bool { return reflect.DeepEqual(o, c) })
	})
}

// remove deletes the entry; a run that is being computed is refused.
func (r *Run) remove() error {
	if r == nil {
		return errNil
	} else if r.extract != nil {
		return fmt.Errorf("study: %s: it is in an extract", r.ID)
	}
	lock, err := tryLock(r.dir, r.ID)
	if lock == nil && err == nil {
		if _, ok := alive(filepath.Join(r.dir, ".locks", r.ID)); !ok {
			lock, err = tryLock(r.dir, r.ID)
		}
	}
	if err != nil {
		return err
	} else if lock == nil {
		return fmt.Errorf("study: %s: another process computes it", r.ID)
	}
	defer lock.release()
	// The entry before the rest: what is left of an interrupted removal is then no run.
	for _, path := range []string{r.Path(tableFile), r.Path(entryFile), r.Path(".")} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("study: %w", err)
		}
	}
	return nil
}

// Label describes a run in the user's words: α is 0.1.
type Label = history.Label

// labels makes labels of alternating keys and values.
func labels(pairs []any) (all []Label, err error) {
	if len(pairs)%2 != 0 {
		return nil, fedkit.Invalid("labels", fmt.Sprint(pairs...), `pairs of a key and a value, such as "α", 0.1`)
	}
	for p := range slices.Chunk(pairs, 2) {
		key, ok := p[0].(string)
		if !ok || strings.TrimSpace(key) == "" {
			return nil, fedkit.Invalid("label", fmt.Sprintf("%#v", p[0]), "a key, which is a string that is not empty")
		}
		if slices.ContainsFunc(all, func(l Label) bool { return l.Key == key }) {
			return nil, fedkit.Invalid("label", fmt.Sprintf("%q given twice", key), "different keys")
		}
		all = append(all, Label{Key: key, Value: fmt.Sprint(p[1])})
	}
	return all, nil
}

// called is a name with its labels: "FedAvg, α 0.1".
func called(name string, labels []Label) string {
	for _, l := range labels {
		name += ", " + l.String()
	}
	return name
}

package fedkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/config"
	"github.com/google/renameio/v2"
)

// History is what happened in a run: one Record a round, and what is needed to tell runs apart. It is saved and loaded
// as JSON, printed as a table, compared and plotted.
type History struct {
	Name      string         `json:"name"`      // label in plots and tables; the strategy's name unless set
	Strategy  string         `json:"strategy"`  // type name: "FedAvg"
	Config    *config.Config `json:"options"`   // the strategy with all its options and parts; only text in old files
	Data      string         `json:"data"`      // data set
	Partition string         `json:"partition"` // rule in words
	Model     string         `json:"model"`
	Clients   int            `json:"clients"` // M
	Params    int            `json:"params"`  // d
	Seed      uint64         `json:"seed"`
	Device    string         `json:"device"`
	Rounds    []Record       `json:"rounds"`

	// Manifest says by hashes what data the clients had; nil in histories from before it was kept.
	Manifest *partition.Manifest `json:"manifest,omitempty"`
}

// Record is one round.
type Record struct {
	Round    int     `json:"round"`   // 1, 2, …
	Seconds  float64 `json:"seconds"` // wall time of the round without the evaluation
	EvalTime float64 `json:"eval_seconds,omitempty"`

	Solves    []Solve `json:"solves"`     // what each client that took part did; one row per client
	BytesDown int64   `json:"bytes_down"` // server → clients, all together
	BytesUp   int64   `json:"bytes_up"`   // clients → server

	// Global is the score of the strategy's one global model on the whole test set; nil if there is no such model, or the
	// round was not evaluated.
	Global *Score `json:"global,omitempty"`
	// Scores are those of the M clients, each on its own test examples under the model it would use; nil if the round
	// was not evaluated.
	Scores []Score `json:"scores,omitempty"`
	// Clusters says which cluster each of the M clients is in; nil if nothing is clustered.
	Clusters []int `json:"clusters,omitempty"`
	// Notes are the strategy's own figures for the round.
	Notes map[string]Float `json:"notes,omitempty"`
}

// Clients returns who took part.
func (r *Record) Clients() []int {
	clients := make([]int, len(r.Solves))
	for i, s := range r.Solves {
		clients[i] = s.Client
	}
	return clients
}

// Score is a model's loss (mean over examples, natural logarithm) and accuracy (share in [0, 1]) on Examples examples.
type Score struct {
	Loss     Float `json:"loss"`
	Accuracy Float `json:"accuracy"`
	Examples int   `json:"examples"`
}

// Float is a float64 whose JSON form keeps values that are not finite: "NaN", "+Inf", "-Inf".
type Float float64

// MarshalJSON writes numbers as numbers, and what JSON has no number for as a string.
func (f Float) MarshalJSON() ([]byte, error) {
	v := float64(f)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return json.Marshal(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return json.Marshal(v)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Float) UnmarshalJSON(b []byte) error {
	var v float64
	err := json.Unmarshal(b, &v)
	if err != nil {
		var s string
		if json.Unmarshal(b, &s) != nil {
			return err
		}
		switch s {
		case "NaN", "+Inf", "-Inf":
			v, _ = strconv.ParseFloat(s, 64)
		default:
			return fmt.Errorf("%q is not a number", s)
		}
	}
	*f = Float(v)
	return nil
}

// Last returns the last record, nil before the first round.
func (h *History) Last() *Record {
	if len(h.Rounds) == 0 {
		return nil
	}
	return &h.Rounds[len(h.Rounds)-1]
}

// Accuracy returns the accuracy of the last evaluated round: the global model's on the whole test set or, where there is
// no global model, the mean over the clients' own test examples. NaN if no round was evaluated.
func (h *History) Accuracy() float64 {
	for i := len(h.Rounds) - 1; i >= 0; i-- {
		if s := h.Rounds[i].Score(); s != nil {
			return float64(s.Accuracy)
		}
	}
	return math.NaN()
}

// RoundsTo returns the first round whose accuracy is at least target, 0 if none is.
func (h *History) RoundsTo(target float64) int {
	for i := range h.Rounds {
		if s := h.Rounds[i].Score(); s != nil && float64(s.Accuracy) >= target {
			return h.Rounds[i].Round
		}
	}
	return 0
}

// Seconds returns the wall time of all rounds, evaluations apart.
func (h *History) Seconds() float64 {
	t := 0.0
	for _, r := range h.Rounds {
		t += r.Seconds
	}
	return t
}

// Score returns Global or, where there is no global model, Mean; nil if the round was not evaluated.
func (r *Record) Score() *Score {
	if r.Global != nil {
		return r.Global
	}
	return r.Mean()
}

// Mean returns the mean over all clients' own test examples, each example counted once; nil if the round was not
// evaluated.
func (r *Record) Mean() *Score {
	if len(r.Scores) == 0 {
		return nil
	}
	var loss, right, n float64
	for _, s := range r.Scores {
		loss += float64(s.Loss) * float64(s.Examples)
		right += float64(s.Accuracy) * float64(s.Examples)
		n += float64(s.Examples)
	}
	return &Score{Loss: Float(loss / n), Accuracy: Float(right / n), Examples: int(n)}
}

// String prints the history as a table, a line a round; long histories are thinned out.
func (h *History) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s: %s; %s, %d parameters; seed %d, %s\n", h.Name, h.Data, h.Partition, h.Model, h.Params, h.Seed, h.Device)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "round\tclients\tsteps\ttrain loss\ttest loss\taccuracy\town accuracy\tup\tdown\ttime\t")
	every := (len(h.Rounds) + 39) / 40
	for i, r := range h.Rounds {
		if i%every != 0 && i != len(h.Rounds)-1 {
			continue
		}
		steps, train := 0, 0.0
		for _, s := range r.Solves {
			steps += s.Steps
			train += float64(s.Loss) / float64(len(r.Solves))
		}
		score := func(s *Score, loss bool) string {
			switch {
			case s == nil:
				return ""
			case loss:
				return fmt.Sprintf("%.4f", s.Loss)
			}
			return fmt.Sprintf("%.2f %%", 100*s.Accuracy)
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%.4f\t%s\t%s\t%s\t%s\t%s\t%.0f ms\t\n", r.Round, len(r.Solves), steps, train,
			score(r.Score(), true), score(r.Global, false), score(r.Mean(), false), bytesText(r.BytesUp), bytesText(r.BytesDown), 1000*r.Seconds)
	}
	_ = w.Flush() // into memory
	return b.String()
}

func bytesText(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}

// Save writes the history as JSON. The file appears whole or not at all; folders are made as needed.
func (h *History) Save(path string) error {
	b, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("fedkit: save %s: %w", path, err)
	}
	if err := writeFile(path, b); err != nil {
		return fmt.Errorf("fedkit: save history: %w", err)
	}
	return nil
}

// Load reads a history that Save wrote.
func Load(path string) (*History, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("fedkit: load history: %w", err)
	}
	h := new(History)
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(h); err != nil {
		return nil, fmt.Errorf("fedkit: load history %s: %w", path, err)
	}
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("fedkit: load history %s: %w", path, err)
	}
	return h, nil
}

// LoadAll reads the histories that a pattern names (as in path.Match), in the order of their file names.
func LoadAll(pattern string) ([]*History, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("fedkit: load %s: %w", pattern, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("fedkit: load %s: no such file", pattern)
	}
	hs := make([]*History, len(paths))
	for i, p := range paths {
		if hs[i], err = Load(p); err != nil {
			return nil, err
		}
	}
	return hs, nil
}

// check refuses a history whose parts do not fit together, so that plots and tables can rely on them.
func (h *History) check() error {
	for i, r := range h.Rounds {
		switch {
		case r.Scores != nil && len(r.Scores) != h.Clients:
			return fmt.Errorf("record %d: %d client scores for %d clients", i, len(r.Scores), h.Clients)
		case r.Clusters != nil && len(r.Clusters) != h.Clients:
			return fmt.Errorf("record %d: %d clusters for %d clients", i, len(r.Clusters), h.Clients)
		}
	}
	return nil
}

// writeFile writes a file that appears whole or not at all; folders are made as needed.
func writeFile(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return renameio.WriteFile(path, b, 0o644, renameio.WithTempDir(filepath.Dir(path)))
}

// Package history has what happened in a run: its records, the figures that sum them up, and the files that hold them. It needs no device.
package history

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/text"
)

// History is what happened in a run: one Record per round, and what is needed to tell runs apart. It is saved and loaded,
// printed as a table, compared and plotted.
type History struct {
	Name      string         `json:"name"`               // label in plots and tables; the strategy's name unless set
	Strategy  string         `json:"strategy"`           // type name: "FedAvg"
	Config    *config.Config `json:"config"`             // the strategy with all its options and parts
	Data      string         `json:"data"`               // data set
	Partition string         `json:"partition"`          // rule in words
	Model     string         `json:"model"`              // name of the task
	Clients   int            `json:"clients"`            // M
	Params    int            `json:"params"`             // d
	Seed      uint64         `json:"seed"`               // of the run: fedkit.Options.Seed
	Device    string         `json:"device"`             // its kind, and the options that change what it computes: "cpu", "cuda tf32=true"
	Hardware  string         `json:"hardware,omitempty"` // which it is: "Intel(R) Xeon(R) Platinum 8481C, 4 processors"; empty in old files
	Rounds    []Record       `json:"rounds"`             // what happened in each, the first one first

	// What else identifies the run; empty in old files.
	Settings     *config.Config `json:"settings,omitempty"`     // options of the run that change results: Rounds, EvalEvery, …
	Task         string         `json:"task,omitempty"`         // SHA-256 of what the model computes and how it starts, in hexadecimal
	Devices      *config.Config `json:"devices,omitempty"`      // rule of what the clients work on, if the run has a clock
	DevicesHash  string         `json:"devices_hash,omitempty"` // SHA-256 of what it drew, in hexadecimal
	Interceptors *config.Config `json:"interceptors,omitempty"` // who stands between the clients and the server
	Types        string         `json:"types,omitempty"`        // hash of the types that the parts have which are not fedkit's: see config.Types
	Code         string         `json:"code,omitempty"`         // version of the code that ran: see fedkit.Describe

	// Stopped says that the run was interrupted (by the stop button of a notebook, say) before its last round. Load also
	// sets it if the file has no end, since the run that writes it goes on, failed or was killed.
	Stopped bool `json:"stopped,omitempty"`

	// Manifest says by hashes what data the clients had; nil in histories from before it was kept.
	Manifest *partition.Manifest `json:"manifest,omitempty"`

	On fmt.Stringer `json:"-"` // where the run goes on, nil if that is here
}

// Machines says who computes the rounds and how much was moved so far, in a line: for the progress of a run on a fleet. It is
// empty for any other.
func (h *History) Machines() string {
	if h.On == nil {
		return ""
	}
	return h.On.String()
}

// Last returns the last record, nil before the first round.
func (h *History) Last() *Record {
	if len(h.Rounds) == 0 {
		return nil
	}
	return &h.Rounds[len(h.Rounds)-1]
}

// Accuracy returns the accuracy of the last evaluated round: the global model's on the whole test set or, if there is
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

// String prints the history as a table with one line per round; long histories are thinned out.
func (h *History) String() string {
	var b strings.Builder
	head := fmt.Sprintf("%s on %s: %s; %s, %d parameters; seed %d, %s", h.Name, h.Data, h.Partition, h.Model, h.Params, h.Seed, h.device())
	b.WriteString(text.Line(head) + "\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	timed := h.Devices != nil
	fmt.Fprintf(w, "round\tclients\tsteps\ttrain loss\ttest loss\taccuracy\town accuracy\tup\tdown\ttime\t%s\n", map[bool]string{true: "clock\t"}[timed])
	every := (len(h.Rounds) + 39) / 40
	for i, r := range h.Rounds {
		if i%every != 0 && i != len(h.Rounds)-1 {
			continue
		}
		train := cmp.Or(r.Training(), &Training{})
		score := func(s *Score, loss bool) string {
			switch {
			case s == nil:
				return ""
			case loss:
				return fmt.Sprintf("%.4f", s.Loss)
			}
			return fmt.Sprintf("%.2f %%", 100*s.Accuracy)
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%.4f\t%s\t%s\t%s\t%s\t%s\t%.0f ms\t", r.Round, train.Clients, train.Steps, train.Loss,
			score(r.Score(), true), score(r.Global, false), score(r.Mean(), false), bytesText(r.BytesUp), bytesText(r.BytesDown), 1000*r.Seconds)
		if timed {
			fmt.Fprintf(w, "%.5g s\t", r.Clock)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // into memory
	return b.String()
}

// device says on what the rounds were computed, without marks and what else a processor's name has beside it.
func (h *History) device() string {
	if h.Hardware == "" {
		return h.Device
	}
	return h.Device + ": " + beside.ReplaceAllString(h.Hardware, "")
}

var beside = regexp.MustCompile(`\((R|r|TM|tm)\)| CPU| Processor\b| @ [0-9.]+GHz`)

// bytesText writes three digits at most: "1.5 MB".
func bytesText(n int64) string {
	unit, size := text.ByteUnit(float64(n))
	return fmt.Sprintf("%.3g %s", float64(n)/size, unit)
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

// Package history holds the results of runs: records per round, figures computed from them, and their files. It needs no device.
package history

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/text"
)

// History is the result of a run: one Record per round, and what identifies the run. It can be saved and loaded, printed as a
// table, compared and plotted.
type History struct {
	Name      string         `json:"name"`               // label in plots and tables; default: the strategy's name
	Strategy  string         `json:"strategy"`           // type name: "FedAvg"
	Config    *config.Config `json:"config"`             // the strategy with all its options and parts
	Data      string         `json:"data"`               // data set
	Partition string         `json:"partition"`          // fedkit.Federation.Rule
	Model     string         `json:"model"`              // name of the task
	Clients   int            `json:"clients"`            // M
	Params    int            `json:"params"`             // d
	Seed      uint64         `json:"seed"`               // of the run: fedkit.Options.Seed
	Device    string         `json:"device"`             // kind, and options that change results: "cpu", "cuda tf32=true"
	Hardware  string         `json:"hardware,omitempty"` // "Intel(R) Xeon(R) Platinum 8481C, 4 processors"; empty in old files
	Rounds    []Record       `json:"rounds"`             // in order

	// These identify the run too; empty in old files.
	Settings     *config.Config `json:"settings,omitempty"`     // options of the run that change results: Rounds, EvalEvery, …
	Task         string         `json:"task,omitempty"`         // fingerprint of the model and its initial parameters: SHA-256, in hexadecimal
	Devices      *config.Config `json:"devices,omitempty"`      // rule that drew the devices, if the run has a clock
	DevicesHash  string         `json:"devices_hash,omitempty"` // SHA-256 of the devices, in hexadecimal
	Interceptors *config.Config `json:"interceptors,omitempty"` // between the clients and the server
	Types        string         `json:"types,omitempty"`        // hash of the parts' types that are not fedkit's: see config.Types
	Code         string         `json:"code,omitempty"`         // version of the code that ran: see fedkit.Describe

	// Stopped says that the run was interrupted (by the stop button of a notebook, say) before its last round. Load also
	// sets it if the file has no end, since the run is still going on, failed or was killed.
	Stopped bool `json:"stopped,omitempty"`
	// Early says why fedkit.Options.StopAt ended the run before its last round, which is no interrupt: "test accuracy of 0.9012 in round
	// 24 reached 0.9". It is empty for other runs.
	Early string `json:"early,omitempty"`

	// Manifest identifies the clients' data by hashes; nil in old files.
	Manifest *partition.Manifest `json:"manifest,omitempty"`

	// Labels are those of a study, after the run's own name: {"name", "FedAvg"}, {"α", "0.1"}; none for other runs. They are not in the file.
	Labels []Label `json:"-"`

	onValidation bool // made by OnValidation
}

// Last returns the last record, nil before the first round.
func (h *History) Last() *Record {
	if len(h.Rounds) == 0 {
		return nil
	}
	return &h.Rounds[len(h.Rounds)-1]
}

// Accuracy returns the accuracy of the last evaluated round: the global model's on the whole test set or, if there is
// no global model, the mean over the clients' own test examples. NaN if no round was evaluated, and for a regression: R2.Last has
// its R².
func (h *History) Accuracy() float64 { return Accuracy.Last(h) }

// RoundsTo returns the first round whose accuracy, or R² for a regression (see Main), is at least target, 0 if none is.
func (h *History) RoundsTo(target float64) int {
	main := h.Main()
	for i := range h.Rounds {
		if main.Of(h.Rounds[i].Score()) >= target {
			return h.Rounds[i].Round
		}
	}
	return 0
}

// String returns the history as a table with one line per round; long histories are thinned to about 40 lines.
func (h *History) String() string {
	var b strings.Builder
	head := fmt.Sprintf("%s on %s: %s; %s, %d parameters; seed %d, %s", h.Name, h.Data, h.Partition, h.Model, h.Params, h.Seed, h.device())
	b.WriteString(text.Line(head) + "\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	timed, main := h.Devices != nil, h.Main()
	up, down := bytesText(h.Rounds, func(r *Record) int64 { return r.BytesUp }), bytesText(h.Rounds, func(r *Record) int64 { return r.BytesDown })
	links := slices.ContainsFunc(h.Rounds, func(r Record) bool { return r.Links != nil })
	other := bytesText(h.Rounds, func(r *Record) int64 { return int64(r.LinkBytes()) })
	columns := []string{"round", "clients", "steps", "train loss", h.Scored() + " loss", string(main), "own " + string(main), "up", "down", "time"}
	if timed {
		columns = append(columns, "clock")
	}
	if links {
		columns = append(columns, "other links")
	}
	fmt.Fprintln(w, strings.Join(columns, "\t")+"\t")
	decimals := 0 // of the clock: those that a round has among five digits of the last one
	for _, r := range h.Rounds {
		_, after, _ := strings.Cut(fmt.Sprintf("%.5g", r.Clock), ".")
		decimals = min(max(decimals, len(after)), max(0, 5-len(fmt.Sprintf("%.0f", h.Last().Clock))))
	}
	every := (len(h.Rounds) + 39) / 40
	for i, r := range h.Rounds {
		if i%every != 0 && i != len(h.Rounds)-1 {
			continue
		}
		train, loss := cmp.Or(r.Training(), &Training{}), ""
		if s := r.Score(); s != nil {
			loss = fmt.Sprintf("%.4f", s.Loss)
		}
		share := func(s *Score) string { return text.Minus(main.Write(main.Of(s))) }
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f ms\t", r.Round, train.Clients, train.Steps, text.Minus(fmt.Sprintf("%.4f", train.Loss)),
			text.Minus(loss), share(r.Global), share(r.Mean()), up(&r), down(&r), 1000*r.Seconds)
		if timed {
			fmt.Fprintf(w, "%.*f s\t", decimals, r.Clock)
		}
		if links {
			fmt.Fprint(w, other(&r), "\t")
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // into memory
	if h.Early != "" {
		b.WriteString("ended early: " + h.Early + "\n")
	}
	return b.String()
}

// device returns the device, with the processor's name without trademarks and clock rate.
func (h *History) device() string {
	if h.Hardware == "" {
		return h.Device
	}
	return h.Device + ": " + processorNoise.ReplaceAllString(h.Hardware, "")
}

var processorNoise = regexp.MustCompile(`\((R|r|TM|tm)\)| CPU| Processor\b| @ [0-9.]+GHz`)

// bytesText returns how a number of bytes of each round is written, with at most three digits: "1.5 MB". All are in one unit, and have
// the decimals of the largest, "1.50 MB" over "0.90 MB", unless they are too different for that.
func bytesText(rounds []Record, of func(*Record) int64) func(*Record) string {
	var sizes []float64
	for i := range rounds {
		sizes = append(sizes, float64(max(0, of(&rounds[i]))))
	}
	most := slices.Max(append(sizes, 0))
	unit, size := text.ByteUnit(most)
	decimals := 0
	for _, n := range sizes {
		if n > 0 && n < most/1000 {
			return func(r *Record) string {
				unit, size := text.ByteUnit(float64(of(r)))
				return fmt.Sprintf("%.3g %s", float64(of(r))/size, unit)
			}
		}
		if n/size != math.Trunc(n/size) {
			decimals = 3 - len(fmt.Sprintf("%.0f", math.Floor(most/size)))
		}
	}
	return func(r *Record) string { return fmt.Sprintf("%.*f %s", decimals, float64(of(r))/size, unit) }
}

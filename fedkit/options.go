package fedkit

import (
	"context"
	"reflect"
	"time"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/stopping"
)

// Options are the options of a run. The zero value is a plain run, except that Rounds is required. Options that are not tagged
// `results:"same"` change results: they belong to a run's identity in its History, its checkpoint and a study's keys.
type Options struct {
	Rounds    int    `range:"[1,inf)"` // number of rounds; required. StopAt may end the run earlier
	Seed      uint64 // seed of all randomness: initial models, selection, batches
	Name      string `results:"same"`              // the history's label; default: the strategy's name
	EvalEvery int    `range:"[1,inf)" default:"1"` // evaluate every n-th round, and always the last
	// EvalFraction is the share of the clients whose own test and validation examples are scored in an evaluation: Flower's fraction-evaluate. Who
	// they are is drawn again for each, from seed and round alone, so the training stays the same. All others have a Score without
	// examples, and means and spreads are over those that were drawn. Global and Unseen are scored whole. Default: all clients.
	EvalFraction float64 `range:"(0,1]" default:"all clients"`
	// StopAt ends the run early: at a value, {Value: 0.9} at an accuracy of 90 %, or without improvement, {Quantity: "loss", Patience: 5}
	// after five evaluations. Default: never.
	StopAt StopAt

	Concurrency int       `range:"[1,inf)" default:"the default" results:"same"` // programs that run concurrently, at most; default: the processors up to eight, or half of them if that is more. Does not change results
	NotFinite   NotFinite // what to do when a client returns NaN or Inf; default Stop
	Watch       Watcher   `results:"same"` // follows the progress: plot.Live(); default none
	Metrics     []Metric  // recorded at every evaluation, beside loss and accuracy, or R², RMSE and MAE of real values: metric.MacroF1{}, …; default none

	// Pace is how the server handles stragglers, on a federation with devices. Default: it waits for all clients.
	Pace Pace

	// ChooseOnTest also scores every client under the cluster model with the lowest loss on the client's own *test* examples, as
	// Record.ChosenOnTest. The published code of IFCA evaluates this way. The figures are optimistic, since the choice uses test
	// labels, and serve only to compare with published ones. No effect if there is not a model for each cluster.
	ChooseOnTest bool

	// FineTune is the solver with which every client, after the last round, trains the model it is served on its own training examples. Its
	// scores are then Record.FineTuned; Scores and Unseen are those before. Unseen clients do the same, and nobody else gets what comes
	// out. It is part of the evaluation: nothing travels, takes time on a simulated clock or changes State. A run that is interrupted has
	// none. Strategies that mix predictions are refused: their clients have no one model to train. Default: none.
	FineTune *Local

	// Workers run the programs of the run: see package worker. Default: this process does.
	Workers Workers `results:"same"`

	// History is a file to which the history is appended after every round, so that it survives if the run is killed: see Load, and
	// plot.Follow for watching it grow. An existing file is overwritten after the first round. Default: none.
	History string `results:"same"`
	// Keep is which per-client data the history keeps, and how often. Default: everything, of every round.
	Keep Keep

	// Checkpoint is a file from which the run resumes if it exists, for more rounds if Rounds has grown; other options must be
	// unchanged. A resumed run ends with the same bytes as an uninterrupted one of as many rounds: an evaluation that a run of fewer
	// had because its last round is always evaluated is left out. A finished run computes nothing. So a notebook
	// whose page was closed or reloaded is simply run again, and plot.Follow shows the run meanwhile, from another notebook. The file
	// is written during the run, and when it ends or is interrupted; folders are made as needed. Beside it are the rounds so far
	// (".rounds") and the previous checkpoint (".before"), which is used if the file is damaged. To start over, remove the file: the
	// others are then ignored. The writer's duty cycle is at most 1/60: if rounds are faster, due checkpoints give way to newer ones,
	// and the last is always written. The strategy must keep everything in a State that can be saved (see Strategy). Default: none.
	Checkpoint      string        `results:"same"`
	CheckpointEvery int           `range:"[1,inf)" default:"every evaluated round" results:"same"` // checkpoint every n-th round
	CheckpointAfter time.Duration `range:"[1,inf)" default:"no limit" results:"same"`              // also checkpoint when a round ends this long after the last one; without CheckpointEvery, it is the only rule
}

// Config returns the options that change results, as History.Settings has them.
func (o Options) Config() *config.Config {
	o = Defaults(o)
	o.Seed = 0 // it is in History.Seed
	return config.Of(settings(o))
}

// settings gives Options its type name in configurations, which leave out fields tagged `results:"same"` and zero values. So a new
// option does not change the identity of earlier runs.
type settings Options

// NotFinite is the policy for updates that hold NaN or Inf.
type NotFinite int

// The policies for updates that are not finite.
const (
	Stop NotFinite = iota // end with an error that names round and client
	Skip                  // leave the client out of the round, and mark it in the record
)

// Check implements Checker.
func (n NotFinite) Check(*Federation, int) error {
	if n != Stop && n != Skip {
		return Invalid("", int(n), "fedkit.Stop or fedkit.Skip")
	}
	return nil
}

// Workers run the programs of runs in other processes. Package worker makes them.
type Workers interface {
	// Open returns the device for a run, and a function to call when the run is over.
	Open(ctx context.Context) (on engine.Device, leave func(), err error)
	// Device returns History.Device and History.Hardware.
	Device() (kind, hardware string, err error)
	// Concurrency returns the number of programs that they run concurrently.
	Concurrency() int
}

// Keep is how often a run's history keeps per-client data. With many clients that is nearly all of its memory and of its file.
// The zero value keeps everything. Totals over clients are kept of every round: Training, Mean and Spread of a Record do not
// depend on Keep, and neither do the run's results. With Never for all, a round adds less than a kilobyte, for any number of
// clients; see also Round.Past.
type Keep struct {
	Scores   int `default:"every evaluation"` // keep Scores of every n-th evaluation; Never for none
	Results  int `default:"every round"`      // keep Results of every n-th round; Never for none
	Clusters int `default:"every round"`      // keep Clusters of every n-th round; Never for none
	Absences int `default:"every round"`      // keep Absences of every n-th round; Never for none
}

// Never keeps no round: see Keep.
const Never = -1

// Check implements Checker.
func (k Keep) Check(*Federation, int) error {
	for f, every := range reflect.ValueOf(k).Fields() {
		if every.Int() < Never {
			return Invalid(f.Name, every, "at least 1, 0 for "+f.Tag.Get("default")+", or fedkit.Never")
		}
	}
	return nil
}

// due reports whether round t is kept; the last one is, unless every is Never.
func due(t, every, last int) bool {
	return every == 0 || every > 0 && (t%every == 0 || t == last)
}

// scores drops Scores that are not due.
func (k Keep) scores(r *Record, o Options) {
	if !due(r.Round, k.Scores*o.EvalEvery, o.Rounds) {
		r.LeaveOut(true, false)
	}
}

// thin drops everything that is not due.
func (k Keep) thin(r *Record, o Options) {
	k.scores(r, o)
	if !due(r.Round, k.Results, o.Rounds) {
		r.LeaveOut(false, true)
	}
	if !due(r.Round, k.Clusters, o.Rounds) {
		r.Clusters = nil
	}
	if !due(r.Round, k.Absences, o.Rounds) {
		r.Absences = nil
	}
}

// Watcher follows the progress of a run, as progress lines and live plots do. The run's goroutine calls it. A watcher may also have a
// method Start(h *History, of int): it is called before the first round, which may be slow since it compiles programs, and again
// with the checkpoint's rounds in h.Rounds if the run resumes from one.
type Watcher interface {
	// Round is called after every round, with the new record last in h.Rounds; of is the planned number of rounds.
	Round(h *History, of int)
	// Done is called once, when the run is over: finished, stopped by an interrupt (h.Stopped; err is nil), canceled or failed.
	Done(h *History, err error)
}

// StopAt ends a run early, after an evaluation: the first one at which a quantity has reached Value, or that after which it has not
// improved for Patience evaluations. The zero value ends no run. The run is then complete, not Stopped, and History.Early says why
// it ended: run again from its checkpoint it has the same rounds, and a study stores it. The strategy serves its last models, not
// its best.
//
// The quantity is the global model's or, if there is none, the mean over the clients (Record.Score), on validation rows if the
// clients have them (see partition.Validation), else on test rows. A test score at a round that was chosen by test scores is
// optimistic: to report it, hold validation rows back. To count the rounds to a target, test rows are fine.
type StopAt struct {
	// Quantity is "accuracy", of a regression "R²", "RMSE" or "MAE", "loss", or the name of one of Options.Metrics; "test accuracy" is on
	// test rows in any case. Less is better of losses and errors, and of a metric with a method LowerIsBetter() bool that returns true.
	// Default: accuracy, or R².
	Quantity string
	Value    float64 // ends the run at this value, or a better one; default none
	Patience int     `range:"[1,inf)" default:"no limit"` // ends the run after this many evaluations in a row without a new best value
}

// earlyRule resolves StopAt.
func (o Options) earlyRule(fed *Federation) (*stopping.Rule, error) {
	s := stopping.Rule{Quantity: o.StopAt.Quantity, Value: o.StopAt.Value, Patience: o.StopAt.Patience, Rounds: o.Rounds}
	return stopping.Resolve(s, fed.ofValues(), o.Metrics)
}

package fedkit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"sync"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/internal/clientdata"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/task"
	"fedkit.example/fedkit/sim"
)

// Federation is what a strategy runs on: M clients, each holding rows of one data set, and the task they learn. The data is
// put on the device once, at the first run. So Run refuses a federation whose data, clients or task were changed after it was
// made.
type Federation struct {
	Data    *datasets.Dataset  // whose rows the clients hold
	Rule    string             // description of the partition, hold-out, devices and interceptors
	Clients []partition.Client // [M]
	Task    *Task              // model, loss and accuracy
	Devices []sim.Device       // [M], see WithDevices; nil for runs without a clock
	Unseen  *Federation        // hold-out clients, see HoldOut; nil if there are none
	Server  *Federation        // one client: the rows that the server holds, see WithServer; nil if there are none

	edges        []sim.Device // see WithEdges
	number       []int        // by client, its number in the engine; nil: the same
	rule         partition.Rule
	deviceRule   sim.Rule
	manifest     func() partition.Manifest
	origin       *clientdata.Origin
	interceptors []Interceptor
	wrong        error // of an interceptor, which a run reports
	lazy         *lazyEngine
}

// lazyEngine makes the engine at first use. Its compiled programs serve every run on the federation and on those that Intercept,
// WithDevices and HoldOut derive from it.
type lazyEngine struct {
	mu sync.Mutex
	*engine.Engine
	of     *lazyEngine // whose data on the device and programs it shares; nil: its own
	rows   [][]int     // by the engine's client, its training rows
	thawed *Matrix     // 1 for trained parameters and 0 for frozen ones, [1, d]; nil if none is frozen, or not yet known

	lone sync.Once // see Federation.reportLone

	prints task.Fingerprint
}

// engine returns the engine for the federation's data and task.
func (f *Federation) engine() (*engine.Engine, error) { return f.lazy.open(f) }

func (l *lazyEngine) open(f *Federation) (e *engine.Engine, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.Engine != nil:
		return l.Engine, nil
	case l.of == nil:
		e, err = engine.New(task.ForEngine(f.Task), f.Data, l.rows)
	default:
		if e, err = l.of.open(f); err == nil {
			e = e.WithRows(l.rows)
		}
	}
	if err == nil {
		l.Engine = e
	}
	return e, err
}

// New partitions the data by the rule and makes the model's task for it. Rows without a label at any of their positions are left out
// of the clients, and Rule says how many. Errors: a rule that cannot be met, a client without training
// or test rows, a model that does not fit the data, or whose graphs cannot be built.
//
// A model's output for an example must not depend on other examples in evaluation nor, in training, on other clients and on rows that only
// fill a batch: a run that first trains or evaluates one that does is an error.
func New(data *datasets.Dataset, rule partition.Rule, model Model) (*Federation, error) {
	if err := data.Check(); err != nil {
		return nil, err
	}
	if rule == nil {
		return nil, Invalid("rule", "nil", "a partition.Rule")
	}
	if err := checkNils("rule", rule); err != nil {
		return nil, err
	}
	if model == nil {
		return nil, Invalid("model", "nil", "a fedkit.Model")
	}
	deal, words, err := dealOut(rule, data)
	if err != nil {
		return nil, err
	}
	if err := deal.Check(); err != nil {
		return nil, err
	}
	if clients, out := clientdata.LabeledOnly(deal.Data, deal.Clients); out > 0 {
		words += fmt.Sprintf("; %d rows without a label left out", out)
		deal = &partition.Partitioned{Data: deal.Data, Clients: clients, Shared: deal.Shared}
		if err := deal.Check(); err != nil {
			return nil, fmt.Errorf("of the rows with a label: %w", err)
		}
	}
	made, err := makeTask(model, deal.Data)
	if err != nil {
		return nil, err
	}
	f := &Federation{Data: deal.Data, Rule: words, Clients: deal.Clients, Task: made, rule: rule, lazy: &lazyEngine{rows: clientdata.Train(deal.Clients)}}
	return f.sealed(), nil
}

// dealOut asks a rule for its deal and its description.
func dealOut(rule partition.Rule, data *datasets.Dataset) (deal *partition.Partitioned, words string, err error) {
	defer fault.Recovered("rule", &err)
	if deal, err = rule.Partition(data); err != nil {
		return nil, "", err
	}
	return deal, rule.String(), nil
}

// makeTask asks a model for its task, and checks that it can be trained on the data.
func makeTask(model Model, data *datasets.Dataset) (t *Task, err error) {
	defer fault.Recovered("model", &err)
	if t, err = model(data); err != nil {
		return nil, err
	}
	if t == nil {
		return nil, Invalid("model", "a function that returns a nil *fedkit.Task", "one that returns a task or an error")
	}
	return t, task.Prepare(t, data)
}

// reportLone reports on standard error, once per federation, a client with batches of one row, if batch normalization leaves them out.
func (f *Federation) reportLone(s Strategy) {
	for _, batch := range f.batches(s) {
		i := slices.IndexFunc(f.Clients, func(c partition.Client) bool { return batch == 1 || len(c.Train)%batch == 1 })
		if i >= 0 && task.LeavesOutOne(f.Task) {
			f.lazy.lone.Do(func() {
				fmt.Fprintf(os.Stderr, "fedkit: %s: client %d, with %d rows in batches of %d, has batches of one row: batch normalization leaves them out of its running statistics\n",
					f.Task.Name, i, len(f.Clients[i].Train), batch)
			})
		}
	}
}

// Manifest identifies the clients' data by hashes; histories keep it. It is empty for a federation that was not made by New.
func (f *Federation) Manifest() partition.Manifest {
	if f == nil || f.manifest == nil {
		return partition.Manifest{}
	}
	return f.manifest()
}

// made refuses a federation that New did not make: nil, or a literal.
func (f *Federation) made() error {
	if f == nil || f.lazy == nil {
		return Invalid("federation", f, "made by fedkit.New")
	}
	return nil
}

// ready refuses what is called outside of a run without a context, or on a federation that New did not make.
func (f *Federation) ready(ctx context.Context) error {
	if ctx == nil {
		return Invalid("ctx", "nil", "a context, such as context.Background()")
	}
	return f.made()
}

// within names the package and what was asked for in the error of a function, at its end.
func within(what string, err *error) {
	if *err != nil {
		*err = fmt.Errorf("fedkit: %s%w", what, *err)
	}
}

// AllTrained returns an error that names an option, unless all of the model's parameters are trained. It is for the Check of a
// strategy, or of a part of one, whose new models are not averages of the clients': it would make running values that no data
// has, such as a negative variance. Without a federation there is no error.
func (f *Federation) AllTrained(field string, value any) error {
	if f == nil || f.Task == nil || task.Running(f.Task) == "" {
		return nil
	}
	return Invalid(field, value, fmt.Sprintf("one that averages the clients' models, since %s of %s is a running value, which is not trained", task.Running(f.Task), f.Task.Name))
}

// NeedsValidation refuses a federation whose clients have no validation rows, for the Check of a strategy or part that calls
// Losses on datasets.ValidationPart. It is nil for a federation that is nil, or that was not made by New.
func (f *Federation) NeedsValidation() error {
	if f.made() != nil || slices.ContainsFunc(f.Clients, func(c partition.Client) bool { return len(c.Validation) > 0 }) {
		return nil
	}
	return Invalid("federation", f.Rule, "one whose clients have validation rows, as partition.Validation holds back")
}

// AllClients returns all clients, 0, 1, …, M−1.
func (f *Federation) AllClients() []int { return sequence(f.Size()) }

// Size returns M, the number of clients.
func (f *Federation) Size() int {
	if f == nil {
		return 0
	}
	return len(f.Clients)
}

// String names the data set, the partition and the task.
func (f *Federation) String() string {
	if f == nil || f.Data == nil || f.Task == nil {
		return "nil"
	}
	return fmt.Sprintf("%s: %s; %s", f.Data.Name, f.Rule, f.Task)
}

// WithDevices returns the same federation with a device for each client, drawn by the rule: runs on it are timed by a simulated
// clock, see Pace. It may be called before or after HoldOut. Without devices, runs have no clock.
//
//	fed, err = fed.WithDevices(sim.Devices{PerExample: sim.LogNormal{Median: 0.01, Sigma: 1}, Up: sim.Constant(1e6)})
func (f *Federation) WithDevices(rule sim.Rule) (_ *Federation, err error) {
	defer within("devices: ", &err)
	if err := f.made(); err != nil {
		return nil, err
	}
	devices, words, err := drawDevices(rule, f.Size())
	if err != nil {
		return nil, err
	}
	with := *f
	with.Devices, with.deviceRule, with.Rule = devices, rule, f.Rule+"; devices: "+words
	return &with, nil
}

// drawDevices asks a rule for its devices and its description.
func drawDevices(rule sim.Rule, n int) (devices []sim.Device, words string, err error) {
	if rule == nil {
		return nil, "", Invalid("rule", "nil", "a sim.Rule")
	}
	if err := checkNils("rule", rule); err != nil {
		return nil, "", err
	}
	defer fault.Recovered("rule", &err)
	if devices, err = rule.Draw(n); err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(devices) != n {
		return nil, "", Invalid("what the rule drew", fmt.Sprintf("%d devices", len(devices)), fmt.Sprintf("%d, one per client", n))
	}
	for i, d := range devices {
		if err := d.Check(); err != nil {
			return nil, "", fmt.Errorf("client %d: %w: %w", i, ErrInvalid, err)
		}
	}
	return devices, rule.String(), nil
}

// hashDevices returns the SHA-256 of devices, in hexadecimal. The rule alone does not identify them: it may read a file.
func hashDevices(devices []sim.Device) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(devices) // plain numbers, already checked
	return hex.EncodeToString(h.Sum(nil))
}

// Interceptor changes updates between the clients and the server, as an attack or added noise does.
type Interceptor interface {
	// Intercept returns what the server receives instead of u.Models, [n, d]; all randomness must come from rng.
	Intercept(u *Updates, rng *rand.Rand) *Matrix
	// String describes it in a few words, for histories.
	String() string
}

// Intercept returns the same federation with one more interceptor, after those it has. The two share the data on the device and
// the compiled programs. Run refuses a nil interceptor, one whose String panics, and a federation that was not made by New.
func (f *Federation) Intercept(by Interceptor) *Federation {
	if f == nil {
		return nil
	}
	g := *f
	words, err := describeInterceptor(by)
	g.Rule, g.interceptors, g.wrong = f.Rule+"; "+words, append(slices.Clone(f.interceptors), by), cmp.Or(f.wrong, err)
	return &g
}

func describeInterceptor(by Interceptor) (words string, err error) {
	defer fault.Recovered("interceptor", &err)
	if by == nil || isNil(reflect.ValueOf(by)) {
		return "nil", Invalid("interceptor", "nil", "a fedkit.Interceptor")
	}
	return by.String(), nil
}

// WithData returns the same federation on other data of the same shape, such as a copy with changed labels; note describes the
// difference in histories. Errors: a federation that was not made by New, data that do not fit, a client's row without any label.
func (f *Federation) WithData(d *datasets.Dataset, note string) (*Federation, error) {
	if err := f.made(); err != nil {
		return nil, fmt.Errorf("fedkit: with data: %w", err)
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	if !slices.Equal(d.Shape, f.Data.Shape) || d.Classes != f.Data.Classes || d.Tags != f.Data.Tags || !reflect.DeepEqual(d.Inputs, f.Data.Inputs) || max(1, d.Train.Width) != max(1, f.Data.Train.Width) || d.Train.Len() != f.Data.Train.Len() || d.Test.Len() != f.Data.Test.Len() {
		return nil, Invalid("data", sizes(d), "like the federation's: "+sizes(f.Data))
	}
	all := f.Clients
	if f.Unseen != nil {
		all = slices.Concat(all, f.Unseen.Clients)
	}
	if _, out := clientdata.LabeledOnly(d, all); out > 0 {
		return nil, Invalid("data", fmt.Sprintf("%d of the clients' rows without a label", out), "with a label at some position of each, as fedkit.New needs")
	}
	g := *f
	g.Rule, g.Data, g.lazy = f.Rule+"; "+note, d, &lazyEngine{rows: f.lazy.rows}
	if f.Unseen != nil {
		unseen := *f.Unseen
		unseen.Data, unseen.lazy = d, g.lazy
		g.Unseen = unseen.sealed()
	}
	if f.Server != nil {
		g.Server = g.serverOf(f.Server.Clients, f.Server.Devices)
	}
	return g.sealed(), nil
}

// sizes describes what another data set must have in common.
func sizes(d *datasets.Dataset) string {
	truth := fmt.Sprintf("%d classes", d.Classes)
	if !d.Labeled() && (d.Tags || d.Train.Width > 1) {
		truth += fmt.Sprintf(", targets of width %d, tags %t", max(1, d.Train.Width), d.Tags)
	}
	if d.Inputs != nil {
		truth = fmt.Sprintf("inputs %v, ", d.Inputs) + truth
	}
	return fmt.Sprintf("%v, %s, %d and %d examples", d.Shape, truth, d.Train.Len(), d.Test.Len())
}

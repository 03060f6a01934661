package fedkit_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
)

// tried is a run that an option is tried on.
type tried struct {
	fedkit.Options
	Local fedkit.Local
	job   []func(r *fedkit.Round, j *fedkit.Job) // what else is asked for, in order
	ifca  bool                                   // two models, and clusters
	timed bool                                   // devices
	label bool                                   // data with labels
	t     *testing.T
}

// with asks for more.
func (x *tried) with(ask func(j *fedkit.Job)) {
	x.job = append(x.job, func(_ *fedkit.Round, j *fedkit.Job) { ask(j) })
}

// askedFor is federated averaging that asks for what the run says.
type askedFor struct {
	Local fedkit.Local
	run   *tried `config:"-"`
	State struct{ X *fedkit.Matrix }
}

func (s *askedFor) Start(r *fedkit.Round) error { s.State.X = r.Models(1); return r.Err() }

func (s *askedFor) Round(r *fedkit.Round) error {
	j := fedkit.Job{Clients: r.Select(nil, 0.5), Start: s.State.X, Local: s.Local}
	for _, ask := range s.run.job {
		ask(r, &j)
	}
	s.State.X = r.Train(j).Models.Mean(nil)
	return r.Err()
}

func (s *askedFor) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }

// run returns all numbers that come out, and what identifies the run by its options.
func (x *tried) run(fed *fedkit.Federation) (outcome, identity string) {
	var err error
	if x.label {
		fed = expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 12}, model.MLP(2)))(x.t)
	}
	if x.timed {
		if fed, err = fed.WithDevices(sim.Devices{PerExample: sim.LogNormal{Median: 0.1, Sigma: 0.5}, Seed: 1}); err != nil {
			x.t.Fatal(err)
		}
	}
	var s fedkit.Strategy = &askedFor{Local: x.Local, run: x}
	if x.ifca {
		s = &strategy.IFCA{Local: x.Local}
	}
	identity = x.Options.Config().String() + config.Of(x.Local).String()
	h, err := fedkit.Run(context.Background(), fed, s, x.Options)
	if errors.Is(err, fedkit.ErrNotFinite) && x.NotFinite == fedkit.Stop {
		return "stopped", identity
	}
	if err != nil {
		x.t.Error(err)
		return "", identity
	}
	b, err := fedtest.Outcome(s, h)
	if err != nil {
		x.t.Fatal(err)
	}
	return string(b), identity
}

// twice is an objective that also takes the extra "by" and the numbers "each" of the examples, if they are there.
type twice struct{ by, each bool }

func (o twice) Loss(b *fedkit.Batch) *graph.Node {
	loss := graph.MulScalar(b.Loss(b.Out), 2)
	if o.by {
		loss = graph.Mul(loss, b.Extra("by"))
	}
	if o.each {
		loss = graph.Mul(loss, b.PerExample("each"))
	}
	return loss
}

// counted is a metric.
type counted struct{}

func (counted) String() string                        { return "counted" }
func (counted) Measure(p *fedkit.Predictions) float64 { return 1 }

// here is a worker in this process.
type here struct{}

func (here) Open(context.Context) (engine.Device, func(), error) {
	return engine.Here(3), func() {}, nil
}
func (here) Device() (kind, hardware string, err error) { return xla.Device(), xla.Hardware(), nil }
func (here) Concurrency() int                           { return 3 }

// each is a value for each client of a job.
func each[T any](j *fedkit.Job, value T) []T { return slices.Repeat([]T{value}, len(j.Clients)) }

// eachExample has a value for each example of each client of a job.
func eachExample(r *fedkit.Round, j *fedkit.Job, value float32) (values [][]float32) {
	for _, c := range j.Clients {
		values = append(values, slices.Repeat([]float32{value}, len(r.Fed.Clients[c].Train)))
	}
	return values
}

// ramp is a matrix [1, d] with the values by, 2·by, …
func ramp(d int, by float32) *fedkit.Matrix {
	values := make([]float32, d)
	for i := range values {
		values[i] = by * float32(i+1)
	}
	return fedkit.NewMatrix(values, 1, d)
}

// firstOnly is a mask of the first parameter.
func firstOnly(d int) *fedkit.Matrix {
	return fedkit.NewMatrix(append([]float32{1}, make([]float32, d-1)...), 1, d)
}

func devices(x *tried)  { x.timed = true }
func late(x *tried)     { x.timed, x.Pace.Deadline = true, 4 }
func ifca(x *tried)     { x.ifca = true }
func proximal(x *tried) { x.Local.Prox = 1 }

// pulled pulls clients to their start.
func pulled(x *tried) {
	x.with(func(j *fedkit.Job) { j.Pulls = []fedkit.Pull{{Weight: 1}} })
}

// checkpointed writes a checkpoint of its own.
func checkpointed(x *tried) { x.Checkpoint = filepath.Join(x.t.TempDir(), "c") }

// optionCases have every option: how a run is set up on which it shows, and a change of the option alone. Whether it changes results
// is what its tag says: an option that is not tagged does.
var optionCases = map[string]struct{ setUp, change func(x *tried) }{
	"Options.Rounds":       {nil, func(x *tried) { x.Rounds = 4 }},
	"Options.Seed":         {nil, func(x *tried) { x.Seed = 2 }},
	"Options.Name":         {nil, func(x *tried) { x.Name = "other" }},
	"Options.EvalEvery":    {nil, func(x *tried) { x.EvalEvery = 2 }},
	"Options.EvalFraction": {nil, func(x *tried) { x.EvalFraction = 0.5 }},
	"Options.StopAt":       {nil, func(x *tried) { x.StopAt = fedkit.StopAt{Quantity: "loss", Value: 1e9} }},
	"Options.Concurrency":  {nil, func(x *tried) { x.Concurrency = 3 }},
	"Options.NotFinite": {func(x *tried) {
		x.with(func(j *fedkit.Job) { j.LR = append([]float64{1e30}, each(j, 0.01)[1:]...) })
	}, func(x *tried) { x.NotFinite = fedkit.Skip }},
	"Options.Watch":           {nil, func(x *tried) { x.Watch = new(meter) }},
	"Options.Metrics":         {nil, func(x *tried) { x.Metrics = []fedkit.Metric{counted{}} }},
	"Options.Pace":            {devices, func(x *tried) { x.Pace.Deadline = 4 }},
	"Options.ChooseOnTest":    {ifca, func(x *tried) { x.ChooseOnTest = true }},
	"Options.FineTune":        {nil, func(x *tried) { x.FineTune = &fedkit.Local{} }},
	"Options.Workers":         {nil, func(x *tried) { x.Workers = here{} }},
	"Options.History":         {nil, func(x *tried) { x.History = filepath.Join(x.t.TempDir(), "h") }},
	"Options.Keep":            {nil, func(x *tried) { x.Keep.Scores = fedkit.Never }},
	"Options.Checkpoint":      {nil, checkpointed},
	"Options.CheckpointEvery": {checkpointed, func(x *tried) { x.CheckpointEvery = 2 }},
	"Options.CheckpointAfter": {checkpointed, func(x *tried) { x.CheckpointAfter = time.Nanosecond }},

	"Keep.Scores":   {nil, func(x *tried) { x.Keep.Scores = 2 }},
	"Keep.Results":  {nil, func(x *tried) { x.Keep.Results = 2 }},
	"Keep.Clusters": {ifca, func(x *tried) { x.Keep.Clusters = 2 }},
	"Keep.Absences": {late, func(x *tried) { x.Keep.Absences = 2 }},

	"Pace.Deadline":      {late, func(x *tried) { x.Pace.Deadline = 8 }},
	"Pace.OverSelection": {devices, func(x *tried) { x.Pace.OverSelection = 0.5 }},
	"Pace.PartialWork":   {late, func(x *tried) { x.Pace.PartialWork = true }},

	"Local.Epochs":         {nil, func(x *tried) { x.Local.Epochs = 3 }},
	"Local.Steps":          {nil, func(x *tried) { x.Local.Epochs, x.Local.Steps = 0, 5 }},
	"Local.Batch":          {nil, func(x *tried) { x.Local.Batch = 4 }},
	"Local.LR":             {nil, func(x *tried) { x.Local.LR = 0.02 }},
	"Local.Schedule":       {nil, func(x *tried) { x.Local.Schedule = fedkit.Decay{Gamma: 0.5} }},
	"Local.Optimizer":      {nil, func(x *tried) { x.Local.Optimizer = fedkit.Momentum{} }},
	"Local.Prox":           {nil, proximal},
	"Local.LabelSmoothing": {func(x *tried) { x.label = true }, func(x *tried) { x.Local.LabelSmoothing = 0.1 }},
	"Local.Augment":        {func(x *tried) { x.label = true }, func(x *tried) { x.Local.Augment.Flip = true }},
	"Local.ClipExamples":   {nil, func(x *tried) { x.Local.ClipExamples = 0.1 }},
	"Local.Noise":          {func(x *tried) { x.Local.ClipExamples = 0.1 }, func(x *tried) { x.Local.Noise = 1 }},
	"Local.KeepMemory":     {func(x *tried) { x.Local.Optimizer = fedkit.Momentum{} }, func(x *tried) { x.Local.KeepMemory = true }},

	"Job.Clients": {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Clients = j.Clients[1:] }) }},
	"Job.MaxClients": {func(x *tried) { x.with(func(j *fedkit.Job) { j.Clients = j.Clients[:5] }) }, // rounding
		func(x *tried) { x.with(func(j *fedkit.Job) { j.MaxClients = 12 }) }},
	"Job.Rows": {nil, func(x *tried) {
		x.job = append(x.job, func(r *fedkit.Round, j *fedkit.Job) {
			for _, c := range j.Clients {
				j.Rows = append(j.Rows, r.Fed.Clients[c].Train[:5])
			}
		})
	}},
	"Job.Local":     {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Local.LR = 0.02 }) }},
	"Job.Start":     {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Start = j.Start.Scale(2) }) }},
	"Job.Epochs":    {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Epochs = each(j, 1) }) }},
	"Job.Steps":     {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Steps = each(j, 3) }) }},
	"Job.LR":        {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.LR = each(j, 0.02) }) }},
	"Job.Pulls":     {nil, pulled},
	"Job.Shift":     {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Shift = ramp(j.Start.Cols(), 1) }) }},
	"Job.Mask":      {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Mask = firstOnly(j.Start.Cols()) }) }},
	"Job.Objective": {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Objective = twice{} }) }},
	"Job.Extra": {func(x *tried) {
		x.with(func(j *fedkit.Job) {
			j.Objective, j.Extra = twice{by: true}, map[string]*fedkit.Matrix{"by": ramp(1, 1)}
		})
	}, func(x *tried) { x.with(func(j *fedkit.Job) { j.Extra["by"] = ramp(1, 2) }) }},
	"Job.PerExample": {func(x *tried) {
		x.job = append(x.job, func(r *fedkit.Round, j *fedkit.Job) {
			j.Objective, j.PerExample = twice{each: true}, map[string][][]float32{"each": eachExample(r, j, 1)}
		})
	}, func(x *tried) {
		x.job = append(x.job, func(r *fedkit.Round, j *fedkit.Job) { j.PerExample["each"] = eachExample(r, j, 2) })
	}},
	"Job.Weights": {nil, func(x *tried) {
		x.job = append(x.job, func(r *fedkit.Round, j *fedkit.Job) { j.Weights = eachExample(r, j, 2) })
	}},
	"Job.ReuseBatches": {func(x *tried) { x.job = append(x.job, func(r *fedkit.Round, j *fedkit.Job) { r.Train(*j) }) },
		func(x *tried) { x.with(func(j *fedkit.Job) { j.ReuseBatches = 1 }) }},
	"Job.StayLocal":    {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.StayLocal = true }) }},
	"Job.Relayed":      {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Relayed = true }) }},
	"Job.Communicated": {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Communicated = firstOnly(j.Start.Cols()) }) }},
	"Job.Down":         {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Down = 3 }) }},
	"Job.Up":           {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Up = 3 }) }},

	"Pull.To":      {pulled, func(x *tried) { x.with(func(j *fedkit.Job) { j.Pulls[0].To = ramp(j.Start.Cols(), 1) }) }},
	"Pull.Weight":  {pulled, func(x *tried) { x.with(func(j *fedkit.Job) { j.Pulls[0].Weight = 2 }) }},
	"Pull.Weights": {nil, func(x *tried) { x.with(func(j *fedkit.Job) { j.Pulls = []fedkit.Pull{{Weights: each(j, 1.0)}} }) }},
	"Pull.Mask":    {pulled, func(x *tried) { x.with(func(j *fedkit.Job) { j.Pulls[0].Mask = firstOnly(j.Start.Cols()) }) }},
}

// Every option is in the table, and changes what a run comes to, and what identifies it, unless its tag says that it does not.
func TestOptionsSayWhetherTheyChangeResults(t *testing.T) {
	if testing.Short() {
		t.Skip("two runs of every option")
	}
	fed := expect.Value(fedtest.Quadratic(20, 31, 8, 24, 17, 40, 22, 9, 13, 28, 36, 11))(t)
	known := 0
	for _, typ := range []reflect.Type{reflect.TypeFor[fedkit.Options](), reflect.TypeFor[fedkit.Keep](), reflect.TypeFor[fedkit.Pace](), reflect.TypeFor[fedkit.Local](), reflect.TypeFor[fedkit.Job](), reflect.TypeFor[fedkit.Pull]()} {
		for f := range typ.Fields() {
			if !f.IsExported() {
				continue
			}
			name := typ.Name() + "." + f.Name
			c, ok := optionCases[name]
			if !ok {
				t.Errorf("%s has no case that shows whether it changes results; if it does not, it is tagged `results:\"same\"`", name)
				continue
			}
			known++
			var outcomes, identities [2]string
			for i := range outcomes {
				x := &tried{Options: fedkit.Options{Rounds: 3, Seed: 1}, Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.01}, t: t}
				if c.setUp != nil {
					c.setUp(x)
				}
				if i == 1 {
					c.change(x)
				}
				outcomes[i], identities[i] = x.run(fed)
			}
			same := f.Tag.Get("results") == "same"
			expect.That(t, (outcomes[0] == outcomes[1]) == same,
				"%s: the outcomes are equal: %v, and its tag is %q; %.200q and %.200q", name, !same, f.Tag.Get("results"), outcomes[0], outcomes[1])
			if elsewhere := typ.Name() == "Job" || typ.Name() == "Pull" || name == "Options.Seed"; !elsewhere && (identities[0] == identities[1]) != same {
				t.Errorf("%s, whose tag is %q: %s and %s", name, f.Tag.Get("results"), identities[0], identities[1])
			}
		}
	}
	expect.That(t, known == len(optionCases), "%d of %d cases are of an option", known, len(optionCases))
}

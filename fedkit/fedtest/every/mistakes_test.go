package every_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/huggingface"
	"fedkit.example/datasets/parquet"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/convex"
	"fedkit.example/fedkit/export"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/loss"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/notebook"
	"fedkit.example/fedkit/plot"
	"fedkit.example/fedkit/preset"
	"fedkit.example/fedkit/progress"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/stats"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"fedkit.example/fedkit/table"
	"fedkit.example/fedkit/weights"
	"fedkit.example/notebooks/examples"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

// functions has every exported function with parameters, and types every exported type, first those of every.Kinds. A test compares them
// with the code.
var functions = []any{
	datasets.Join, datasets.MostFrequent, partition.EffectiveClasses, partition.EffectiveClients, partition.Groups, partition.LabelDistance,
	partition.LabelShares, partition.Labels, partition.Sizes, fedkit.Check, fedkit.Clone, fedkit.Defaults[int], fedkit.Describe,
	fedkit.Edge, fedkit.Failed, fedkit.Invalid, fedkit.JoinColumns, fedkit.Load, fedkit.NameLayer, fedkit.New, fedkit.NewMatrix,
	fedkit.Random, fedkit.Rounds, fedkit.Run, fedkit.Served, fedkit.StackRows, fedkit.TrainingOf, fedkit.Zeros, attack.Apply,
	attack.Attackers, chart.Colors, chart.Curves, chart.Diagram, chart.Failed, chart.Histogram, chart.Make, chart.Thin[int],
	cluster.Agree, cluster.Align, cluster.CosineDistances, cluster.Cosines, cluster.Directions, cluster.Follow,
	cluster.FromDistances, cluster.FromGram, cluster.FromRows, cluster.FromShiftedGram, cluster.FromVectors, cluster.Link,
	cluster.Match, cluster.Members, cluster.NewCondensed, cluster.PCA, cluster.Renumber, cluster.Responsibilities, cluster.Silhouette,
	cluster.SoftTop, cluster.Ungrouped, compare.Above, compare.Below, compare.BytesTo, compare.CommonBasis,
	compare.Differences, compare.Effects, compare.Evaluated, compare.GroupRuns, compare.Groups, compare.Heading, compare.LastRounds,
	compare.Lead, compare.Link, compare.Metric, compare.Note, compare.PerRound, compare.Rank, compare.Remarks, compare.Reported,
	compare.RoundsTo, compare.Runs, compare.Saved, compare.SimulatedTo, compare.Split, compare.Table, compare.Tidy,
	compare.TimeTo, compare.Until, convex.Curvature, convex.FixedPoint, convex.Matches, convex.Problems, convex.Regression,
	convex.RegressionGap, convex.Shares, convex.SplitRate, convex.WithRegressionGap, examples.Epsilon,
	examples.LoRADistance, export.Table, export.TensorBoard, fedtest.Identical, fedtest.Outcome, fedtest.Quadratic, fedtest.TestAggregator,
	fedtest.TestClusterer, fedtest.TestDevices, fedtest.TestMetric, fedtest.TestModel, fedtest.TestObjective, fedtest.TestSelector,
	fedtest.TestServerOptimizer, fedtest.TestStrategy, every.ByLoss, every.Sorted, history.Distinguish, history.EndLine,
	history.HeadingLine, history.HeadingOf, history.Load, history.LoadLight, history.Parse, history.ReadOpen,
	history.RecordLine, loss.BinaryCrossEntropy, loss.Correct, loss.CorrectTags, loss.CrossEntropy, loss.SquaredError, metric.Confusion, metric.Func,
	metric.PerClass, model.ConvPool, model.Dense, model.Dropout, model.Flatten, model.GoMLX, model.GroupNorm, model.He, model.Inputs,
	model.MaxPooling, model.ReLU, notebook.Explore, notebook.Interruptible, notebook.Show, notebook.Source, notebook.Text, notebook.Values, plot.Accuracy, plot.Against,
	plot.By, plot.ClientAccuracy, plot.ClientLabels, plot.ClusterDistances, plot.Clusters, plot.Confusion, plot.Dendrogram, plot.Dots, plot.Facets, plot.Follow,
	plot.Forest, plot.Gantt, plot.Grid, plot.Heat, plot.Labels, plot.Live, plot.Over, plot.PCA, plot.PCAs, plot.Participants, plot.Ranks,
	plot.Rounds, plot.Samples, plot.Show, plot.Similarities, plot.SimilaritiesOver, plot.Sizes, plot.Staleness, progress.Follow, progress.New,
	progress.Read, selection.PerCluster, sim.Edge, sim.ReadTrace, stats.CriticalDifference, stats.Friedman, stats.HodgesLehmann,
	stats.Holm, stats.Interval, stats.IntervalAt, stats.PairedT, stats.Ranks, stats.Wilcoxon, strategy.AdaptiveMu, strategy.Share,
	strategy.Weights, study.Computing, study.Diff, study.Full, study.List, study.New, study.Of, study.Open, table.Bytes, table.Make,
	table.Minus, table.NoBreak, table.Percent, table.Seconds, table.Short, weights.Features, weights.LoadModels,
	weights.LoadSafeTensors, weights.Models, weights.ReadModels, weights.SafeTensors,
}

var types = []any{
	(*datasets.Dataset)(nil), (*datasets.Loader)(nil), (*datasets.Part)(nil), (*datasets.Rows)(nil),
	(*datasets.Split)(nil), (*datasets.Table)(nil), (*datasets.Tokens)(nil), (*datasets.Words)(nil), (*huggingface.Dataset)(nil),
	(*parquet.Table)(nil), (*partition.Client)(nil), (*partition.Given)(nil), (*partition.Manifest)(nil),
	(*partition.Partitioned)(nil), (*fedkit.AggregatorFunc)(nil), (*fedkit.Async)(nil), (*fedkit.Augment)(nil), (*fedkit.Batch)(nil),
	(*fedkit.ClientResult)(nil), (*fedkit.Federation)(nil), (*fedkit.Float)(nil), (*fedkit.History)(nil), (*fedkit.InFlight)(nil),
	(*fedkit.Job)(nil), (*fedkit.Keep)(nil), (*fedkit.Layer)(nil), (*fedkit.Local)(nil), (*fedkit.Matrix)(nil), (*fedkit.Model)(nil),
	(*fedkit.NotFinite)(nil), (*fedkit.Options)(nil), (*fedkit.Pace)(nil), (*fedkit.Param)(nil), (*fedkit.Predictions)(nil),
	(*fedkit.Program)(nil), (*fedkit.Pull)(nil), (*fedkit.Record)(nil), (*fedkit.Round)(nil), (*fedkit.ScheduleFunc)(nil),
	(*fedkit.Score)(nil), (*fedkit.SelectorFunc)(nil), (*fedkit.Server)(nil), (*fedkit.ServerResult)(nil), (*fedkit.Serving)(nil),
	(*fedkit.StopAt)(nil), (*fedkit.Task)(nil), (*fedkit.Training)(nil), (*fedkit.Updates)(nil), (*attack.Forge)(nil),
	(*chart.Arrow)(nil), (*chart.Axis)(nil), (*chart.Box)(nil), (*chart.Display)(nil), (*chart.Figure)(nil), (*chart.Group)(nil),
	(*chart.Mark)(nil), (*chart.Row)(nil), (*chart.Series)(nil), (*cluster.AffinityFunc)(nil), (*cluster.Agreement)(nil),
	(*cluster.Condensed)(nil), (*cluster.Func)(nil), (*cluster.Groups)(nil), (*cluster.Linkage)(nil), (*cluster.Merge)(nil),
	(*cluster.Points)(nil), (*cluster.Tree)(nil), (*compare.Basis)(nil), (*compare.Bound)(nil), (*compare.Claim)(nil),
	(*compare.Claims)(nil), (*compare.Comparison)(nil), (*compare.Effect)(nil), (*compare.Group)(nil), (*compare.Panel)(nil),
	(*compare.Pivot)(nil), (*compare.Point)(nil), (*compare.Quantity)(nil), (*compare.Ranking)(nil), (*compare.Run)(nil),
	(*compare.Setting)(nil), (*compare.Value)(nil), (*convex.Problem)(nil), (*export.Events)(nil), (*examples.Alphas)(nil), (*examples.Ranks)(nil),
	(*fedtest.Suite)(nil), (*history.Absence)(nil), (*history.ClientResult)(nil), (*history.Clustering)(nil), (*history.Float)(nil),
	(*history.FineTuned)(nil), (*history.Heading)(nil), (*history.History)(nil), (*history.Label)(nil), (*history.Line)(nil), (*history.Main)(nil),
	(*history.Record)(nil), (*history.Score)(nil), (*history.ServerResult)(nil), (*history.Spread)(nil), (*history.Summary)(nil),
	(*history.Training)(nil), (*history.Validation)(nil), (*model.BatchNorm)(nil), (*model.Convolution)(nil), (*notebook.Range)(nil), (*plot.Moment)(nil), (*plot.Of)(nil),
	(*plot.Panel)(nil), (*plot.Schedule)(nil), (*preset.Number)(nil), (*preset.Preset)(nil), (*progress.Run)(nil),
	(*progress.Status)(nil), (*progress.Watcher)(nil), (*selection.By)(nil), (*server.Form)(nil), (*sim.Class)(nil),
	(*sim.Device)(nil), (*sim.Given)(nil), (*sim.Hours)(nil), (*sim.Interval)(nil),
	(*strategy.Asynchronous)(nil), (*strategy.Clustered)(nil), (*strategy.Grouped)(nil), (*strategy.Personal)(nil), (*strategy.State)(nil), (*strategy.WeightingFunc)(nil),
	(*study.Active)(nil), (*study.Attackers)(nil), (*study.Found)(nil), (*study.HeldOut)(nil), (*study.Label)(nil),
	(*study.Model)(nil), (*study.Named)(nil), (*study.Plan)(nil), (*study.Run)(nil), (*study.Runs)(nil), (*study.Study)(nil),
	(*study.Trial)(nil), (*study.World)(nil), (*table.At)(nil), (*table.Table)(nil), (*table.Verdict)(nil), (*weights.Pretrained)(nil),
}

func init() {
	var parts []any
	for _, k := range every.Kinds {
		for _, part := range k.Parts {
			switch t := reflect.TypeOf(part); {
			case t.Kind() == reflect.Func && t.NumIn() > 0:
				functions = append(functions, part)
			case t.Kind() == reflect.Pointer:
				parts = append(parts, part)
			case t.Kind() != reflect.Func:
				parts = append(parts, reflect.New(t).Interface())
			}
		}
	}
	types = append(parts, types...)
}

// Without an error as a result, these index slices that they are given, and panic as slices do.
var indexing = []string{"cluster.CosineDistances", "cluster.FromRows", "cluster.Condensed.At", "cluster.Condensed.Set", "cluster.Groups.Ratios", "cluster.Groups.Set",
	"cluster.Groups.Split", "cluster.Groups.Take", "cluster.Tree.Cut", "cluster.Tree.CutAt", "compare.Run.Follow", "datasets.Split.Row", "datasets.Split.Truth",
	"measure.Predictions.ClassMeans"}

// What is left out: parts of the machinery, which users do not call; what draws PNG, shows or reads the network; calls of functions
// that runs refuse when they are nil; runs of 2⁶³ rounds and of the conformance suite.
var leftOut = []string{"flight.InFlight", "xla.Program", "task.Training", "task.Batch", "sim.Clock", "sim.Message", "sim.Times", "sim.Wait", "fedkit.Round", "fedkit.Local.Rate", "fedkit.NewProgram", "fedkit.NewPrograms",
	"progress.Run", "progress.Watcher", "convex.Problem", "fedtest.Suite", "datasets.Loader", "history.ReadOpen", "history.EndLine", "history.HeadingLine", "history.RecordLine",
	"chart.Display", "chart.Figure.PNG", "chart.Row.PNG", "chart.Figure.Save", "chart.Row.Save", "chart.Figure.Show", "chart.Row.Show", "table.Table.Show",
	"notebook.Begin", "notebook.Guard", "notebook.Initialized", "notebook.Panic", "notebook.Show", "plot.Show", "chart.Colors"}

// mistaken calls functions with absurd arguments.
type mistaken struct {
	*testing.T
	good  map[reflect.Type]reflect.Value
	above []reflect.Type // of the structs whose fields are being filled in
	calls int
}

func fits[T any](m *mistaken, v T) { m.good[reflect.TypeFor[T]()] = reflect.ValueOf(&v).Elem() }

// usual is a value that suits, as far as there is one.
func (m *mistaken) usual(t reflect.Type) reflect.Value {
	k := t.Kind()
	switch v, known := m.good[t]; {
	case known:
		return v
	case k == reflect.Slice:
		return reflect.Append(reflect.Zero(t), m.usual(t.Elem()))
	case k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr:
		return reflect.ValueOf(2).Convert(t)
	case k == reflect.Pointer && ours(t.Elem()):
		p := reflect.New(t.Elem())
		p.Elem().Set(m.usual(t.Elem()))
		return p
	case k == reflect.Func:
		return reflect.MakeFunc(t, func([]reflect.Value) (zeros []reflect.Value) {
			for i := range t.NumOut() {
				zeros = append(zeros, reflect.Zero(t.Out(i)))
			}
			return zeros
		})
	case k == reflect.Interface:
		for _, p := range types {
			if typ := reflect.TypeOf(p).Elem(); typ.Implements(t) {
				return reflect.Zero(typ)
			}
		}
	}
	return reflect.Zero(t)
}

// ours reports whether a type is a struct of this module that a user fills in.
func ours(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "fedkit.example/") && t != reflect.TypeFor[fedkit.History]()
}

// absurd returns values that are mistakes: nil, zero, negative, enormous, not finite, and structs, to a depth, with one such field.
func (m *mistaken) absurd(t reflect.Type, depth int) (all []reflect.Value) {
	if t == reflect.TypeFor[*rand.Rand]() {
		return nil
	}
	all = append(all, reflect.Zero(t))
	add := func(values ...any) {
		for _, v := range values {
			all = append(all, reflect.ValueOf(v).Convert(t))
		}
	}
	switch k := t.Kind(); {
	case k == reflect.Int || k == reflect.Int64:
		add(-1, math.MaxInt, math.MinInt, 1<<40, 1<<62)
	case k == reflect.Float64 || k == reflect.Float32:
		add(math.NaN(), math.Inf(1), math.Inf(-1), -1.0, 1e300)
	case k == reflect.String:
		add("none", "\x00")
	case k == reflect.Bool:
		add(true)
	case k == reflect.Slice && depth > 0:
		for _, v := range m.absurd(t.Elem(), depth-1) {
			one := reflect.Append(reflect.MakeSlice(t, 0, 2), v)
			all = append(all, one, reflect.Append(one, m.usual(t.Elem())))
		}
	case k == reflect.Pointer && t == reflect.TypeFor[*fedkit.History]():
		add(&fedkit.History{}, &fedkit.History{Rounds: make([]fedkit.Record, 1)})
	case k == reflect.Pointer && depth > 0 && ours(t.Elem()):
		for _, v := range m.absurd(t.Elem(), depth) {
			p := reflect.New(t.Elem())
			p.Elem().Set(v)
			all = append(all, p)
		}
	case k == reflect.Interface && strings.HasPrefix(t.PkgPath(), "fedkit.example/"):
		for _, p := range types {
			p := reflect.TypeOf(p)
			switch {
			case p.Elem().Implements(t):
				all = append(all, m.absurd(p.Elem(), depth-1)...)
			case p.Implements(t):
				all = append(all, reflect.Zero(p), reflect.New(p.Elem()))
			}
		}
	case ours(t) && depth > 0 && !slices.Contains(m.above, t):
		m.above = append(m.above, t)
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Name != "State" && !(f.Name == "Rounds" && t == reflect.TypeFor[fedkit.Options]()) {
				for _, v := range m.absurd(f.Type, depth-1) {
					s := reflect.New(t).Elem()
					s.Set(m.usual(t))
					s.Field(i).Set(v)
					all = append(all, s)
				}
			}
		}
		m.above = m.above[:len(m.above)-1]
	}
	return all
}

// call calls f, and looks at what it returns. A panic with an error that says what must be passed is allowed without an error result.
func (m *mistaken) call(name string, f reflect.Value, args []reflect.Value) {
	m.calls++
	words := func() string {
		text := name + "("
		for _, a := range args {
			text += fmt.Sprintf("%.300v, ", strings.ToValidUTF8(describe(a), "?"))
		}
		return strings.TrimSuffix(text, ", ") + ")"
	}
	long := time.AfterFunc(2*time.Minute, func() { fmt.Println("this takes long:", words()) })
	defer long.Stop()
	defer func() {
		if p := recover(); p != nil {
			err, _ := p.(error)
			var wrong runtime.Error
			said := err != nil && !errors.As(err, &wrong) && strings.Contains(err.Error(), ": must be ")
			indexed := strings.Contains(fmt.Sprint(p), "out of range") && slices.Contains(indexing, name)
			if t := f.Type(); !(said && (t.NumOut() == 0 || t.Out(t.NumOut()-1) != reflect.TypeFor[error]())) && !indexed {
				m.Errorf("%s: panic: %v", words(), p)
			}
		}
	}()
	for _, out := range f.Call(args) {
		switch v := out.Interface().(type) {
		case *chart.Figure:
			v.VegaLite()
		case chart.Row:
			v.VegaLite()
		case fedkit.Model:
			_, _ = fedkit.New(m.usual(reflect.TypeFor[*datasets.Dataset]()).Interface().(*datasets.Dataset), partition.IID{Clients: 2}, v)
		case interface{ HTML() string }:
			v.HTML()
		case fmt.Stringer:
			if out.Kind() != reflect.Pointer || !out.IsNil() {
				_ = v.String()
			}
		}
	}
}

func describe(v reflect.Value) (text string) {
	defer func() {
		if recover() != nil {
			text = v.Type().String()
		}
	}()
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	return fmt.Sprintf("%v %+v", v.Type(), v)
}

// all calls f with one absurd argument at a time, and with zeros; before are arguments that stay.
func (m *mistaken) all(name string, f reflect.Value, depth int, before ...reflect.Value) {
	t := f.Type()
	zeros, usual := slices.Clip(before), slices.Clip(before)
	for i := len(before); i < t.NumIn(); i++ {
		in := t.In(i)
		if t.IsVariadic() && i == t.NumIn()-1 {
			in = in.Elem()
		}
		switch in {
		case reflect.TypeFor[*fedkit.Round](), reflect.TypeFor[*graph.Node](), reflect.TypeFor[[]*graph.Node](), reflect.TypeFor[testing.TB]():
			return // inside a round or a graph, where panics are errors
		}
		zeros, usual = append(zeros, reflect.Zero(in)), append(usual, m.usual(in))
		if in == reflect.TypeFor[*rand.Rand]() {
			zeros[i] = usual[i] // runs pass it
		}
	}
	if m.call(name, f, usual); depth == 0 {
		return
	}
	m.call(name, f, zeros)
	for i := len(before); i < len(usual); i++ {
		for _, v := range m.absurd(zeros[i].Type(), depth) {
			args := slices.Clone(usual)
			args[i] = v
			m.call(name, f, args)
			if t.IsVariadic() && i == len(usual)-1 {
				m.call(name, f, append(slices.Clone(usual), v))
			}
		}
	}
	if t.IsVariadic() {
		m.call(name, f, usual[:len(usual)-1])
	}
}

// No function or method that a user calls ends in a panic, a hang or the end of the process, whatever it is given by mistake.
func TestMistakesAreErrors(t *testing.T) {
	t.Setenv("FEDKIT_OFFLINE", "1")
	t.Chdir(t.TempDir())
	m := &mistaken{T: t, good: map[reflect.Type]reflect.Value{}}
	m.fill()
	charttest.Capture(t, &os.Stdout, func() { charttest.Capture(t, &os.Stderr, m.everything) })
	expect.That(t, m.calls >= 10_000, "only %d calls", m.calls)
}

func (m *mistaken) everything() {
	for _, f := range functions {
		v := reflect.ValueOf(f)
		name := path.Base(runtime.FuncForPC(v.Pointer()).Name())
		switch {
		case slices.Contains(leftOut, name):
		case strings.HasPrefix(name, "fedtest."): // whose suites take long
			var nothing []reflect.Value
			for in := range v.Type().Ins() {
				nothing = append(nothing, reflect.Zero(in))
			}
			if !v.Type().IsVariadic() {
				m.call(name, v, nothing)
			} else if len(nothing) > 1 {
				m.call(name, v, nothing[:len(nothing)-1])
			}
		default:
			m.all(name, v, 2)
		}
	}
	for _, p := range types {
		p := reflect.TypeOf(p)
		typ := p.Elem()
		if typ.Kind() == reflect.Func || slices.Contains(leftOut, typ.String()) {
			continue
		}
		receivers := m.absurd(typ, 2)
		for i := range p.NumMethod() {
			method, name := p.Method(i), fmt.Sprintf("%v.%s", typ, p.Method(i).Name)
			if slices.Contains(leftOut, name) || method.Name == "Check" && method.Type.NumIn() == 3 { // see the next test
				continue
			}
			for j, r := range append(receivers, m.usual(typ)) {
				to := reflect.New(typ)
				to.Elem().Set(r)
				m.all(name, method.Func, map[int]int{0: 1, len(receivers): 2}[j], to)
			}
		}
	}
	for _, p := range types { // options are checked before they are used
		for _, v := range m.absurd(reflect.PointerTo(reflect.TypeOf(p).Elem()), 3) {
			for _, fed := range []*fedkit.Federation{nil, {}, m.good[reflect.TypeFor[*fedkit.Federation]()].Interface().(*fedkit.Federation)} {
				m.all("fedkit.Check", reflect.ValueOf(fedkit.Check), 0, v, reflect.ValueOf(fed), reflect.ValueOf(3))
			}
		}
	}
}

// Parts that contain themselves are refused: what they say and do would not end.
func TestPartsThatContainThemselvesAreRefused(t *testing.T) {
	m := &mistaken{T: t, good: map[reflect.Type]reflect.Value{}}
	m.fill()
	fed, d, local := expect.Value(fedtest.Quadratic())(t), m.usual(reflect.TypeFor[*datasets.Dataset]()).Interface().(*datasets.Dataset), every.Local
	devices, classes := &sim.Mixed{}, make([]sim.Class, 1)
	devices.Classes, classes[0] = []sim.Class{{Share: 1, Of: devices}}, sim.Class{Share: 1, Of: sim.Mixed{Classes: classes}}
	for _, rule := range []sim.Rule{devices, classes[0].Of} {
		expect.Error(t, "contains itself")(rule.Draw(3))
		expect.Invalid(t, "rule.", "must be one that does not contain itself")(fed.WithDevices(rule))
		expect.Invalid(t, "rule.", "must be one that does not contain itself")(fed.WithEdges(2, rule))
		expect.That(t, strings.Contains(rule.String(), "contains itself"), "%v", rule.String())
	}
	take := &partition.Take{Train: 2}
	take.Of = take
	expect.Error(t, "*partition.Take that contains itself")(take.Partition(d))
	expect.Invalid(t, "rule.Of", "*partition.Take", "must be one that does not contain itself")(fedkit.New(d, take, model.LogisticRegression()))
	near, explore := &aggregate.NearestMix{}, &selection.Explore{}
	near.By, explore.Then = near, explore
	for _, s := range []fedkit.Strategy{&strategy.FedAvg{Local: local, Aggregator: near}, &strategy.FedAvg{Local: local, Selector: explore}} {
		expect.Invalid(t, "must be one that does not contain itself")(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 1}))
	}
}

// A strategy with an enormous number as an option runs or is refused, and takes neither all memory nor for ever.
func TestEnormousOptionsAreRefused(t *testing.T) {
	fed, tried := expect.Value(fedtest.Quadratic())(t), map[string]bool{}
	for name := range every.Strategies() {
		typ := reflect.TypeOf(every.Strategies()[name]).Elem()
		for _, f := range reflect.VisibleFields(typ) {
			numbers := []reflect.StructField{f}
			if f.Type == reflect.TypeFor[fedkit.Local]() {
				numbers = reflect.VisibleFields(f.Type)
			}
			for _, n := range numbers {
				key := fmt.Sprintf("%v.%s.%s", typ, f.Name, n.Name)
				if n.Type.Kind() != reflect.Int || !n.IsExported() || tried[key] {
					continue
				}
				tried[key] = true
				for _, v := range []int64{1 << 40, math.MaxInt} {
					s := every.Strategies()[name]
					to := reflect.ValueOf(s).Elem().FieldByIndex(f.Index)
					if to.Kind() == reflect.Struct {
						to = to.FieldByIndex(n.Index)
					}
					to.SetInt(v)
					long := time.AfterFunc(2*time.Minute, func() { fmt.Println("this takes long:", key, v) })
					if _, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 2}); err != nil && strings.Contains(err.Error(), "panic") {
						t.Errorf("%s = %d: %v", key, v, err)
					}
					long.Stop()
				}
			}
		}
	}
	expect.That(t, len(tried) >= 100, "only %d options", len(tried))
}

// fill makes what suits.
func (m *mistaken) fill() {
	d, rng, ctx := &datasets.Dataset{Name: "tiny", Shape: []int{2}, Classes: 3}, rand.New(rand.NewPCG(1, 2)), context.Background()
	for i := range 60 {
		part := d.Part(datasets.Part(i / 40))
		part.Floats = append(part.Floats, rng.Float32(), rng.Float32())
		part.Labels, part.Owner = append(part.Labels, int32(i%3)), append(part.Owner, int32(i/2%4))
	}
	fed := expect.Value(fedkit.New(d, partition.IID{Clients: 4}, model.LogisticRegression()))(m)
	fed = expect.Value(fed.WithDevices(sim.Devices{PerExample: sim.Constant(1), Up: sim.Constant(1e6)}))(m)
	s := &strategy.FedAvg{}
	h := expect.Value(fedkit.Run(ctx, fed, s, fedkit.Options{Rounds: 2}))(m)
	sv := expect.Value(fedkit.Served(ctx, fed, s))(m)
	x, gram := mat.NewDense(4, 2, []float64{1, 2, 3, 4, 1, 1, 0, 2}), mat.NewSymDense(4, []float64{4, 1, 1, 1, 1, 4, 1, 1, 1, 1, 4, 1, 1, 1, 1, 4})
	series := chart.Series{X: []float64{1, 2, 3}, Y: []float64{2, 3, 4}}
	for _, fit := range []func(){
		func() { fits(m, d) }, func() { fits(m, *d) }, func() { fits(m, rng) }, func() { fits(m, ctx) }, func() { fits(m, fed) }, func() { fits(m, fed.Task) },
		func() { fits[fedkit.Strategy](m, s) }, func() { fits(m, h) }, func() { fits(m, *h) }, func() { fits(m, *h.Last()) }, func() { fits(m, sv) }, func() { fits(m, sv.Global) },
		func() { fits(m, fedkit.Options{Rounds: 1}) }, func() { fits(m, model.MLP()) }, func() { fits[partition.Rule](m, partition.IID{Clients: 3}) },
		func() { fits(m, x) }, func() { fits(m, gram) }, func() { fits(m, cluster.FromVectors(x)) }, func() { fits(m, cluster.CosineDistances(gram, []int{0, 1, 2, 3})) },
		func() { fits(m, expect.Value(cluster.Link(cluster.FromVectors(x), cluster.Ward))(m)) }, func() { fits(m, compare.Accuracy) }, func() { fits(m, plot.Accuracy) },
		func() { fits(m, plot.Panel{Name: "a", Runs: []*history.History{h}}) }, func() { fits(m, expect.Value(compare.Runs(h))(m)[0]) }, func() { fits(m, &study.Run{Name: "a", About: h}) },
		func() { fits(m, series) }, func() { fits(m, *chart.Curves("a", "b", "c", series)) }, func() { fits(m, table.Table{Lines: [][]string{{"a", "b"}, {"1", "2"}}}) },
		func() { fits(m, []int{0, 1, 0, 1}) }, func() { fits(m, [][]int{{1, 2}, {3, 4}}) }, func() { fits(m, []float64{0.1, 0.5, 0.2, 0.8}) }, func() { fits(m, [][]float64{{0.1, 0.5}, {0.2, 0.8}}) },
		func() { fits(m, sim.Device{PerExample: 1, Up: 1e6, Down: 1e6}) },
	} {
		fit()
	}
}

// What the packages export stands in the tables.
func TestMistakesAreTriedOnEverything(t *testing.T) {
	known := map[string]bool{}
	for _, f := range functions {
		name, _, _ := strings.Cut(runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name(), "[")
		known[name] = true
	}
	for _, p := range types {
		typ := reflect.TypeOf(p).Elem()
		known[typ.PkgPath()+"."+typ.Name()] = true
	}
	for _, name := range leftOut {
		known["fedkit.example/"+strings.Replace("fedkit/"+name, "fedkit/fedkit.", "fedkit.", 1)] = true
	}
	names := 0
	root := filepath.FromSlash("../../..")
	expect.OK(t, filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains([]string{"internal", "cmd", "testdata", "notebooks", "scripts", ".git", "worker", "command", "config", "gonb", "room", "bounds", "charttest", "expect", "every", "oracle", "docs", "regression"}, e.Name()):
			return fs.SkipDir
		case filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, _ := filepath.Rel(root, filepath.Dir(file))
		need := func(name *ast.Ident) {
			full := path.Join("fedkit.example", filepath.ToSlash(folder)) + "." + name.Name
			expect.That(t, !name.IsExported() || known[full], "%s is in neither table", full)
			names++
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && len(d.Type.Params.List) > 0 {
					need(d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					s, is := s.(*ast.TypeSpec)
					if !is || s.Assign.IsValid() || s.TypeParams != nil {
						continue
					}
					if _, is := s.Type.(*ast.InterfaceType); !is {
						need(s.Name)
					}
				}
			}
		}
		return nil
	}))
	expect.That(t, names >= 500, "only %d names", names)
}

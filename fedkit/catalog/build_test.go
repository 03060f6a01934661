package catalog_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/catalog"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
)

var local = fedkit.Local{Epochs: 2, Batch: 16, LR: 0.03, Schedule: fedkit.Decay{Gamma: 0.9, Every: 3},
	Optimizer: fedkit.Clip{Norm: 1, Then: fedkit.WeightDecay{Lambda: 1e-4, Then: fedkit.Adam{Beta1: 0.8}}}, Prox: 0.1}

// Build turns a configuration, also after a round trip through JSON or one line of text, into a value with the same
// configuration.
func TestBuildIsTheInverseOfOf(t *testing.T) {
	for _, s := range []fedkit.Strategy{
		&strategy.FedAvg{Fraction: 0.5, Local: local, Selector: selection.Explore{ColdStart: 3, Then: selection.Hybrid{By: selection.Loss, Temperature: math.Inf(1)}}},
		&strategy.FedSGD{LR: 0.5, Batch: 7},
		&strategy.FedMiddleAvg{Weighting: strategy.Equal{}, Aggregator: aggregate.NearestMix{F: 2, By: aggregate.Krum{F: 1}}},
		&strategy.FedOpt{Server: server.Yogi{LR: 0.02, Form: server.Reddi}},
		&strategy.FedAvgM{Server: server.Momentum{Beta: fedkit.Zero}},
		&strategy.FedAdagrad{Server: server.Adagrad{LR: 0.1}},
		&strategy.FedAdam{Server: server.Adam{Beta2: 0.95}},
		&strategy.FedYogi{Fraction: 0.1},
		&strategy.FedMedian{Local: fedkit.Local{Steps: 5, Batch: fedkit.FullBatch, LR: 1e-3}},
		&strategy.FedProx{Mu: fedkit.Zero, Adaptive: true, MuMax: 2, Aggregator: aggregate.TrimmedMean{Share: 0.1}, Server: server.SGD{LR: 0.5}},
		&strategy.SCAFFOLD{Gradients: true, Weighting: strategy.ByExamples{}, Aggregator: aggregate.GeometricMedian{Smoothing: 1e-5}, Selector: selection.Fair{Wait: 4, Then: selection.Annealed{Then: selection.Diversity{}}}},
		&strategy.SmartFedProx{Mu: 0.3, Selector: selection.Bandwidth{Seconds: []float64{1, math.Inf(1), 2.5}, Deadline: 3}},
		&strategy.FedSplit{Step: 0.2, L2: 0.1, Exact: true},
		&strategy.FedAsync{Concurrency: 5, Alpha: 0.3, Staleness: strategy.Hinge{B: 2}, Updates: true},
		&strategy.FedBuff{K: 3, Staleness: strategy.Constant{}, Selector: selection.Diversity{}},
		&strategy.CCFL{StepsMin: 2, StepsMax: 9, Server: server.AMSGrad{LR: 0.1}},
		&strategy.FedRep{Head: []string{"dense2"}, HeadEpochs: 3},
		&strategy.LocalOnly{Selector: selection.ByCluster{Labels: []int{0, 1, -1}}},
		&strategy.IFCA{K: 4, Gamma: 0.2, Gradients: true},
		&strategy.FedPRISM{K: 3, M: 1, Alpha: fedkit.Zero, Center: true, Clusterer: cluster.KMeans{Starts: 2}},
		&strategy.FedAC{K: 3, Lambda: fedkit.Zero, Fixed: true, Head: []string{"dense2"}},
		&strategy.AdaptiveClustering{P: 8, SAProb: 0.3, Clusterer: cluster.Agglomerative{Linkage: cluster.Average}, AsPublished: true},
		&examples.APFL{Alpha: 0.3, Alphas: examples.Alphas{0, 1}}, &examples.Distill{Temperature: 2}, &examples.Ditto{Lambda: 1},
		&examples.FedDF{Distill: fedkit.Local{Steps: 5, Batch: 8, LR: 0.1}}, &examples.FedDyn{Alpha: 0.01}, &examples.FedEM{K: 2}, &examples.FedFomo{Fraction: 0.5}, &examples.FedLAMA{Phi: 3}, &examples.FedLC{Tau: 0.5}, &examples.FedNova{Epochs: []int{1, 2, 3}}, &examples.FedProto{Layer: "dense1"}, &examples.HierFAVG{Edges: 3}, &examples.DPSGD{Offsets: []int{1, 2}, Before: true}, &examples.MOON{Mu: 5}, &examples.PACFL{Angles: 1, Clusterer: cluster.Agglomerative{Height: 0.5}},
		&examples.Partial{Personal: []string{"dense1"}}, &examples.PFedHN{Hidden: 9}, &examples.PFedMe{Beta: 2}, &examples.QFedAvg{},
		&examples.DPFedAvg{Noise: fedkit.Zero}, &examples.QSGD{Levels: 7}, &examples.Sparse{Keep: 0.1},
	} {
		want := config.Of(s)
		for _, tree := range []any{want, decoded(t, want), catalog.Text(decoded(t, want))} {
			got, err := catalog.Build[fedkit.Strategy](tree)
			if err != nil {
				t.Errorf("%v: %v", want, err)
			} else if !reflect.DeepEqual(config.Of(got), want) {
				t.Errorf("%v became %v", want, config.Of(got))
			}
		}
	}
	inverse[partition.Rule](t, partition.Rotations{Of: partition.Dirichlet{Clients: 20, Alpha: 0.3, Seed: math.MaxUint64}, Degrees: []int{0, 90}})
	inverse[partition.Rule](t, partition.Relabel{Of: partition.IID{Clients: 2}, Maps: [][]int{{0, 1}, {1, 0}}})
	inverse[partition.Rule](t, partition.Validation{Of: partition.IID{Clients: 2}, Share: 0.1})
	inverse[attack.Attack](t, attack.SignFlip{Scale: 5})
	inverse[catalog.Data](t, datasets.CSV{File: "a.csv", Label: "y", Skip: []string{"id", "name"}, Shape: []int{2, 2, 1}, Standardize: true, Share: 0.3})
	inverse[catalog.Data](t, datasets.NPY{X: "toy.npz:x", Y: "toy.npz:y", ChannelsFirst: true, Seed: 3})
	inverse[catalog.Data](t, datasets.ImageFolder{Dir: "pets/train", Test: "pets/test", Size: []int{32, 32}, Channels: 1, Owners: true})
	inverse[partition.Rule](t, partition.ByTarget{Of: partition.IID{Clients: 2}, Column: 1, Bins: 4})
	inverse[sim.Rule](t, sim.Devices{PerExample: sim.Constant(0.25), Reference: 1e6, Up: sim.LogNormal{Median: 1e6, Sigma: 1}, Down: sim.TwoClasses{Fast: 2, Slow: 1, Share: 0.5}, Drop: sim.Uniform{High: 0.1}, Seed: 3})
	inverse[sim.Rule](t, sim.Mixed{Classes: []sim.Class{{Share: 0.8, Of: sim.Devices{}}, {Share: 0.2, Of: sim.Trace{File: "phones.csv"}}}, Seed: 1})
	inverse[fedkit.Options](t, fedkit.Options{Rounds: 3, Pace: fedkit.Pace{Deadline: 60, OverSelection: 0.3, PartialWork: true}})
	inverse[fedkit.Options](t, fedkit.Options{Rounds: 30, Seed: 1 << 60, NotFinite: fedkit.Skip, Metrics: []fedkit.Metric{metric.MacroF1{}, metric.Recall{Class: 2}}})
}

// decoded is a configuration as encoding/json reads it: its numbers are float64.
func decoded(t *testing.T, c *config.Config) (tree any) {
	t.Helper()
	expect.OK(t, json.Unmarshal(expect.Value(json.Marshal(c))(t), &tree))
	return tree
}

func inverse[T any](t *testing.T, v T) {
	t.Helper()
	if got, err := catalog.Build[T](config.Of(v)); err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("%+v became %+v, %v", v, got, err)
	}
}

// A text, a name with options, and other spellings of names give the same value.
func TestBuildKnowsManySpellings(t *testing.T) {
	want := &strategy.FedProx{Mu: 0.1, MuMin: fedkit.Zero, Local: fedkit.Local{Batch: fedkit.FullBatch, LR: 1e-3, Schedule: fedkit.Cosine{Rounds: 30}},
		Aggregator: aggregate.Krum{F: 2}}
	for _, tree := range []any{
		"FedProx Mu=0.1 MuMin=0 Local.Batch=FullBatch Local.LR=1e-3 Local.Schedule=Cosine Local.Schedule.Rounds=30 Aggregator=Krum Aggregator.F=2",
		"strategy.fed-prox  mu=0.1 mu_min=zero local.batch=-1 local.lr=0.001 local.schedule={type: Cosine, Rounds: 30} aggregator.type=krum aggregator.f=2",
		map[string]any{"type": "FEDPROX", "Mu": 0.1, "mu-min": 0, "Local": "Batch=full-batch LR=.001 Schedule=Cosine Schedule.Rounds=30",
			"Aggregator": map[string]any{"type": "aggregate.Krum", "f": json.Number("2")}, "Server": nil},
	} {
		if got, err := catalog.Build[fedkit.Strategy](tree); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v became %+v, %v", tree, got, err)
		}
	}
	dotted := map[string]any{"type": "FedAvg", "Local.LR": 0.1, "Local.Batch": 8, "Aggregator.type": "Krum"}
	if got, err := catalog.Build[fedkit.Strategy](dotted); err != nil || !reflect.DeepEqual(got, &strategy.FedAvg{Local: fedkit.Local{LR: 0.1, Batch: 8}, Aggregator: aggregate.Krum{}}) {
		t.Errorf("%v became %+v, %v", dotted, got, err)
	}
	if got, err := catalog.Build[fedkit.Selector]("Hybrid Temperature=0"); err != nil || !reflect.DeepEqual(got, selection.Hybrid{Temperature: fedkit.Zero}) {
		t.Errorf("%+v, %v", got, err)
	}
	rule := "Devices PerExample=0.25 Up={type: Uniform, Low: 1, High: 2} Seed=4"
	if got, err := catalog.Build[sim.Rule](rule); err != nil || !reflect.DeepEqual(got, sim.Devices{PerExample: sim.Constant(0.25), Up: sim.Uniform{Low: 1, High: 2}, Seed: 4}) {
		t.Errorf("%s became %+v, %v", rule, got, err)
	}
	text := "MLP hidden=[64, 32]"
	if m, err := catalog.Build[catalog.Model](text); err != nil || m.Model() == nil {
		t.Errorf("%s: %v", text, err)
	}
}

// Each mistake is refused with the option, its value, and what is allowed or meant.
func TestBuildRefusesMistakes(t *testing.T) {
	for tree, want := range map[string][]string{
		"FedPox":                        {"strategy = FedPox", "did you mean FedProx?", "SCAFFOLD"},
		"Zzzzzzzzzzzzzzzz":              {"strategy = Zzzzzzzzzzzzzzzz", "FedAvg, "},
		"":                              {"strategy = ", "the name of a strategy: "},
		"Mu=0.1":                        {"strategy = ", "the name of a strategy: "},
		"FedProx Mo=0.1":                {"Mo = 0.1", "an option of strategy.FedProx (did you mean Mu?)", "Fraction"},
		"FedProx Local.LearningRate=1":  {"Local.LearningRate = 1", "an option of fedkit.Local", "LR"},
		"FedProx Local.LR=fast":         {"Local.LR = fast", "must be a number"},
		"FedProx Local.LR=true":         {"Local.LR = true", "must be a number"},
		"FedProx Local.LR=[1, 2]":       {"Local.LR = [1,2]", "must be a number"},
		"FedProx Local.Epochs=1.5":      {"Local.Epochs = 1.5", "must be a whole number"},
		"FedProx Local.Epochs=0":        {"Local.Epochs = 0", "must be in [1, inf), or left out for 1"},
		"SmartFedProx Fraction=0.0":     {"Fraction = 0", "must be in (0, 1], or left out for 0.5"},
		"FedProx Local.LR= Mu=1":        {`"Local.LR="`, "a name, =, and a value"},
		"FedProx Adaptive=1":            {"Adaptive = 1", "must be true or false"},
		"FedProx Local=3":               {"Local = 3", "options with their values"},
		"FedProx Aggregator=Kurm":       {"Aggregator = Kurm", "the name of an aggregator (did you mean Krum?)"},
		"FedProx Aggregator.F=2":        {"Aggregator = ", "the name of an aggregator: "},
		"FedProx Aggregator=3":          {"Aggregator = 3", "the name of an aggregator"},
		"FedProx Mu=0.1 0.2":            {`"0.2"`, "Name=value"},
		"FedProx Mu=[":                  {`"Mu=["`, "a name, =, and a value"},
		"FedAdam Server=Yogi":           {"Server.type = Yogi", "server.Adam"},
		"FedAdam Server.Form=Redi":      {"Server.Form = Redi", "did you mean Reddi?"},
		"FedRep Head=[1]":               {"Head[0] = 1", "a text, in quotes"},
		"FedAvg State=1":                {"State = 1", "an option of strategy.FedAvg"},
		"FedAvg X=1":                    {"X = 1", "an option of strategy.FedAvg"},
		"FedAvg Local={lr: 1, LR: 2}":   {"Local.lr = given twice"},
		"FedAvg Selector={type: 3}":     {"Selector = ", "the name of a selector"},
		"FedProx Aggregator=Median F=2": {"F = 2", "an option of strategy.FedProx"},
		"FedAvg Selector=Annealed Selector.Then=Random": {"Selector.Then = Random", "Diversity, Hybrid"},
	} {
		expect.Invalid(t, want...)(catalog.Build[fedkit.Strategy](tree))
	}
	expect.Invalid(t)(catalog.Build[fedkit.Options]("Watch=Live"))
	expect.Error(t)(catalog.Build[fedkit.Strategy](config.Of(&strategy.FedAvg{Aggregator: fedkit.AggregatorFunc(nil)})))
	expect.Error(t, "only its hash was kept")(catalog.Build[fedkit.Selector](config.Of(selection.ByCluster{Labels: make([]int, 100)})))
}

// Options that are set later are merged where they belong, and trees that were merged before stay unchanged.
func TestSetMerges(t *testing.T) {
	base := map[string]any{"strategy": "FedAvg Aggregator=Krum", "data": "Digits"}
	a, b := map[string]any{}, map[string]any{}
	catalog.Merge(a, base)
	catalog.Set(a, "strategy", "Aggregator=Median")
	catalog.Set(a, "strategy.aggregator", "Krum")
	catalog.Set(a, "Strategy.aggregator.F", 2)
	catalog.Set(a, "strategy.Local.LR", 0.1)
	catalog.Merge(b, a)
	catalog.Set(b, "strategy", "FedProx Local.Batch=4")
	catalog.Set(b, "strategy.Aggregator", "Median")
	catalog.Set(b, "data", "MNIST")
	for want, tree := range map[string]map[string]any{
		`{"data":"Digits","strategy":"FedAvg Aggregator=Krum"}`:                                                            base,
		`{"data":"Digits","strategy":{"Aggregator":{"F":2,"type":"Krum"},"Local":{"LR":0.1},"type":"FedAvg"}}`:             a,
		`{"data":"MNIST","strategy":{"Aggregator":{"F":2,"type":"Median"},"Local":{"Batch":4,"LR":0.1},"type":"FedProx"}}`: b,
	} {
		if got, err := json.Marshal(tree); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

func FuzzBuild(f *testing.F) {
	f.Add("FedAvg Fraction=0.5 Aggregator=Krum Aggregator.F=2 Local={LR: 0.1}")
	f.Add("FedProx Local.Schedule={type: Decay} Selector.Labels=[1, -1")
	f.Add("FedAvg .=1 type.type=2 Local.type=Local")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := catalog.Build[fedkit.Strategy](text)
		if (s == nil) != (err != nil) {
			t.Errorf("%q: %v, %v", text, s, err)
		}
		if err != nil {
			return
		}
		if again, err := catalog.Build[fedkit.Strategy](config.Of(s)); err != nil || !reflect.DeepEqual(config.Of(again), config.Of(s)) {
			t.Errorf("%q: %v became %v, %v", text, config.Of(s), config.Of(again), err)
		}
	})
}

// Data sets of the same examples are joined; one that is missing is named.
func TestBuildJoins(t *testing.T) {
	data := expect.Value(catalog.Build[catalog.Data](map[string]any{"type": "Join", "Of": []any{"Digits", "Digits"}}))(t)
	d := expect.Value(data.Make())(t)
	if want := [][]int{{8, 8, 1}, {8, 8, 1}}; !reflect.DeepEqual(d.Inputs, want) || d.Train.Bytes == nil {
		t.Errorf("inputs %v of %T", d.Inputs, d.Train.Bytes)
	}
	data = expect.Value(catalog.Build[catalog.Data](map[string]any{"type": "Join", "Of": []any{"Digits", nil}}))(t)
	expect.Invalid(t, "Of[1] = nil: must be a data set, such as NPY")(data.Make())
}

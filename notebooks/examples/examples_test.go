package examples_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/convex"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/notebooks/examples"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Under the race detector the plugin's destructors abort when the process exits normally.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

var standard = fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}

// Coins starts every parameter at 0 or 1, and each model by coins of its own.
func TestCoins(t *testing.T) {
	d := must.M1(datasets.LeastSquares{Clients: 2, Rows: 4, Features: 50}.Make())
	fed := must.M1(fedkit.New(d, partition.Natural{}, examples.Coins(model.LinearRegression())))
	models := must.M1(must.M1(fed.Models(2, 1)).Host())
	expect.That(t, !slices.Equal(models[:51], models[51:]), "two models start alike")
	heads := 0
	for _, w := range models {
		expect.That(t, w == 0 || w == 1, "a parameter starts at %v", w)
		heads += int(w)
	}
	expect.That(t, heads > 30 && heads < 72, "%d of 102 parameters start at 1", heads)
}

// fedtest's suite, for the examples that use most of fedkit's API.
func TestSuite(t *testing.T) {
	for _, s := range []fedkit.Strategy{
		&examples.FedNova{Fraction: 0.5, Local: standard, Epochs: []int{1, 2, 3, 1, 2, 3}},
		&examples.Ditto{Fraction: 0.5, Local: standard},
		&examples.PFedMe{Fraction: 0.5, Rounds: 2, Lambda: 1, Eta: 1, Local: standard},
		&examples.Partial{Fraction: 0.5, Local: standard, Personal: []string{"dense1/biases"}},
		&examples.MOON{Fraction: 0.5, Local: standard},
		&examples.FedEM{Fraction: 0.5, Local: standard, K: 2},
		&examples.FedLAMA{Fraction: 0.5, Local: standard},
		&examples.PACFL{Fraction: 0.5, K: 2, Local: standard},
		&examples.CGPFL{Fraction: 0.5, K: 2, Local: standard},
		&examples.LCFed{Fraction: 0.5, K: 2, Local: standard},
		&examples.HCFL{Fraction: 0.5, Warmup: 1, K: 2, Local: standard},
		&examples.FedGroup{Fraction: 0.5, K: 2, Cold: 4, Local: standard},
		&examples.HierFAVG{Fraction: 0.5, Local: standard},
		&examples.DPSGD{Local: standard},
		&examples.DPFedAvg{Fraction: 0.5, Clip: 10, Noise: 1e-4, Local: standard},
		&examples.Sparse{Fraction: 0.5, Keep: 0.4, Local: standard},
		&examples.QSGD{Fraction: 0.5, Local: standard},
		&examples.PFedHN{Fraction: 0.5, Local: standard},
	} {
		err := (fedtest.Suite{Warmup: 3}).Test(s)
		expect.That(t, err == nil, "%v", err) // by then, a client with the most epochs has taken part
	}
}

// The suite on handwritten digits, for examples that need classes, a model of their own or one for images.
func TestSuiteOnDigits(t *testing.T) {
	expect.Long(t, "some hundred rounds for each")
	few := func(m fedkit.Model) *fedkit.Federation {
		return must.M1(fedkit.New(datasets.Digits(), partition.Take{Of: partition.Dirichlet{Clients: 4, Alpha: 1, Seed: 1}, Train: 24, Test: 10}, m))
	}
	l, plain, deep, lora := fedkit.Local{Steps: 4, Batch: 8, LR: 0.1}, few(tiny), few(model.MLP(6)), few(examples.LoRA(2, 4, model.BatchNormMLP(6), nil))
	for _, c := range []struct {
		fed *fedkit.Federation
		s   fedkit.Strategy
	}{
		{plain, &examples.FedLC{Fraction: 0.5, Local: l}},
		{plain, &examples.Distill{Fraction: 0.5, Local: l}},
		{plain, &examples.FedProto{Fraction: 0.5, Local: l}},
		{withServer(t, plain), &examples.FedDF{Fraction: 0.5, Local: l, Distill: l}},
		{few(examples.Twin(tiny)), &examples.APFL{Fraction: 0.5, Local: l}},
		{few(model.CNN()), &examples.Partial{Fraction: 0.5, Local: fedkit.Local{Steps: 2, Batch: 4, LR: 0.1}, Personal: []string{"dense2"}}},
		{deep, &examples.Fed3R{Fraction: 0.5}},
		{deep, &examples.FedCOF{Fraction: 0.5}},
		{lora, &examples.FlexLoRA{Fraction: 0.5, Local: l}},
		{lora, &examples.FLoRA{Fraction: 0.5, Local: l}},
		{lora, &examples.HetLoRA{Fraction: 0.5, Local: l, Ranks: examples.Ranks{1, 2, 1, 2}}},
	} {
		expect.Outcome(t, "")((fedtest.Suite{Fed: c.fed}).Test(c.s))
	}
}

// rivals is a federation of two groups with permuted labels, for a plain model and for its twin. All
// clients have the same number of examples.
var rivals = sync.OnceValues(func() (plain, twin *fedkit.Federation) {
	d := must.M1(datasets.GaussianMixture{Clients: 6, Groups: 2, Rows: 24, TestRows: 10, Features: 5, Permute: true}.Make())
	return must.M1(fedkit.New(d, partition.Natural{}, tiny)), must.M1(fedkit.New(d, partition.Natural{}, examples.Twin(tiny)))
})

// Algorithms that must be the same, up to the rounding of float32, and with the same traffic. The global models of Ditto and APFL are
// FedAvg's, whatever λ and α, and so is that of pFedMe with R = 1 and ηλ = 1.
func TestIdentities(t *testing.T) {
	expect.Long(t, "arithmetic")
	plain, twin := rivals()
	normalized := must.M1(fedkit.New(plain.Data, partition.Natural{}, model.BatchNormMLP(3)))
	l, near := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}, fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1, Prox: 0.3}
	helped, attacked := withServer(t, plain), must.M1(attack.Apply(plain, 0.3, attack.SignFlip{}, 1))
	avg, alone := &strategy.FedAvg{Fraction: 0.5, Local: l}, &strategy.LocalOnly{Fraction: 0.5, Local: l}
	for _, c := range []struct {
		name string
		fed  *fedkit.Federation
		a, b fedkit.Strategy
	}{
		{"Straggling, none late = FedAvg", plain, &examples.Straggling{Fraction: 0.5, Drop: true, Local: l}, avg},
		{"FedNova with equal steps = FedAvg", plain, &examples.FedNova{Fraction: 0.5, Local: l}, avg},
		{"FedDyn's first round = FedProx with a server step of 1 + |S|/M", plain, &examples.FedDyn{Fraction: 0.5, Local: l, Alpha: 0.3},
			&strategy.FedOpt{Fraction: 0.5, Local: near, Server: server.SGD{LR: 1.5}}},
		{"Ditto with λ = 0 = LocalOnly", plain, &examples.Ditto{Fraction: 0.5, Local: l, Lambda: fedkit.Zero}, alone},
		{"APFL with α = 0 = FedAvg", twin, &examples.APFL{Fraction: 0.5, Local: l, Alpha: fedkit.Zero}, avg},
		{"APFL with α = 1 = LocalOnly", twin, &examples.APFL{Fraction: 0.5, Local: l, Alpha: 1}, alone},
		{"q-FedAvg with q = 0 = FedAvg with equal weights", plain, &examples.QFedAvg{Fraction: 0.5, Local: l}, avg},
		{"Partial with nothing personal = FedAvg", plain, &examples.Partial{Fraction: 0.5, Local: l}, avg},
		{"Partial with everything personal = LocalOnly", plain, &examples.Partial{Fraction: 0.5, Local: l, Personal: []string{"dense1", "dense2"}}, alone},
		{"FedBN without personal layers = FedAvg", normalized, &examples.Partial{Fraction: 0.5, Local: l}, avg},
		{"FedBN with everything personal = LocalOnly", normalized, &examples.Partial{Fraction: 0.5, Local: l, Personal: []string{"dense1", "bn1", "dense2"}}, alone},
		{"MOON with μ = 0 = FedAvg", plain, &examples.MOON{Fraction: 0.5, Local: l, Mu: fedkit.Zero}, avg},
		{"FedLAMA with φ = 1 = FedAvg", plain, &examples.FedLAMA{Fraction: 0.5, Local: l, Phi: 1}, avg},
		{"PACFL with K = 1 = FedAvg", plain, &examples.PACFL{Fraction: 0.5, Local: l, K: 1}, avg},
		{"PACFL with K = M = LocalOnly", plain, &examples.PACFL{Fraction: 0.5, Local: l, K: 6}, alone},
		{"CGPFL with K = 1 = FedProx", plain, &examples.CGPFL{Fraction: 0.5, Local: l, K: 1, Mu: 0.3}, &strategy.FedAvg{Fraction: 0.5, Local: near}},
		{"LCFed with K = 1, λ = 0 and no embedding = FedProx", plain, &examples.LCFed{Fraction: 0.5, Local: l, K: 1, Mu: 0.3, Lambda: fedkit.Zero, Head: []string{"dense1", "dense2"}},
			&strategy.FedAvg{Fraction: 0.5, Local: near}},
		{"HCFL with μ = λ_0 = 0 = FLHC by cosines", plain, &examples.HCFL{Fraction: 0.5, Local: l, Warmup: 1, K: 2, Clusterer: cluster.Agglomerative{Linkage: cluster.Complete}, Mu: fedkit.Zero, Lambda: fedkit.Zero, Head: []string{}},
			&strategy.FLHC{Fraction: 0.5, Local: l, Warmup: 1, K: 2, Clusterer: cluster.Agglomerative{Linkage: cluster.Complete}, Cosine: true}},
		{"HCFL with μ = 0 and K = 1 = FLHC", plain, &examples.HCFL{Fraction: 0.5, Local: l, Warmup: 2, K: 1, Clusterer: cluster.KMeans{}, Mu: fedkit.Zero},
			&strategy.FLHC{Fraction: 0.5, Local: l, Warmup: 2, K: 1}},
		{"FedGroup with K = 1 = FedAvg", plain, &examples.FedGroup{Local: l, K: 1}, &strategy.FedAvg{Local: l}},
		{"FedGroup with K = M = LocalOnly", plain, &examples.FedGroup{Local: l, K: 6}, &strategy.LocalOnly{Local: l}},
		{"FedLC with τ = 0 = FedAvg", plain, &examples.FedLC{Fraction: 0.5, Local: l, Tau: fedkit.Zero}, avg},
		{"FedEM with K = 1 = FedAvg", plain, &examples.FedEM{Fraction: 0.5, Local: l, K: 1}, avg},
		{"FedProto with λ = 0 = LocalOnly", plain, &examples.FedProto{Fraction: 0.5, Local: l, Lambda: fedkit.Zero}, alone},
		{"FedDF with one client per round = FedAvg", helped, &examples.FedDF{Fraction: 0.1, Local: l, Distill: l}, &strategy.FedAvg{Fraction: 0.1, Local: l}},
		{"DP-FedAvg without sampling, clipping and noise = FedAvg", plain, &examples.DPFedAvg{Local: l, Clip: 1e3, Noise: fedkit.Zero}, &strategy.FedAvg{Local: l}},
		{"Sparse with k = d = FedAvg", plain, &examples.Sparse{Fraction: 0.5, Local: l, Keep: 1}, avg},
		{"Ditto's global model = FedAvg's", plain, &examples.Ditto{Fraction: 0.5, Local: l}, avg},
		{"APFL's global model = FedAvg's", twin, &examples.APFL{Fraction: 0.5, Local: l}, avg},
		{"pFedMe's global model = FedProx's", plain, &examples.PFedMe{Fraction: 0.5, Local: l, Rounds: 1, Lambda: 0.3, Eta: 1 / 0.3}, &strategy.FedAvg{Fraction: 0.5, Local: near}},
		{"Distill with λ = 0 = FedAvg", plain, &examples.Distill{Fraction: 0.5, Local: l, Weight: fedkit.Zero}, avg},
		{"HierFAVG with one edge and κ2 = 1 = FedAvg", plain, &examples.HierFAVG{Fraction: 0.5, Local: l, Edges: 1, Kappa2: 1}, avg},
		{"HierFAVG with two edges and κ2 = 1 = FedAvg", plain, &examples.HierFAVG{Fraction: 0.5, Local: l, Edges: 2, Kappa2: 1}, avg},
		{"HierFAVG with five edges and κ2 = 1 = FedAvg, also under attack", attacked, &examples.HierFAVG{Fraction: 0.5, Local: l, Edges: 5, Kappa2: 1}, avg},
	} {
		o := fedkit.Options{Rounds: 4, Seed: 3}
		if strings.Contains(c.name, "first round") {
			o.Rounds = 1
		}
		single := c.fed
		if single == twin {
			single = plain
		}
		a, b := run(t, c.fed, c.a, o).Last(), run(t, single, c.b, o).Last()
		if strings.Contains(c.name, "global model") {
			a.Scores, b.Scores = []fedkit.Score{*a.Global}, []fedkit.Score{*b.Global}
		}
		sameScores(t, c.name, a, b)
		up, down := a.BytesUp+int64(a.Links["client_to_edge"]), a.BytesDown+int64(a.Links["edge_to_client"])
		_, private := c.b.(*strategy.LocalOnly)
		expect.That(t, private || up == b.BytesUp && down == b.BytesDown, "%s: %d bytes down and %d up, want %d and %d", c.name, down, up, b.BytesDown, b.BytesUp)
	}
}

// Without its forms InTurn is AdaptiveClustering as published. With full batches, clients of the same rows that train one model in turn are
// one client that takes as many steps; and one client is chosen at once and in turn.
func TestInTurn(t *testing.T) {
	same := func(clients int) *fedkit.Federation {
		return must.M1(fedkit.New(datasets.Digits(), partition.Same{Clients: clients, Train: 30}, tiny))
	}
	four, l, full := same(4), fedkit.Local{Batch: 8, LR: 0.1}, fedkit.Local{Steps: 1, Batch: fedkit.FullBatch, LR: 0.1}
	for _, c := range []struct {
		name string
		fed  *fedkit.Federation
		a, b fedkit.Strategy
	}{
		{"no form", four, &examples.InTurn{P: []int{3, 1}, Local: l},
			&strategy.AdaptiveClustering{AsPublished: true, First: true, SAProb: fedkit.Zero, Threshold: fedkit.Zero, Local: l}},
		{"at once, one chosen", four, &examples.InTurn{P: []int{1}, AtOnce: true, Local: l}, &examples.InTurn{P: []int{1}, Local: l}},
		{"in turn, one client", same(1), &examples.InTurn{P: []int{1}, Chain: true, Local: l}, &examples.InTurn{P: []int{1}, Local: l}},
	} {
		a, b := run(t, c.fed, c.a, fedkit.Options{Rounds: 3}).Last(), run(t, c.fed, c.b, fedkit.Options{Rounds: 3}).Last()
		sameScores(t, c.name, a, b)
		expect.That(t, a.Notes["loss"] == b.Notes["loss"], "%s: loss %v, want %v", c.name, a.Notes["loss"], b.Notes["loss"])
	}
	long := full
	long.Steps = 4
	turns := run(t, four, &examples.InTurn{P: []int{1}, Chain: true, Local: full}, fedkit.Options{Rounds: 1}).Last().Notes["loss"]
	steps := run(t, same(1), &strategy.FedAvg{Local: long}, fedkit.Options{Rounds: 1}).Last().Training().Loss
	expect.That(t, math.Abs(float64(turns-steps)) < 1e-6, "four clients in turn have a loss of %v, four steps %v", turns, steps)
	expect.Invalid(t, "P = [5]", "from 1 to the number of clients")(fedkit.Describe(four, &examples.InTurn{P: []int{5}}, fedkit.Options{Rounds: 1}))
}

// Prepared pixels have a mean of 0 and a standard deviation of 1, and the test rows follow the training rows.
func TestPrepared(t *testing.T) {
	plain := datasets.Digits()
	var pixels []float64
	for i := range plain.Train.Len() {
		for _, x := range plain.Train.Row(i, nil) {
			pixels = append(pixels, float64(x))
		}
	}
	mean, sd := stat.PopMeanStdDev(pixels, nil)
	d := must.M1(examples.Prepared{Of: "digits", Mean: mean, SD: sd, Joined: true}.Make())
	for i, x := range d.Train.Row(5, nil) {
		want := (float64(plain.Train.Row(5, nil)[i]) - mean) / sd
		expect.That(t, math.Abs(float64(x)-want) < 1e-5, "pixel %d is %v, want %v", i, x, want)
	}
	n := plain.Train.Len()
	expect.That(t, d.Train.Len() == n+d.Test.Len() && slices.Equal(d.Train.Row(n+7, nil), d.Test.Row(7, nil)) && d.Train.Labels[n+7] == d.Test.Labels[7],
		"%d training rows, and number %d is not test row 7", d.Train.Len(), n+7)
	expect.Invalid(t, "SD = -1")(examples.Prepared{Of: "digits", SD: -1}.Make())
}

// Models with running values are refused where new models are no averages of the clients'.
func TestRunningValues(t *testing.T) {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 3}, model.BatchNormMLP(3)))
	for name, s := range map[string]fedkit.Strategy{"FedDyn": &examples.FedDyn{}, "FedNova": &examples.FedNova{}, "QFedAvg": &examples.QFedAvg{},
		"DPFedAvg": &examples.DPFedAvg{}, "QSGD": &examples.QSGD{}, "Sparse": &examples.Sparse{}, "PFedMe with β or ηλ > 1": &examples.PFedMe{Beta: 2}} {
		expect.Invalid(t, "strategy = "+name, "since bn1/mean of BN-MLP-3 is a running value")(fedkit.Describe(fed, s, fedkit.Options{Rounds: 1}))
	}
}

// With heterogeneous clients and many local steps, FedAvg misses the minimum of their mean loss. FedDyn reaches it.
func TestFedDynReachesTheOptimum(t *testing.T) {
	d := expect.Value(datasets.LeastSquares{Clients: 5, Rows: 20, Features: 3, Heterogeneity: 1}.Make())(t)
	fed := must.M1(fedkit.New(d, partition.Natural{}, model.LinearRegression()))
	l := fedkit.Local{Steps: 10, Batch: fedkit.FullBatch, LR: 0.1}
	avg, dyn := &strategy.FedAvg{Local: l}, &examples.FedDyn{Local: l, Alpha: 0.5}
	run(t, fed, avg, fedkit.Options{Rounds: 100, EvalEvery: 100})
	run(t, fed, dyn, fedkit.Options{Rounds: 100, EvalEvery: 100})
	gap := expect.Value(convex.RegressionGap(fed, 0))(t)
	missed, left := must.M1(gap(must.M1(avg.X.Host()))), must.M1(gap(must.M1(dyn.State.X.Host())))
	expect.That(t, missed >= 1e-3 && left <= 1e-9, "FedDyn ends with a relative gap of %v, FedAvg of %v", left, missed)
}

// withServer gives the server some of the clients' rows.
func withServer(t testing.TB, fed *fedkit.Federation) *fedkit.Federation {
	t.Helper()
	return expect.Value(fed.WithServer(fedkit.Server{Draw: 30, Seed: 2}))(t)
}

func run(t testing.TB, fed *fedkit.Federation, s fedkit.Strategy, o fedkit.Options) *fedkit.History {
	t.Helper()
	return expect.Value(fedkit.Run(t.Context(), fed, s, o))(t)
}

// A Weighting replaces n_i or 1, whichever is the default. FedDyn's h stays the weighted mean of all h_i.
func TestWeighting(t *testing.T) {
	expect.Long(t, "arithmetic")
	plain, twin := rivals()
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}
	for name, c := range map[string]struct {
		with      func(strategy.Weighting) fedkit.Strategy
		byDefault strategy.Weighting
	}{
		"APFL":   {func(by strategy.Weighting) fedkit.Strategy { return &examples.APFL{Local: l, Weighting: by} }, strategy.ByExamples{}},
		"Ditto":  {func(by strategy.Weighting) fedkit.Strategy { return &examples.Ditto{Local: l, Weighting: by} }, strategy.ByExamples{}},
		"FedDyn": {func(by strategy.Weighting) fedkit.Strategy { return &examples.FedDyn{Local: l, Weighting: by} }, strategy.Equal{}},
		"pFedMe": {func(by strategy.Weighting) fedkit.Strategy {
			return &examples.PFedMe{Rounds: 2, Local: l, Weighting: by}
		}, strategy.Equal{}},
		"QFedAvg": {func(by strategy.Weighting) fedkit.Strategy { return &examples.QFedAvg{Q: 0.5, Local: l, Weighting: by} }, strategy.Equal{}},
	} {
		fed, uneven := plain, must.M1(fedtest.Quadratic())
		if name == "APFL" {
			fed, uneven = twin, must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 5, Alpha: 0.5, Seed: 1}, examples.Twin(tiny)))
		}
		outcome := func(fed *fedkit.Federation, by strategy.Weighting) string {
			s := c.with(by)
			return string(must.M1(fedtest.Outcome(s, must.M1(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 2})))))
		}
		equal, examples := outcome(uneven, strategy.Equal{}), outcome(uneven, strategy.ByExamples{})
		usual := outcome(uneven, nil)
		expect.That(t, equal != examples && usual == outcome(uneven, c.byDefault),
			"%s: the weights change nothing, or the default is another than documented", name)
		expect.That(t, outcome(fed, strategy.Equal{}) == outcome(fed, strategy.ByExamples{}),
			"%s: Equal and ByExamples differ on clients of one size", name)
	}
	s := &examples.FedDyn{Fraction: 0.5, Local: l, Weighting: strategy.ByExamples{}}
	must.M1(fedkit.Run(t.Context(), must.M1(fedtest.Quadratic()), s, fedkit.Options{Rounds: 5}))
	far := must.M1(s.State.Hi.Mean([]float64{20, 31, 8, 24, 17, 40}).Sub(s.State.H).Norms())[0]
	expect.That(t, far <= 1e-6, "h is %v from the mean of h_i", far)
}

// Every algorithm stays short.
func TestLength(t *testing.T) {
	files := expect.Value(filepath.Glob("*.go"))(t)
	for _, name := range files {
		b := expect.Value(os.ReadFile(name))(t)
		lines := slices.DeleteFunc(strings.Split(string(b), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
		expect.That(t, len(lines) <= 60 || strings.HasSuffix(name, "_test.go"), "%s has %d lines, want at most 60", name, len(lines))
	}
}

// FedFomo's clients receive all models of the round, and send their own. Without validation rows it is refused.
func TestFedFomo(t *testing.T) {
	plain, _ := rivals()
	expect.Invalid(t, "FedFomo: ", "federation = one client per owner: must be one whose clients have validation rows")(
		fedkit.Run(t.Context(), plain, &examples.FedFomo{Local: standard}, fedkit.Options{Rounds: 1}))
	fed := must.M1(fedkit.New(plain.Data, partition.Validation{Of: partition.Natural{}}, tiny))
	h := run(t, fed, &examples.FedFomo{Fraction: 0.5, Local: standard}, fedkit.Options{Rounds: 2})
	model := int64(4 * fed.Task.Dim())
	expect.That(t, h.Last().BytesDown == 3*3*model && h.Last().BytesUp == 3*model,
		"%d bytes down and %d up, want 9 and 3 models of %d", h.Last().BytesDown, h.Last().BytesUp, model)
}

// A layer that the model lacks is named before anything runs.
func TestUnknownHead(t *testing.T) {
	plain, _ := rivals()
	for _, s := range []fedkit.Strategy{&examples.LCFed{Local: standard, Head: []string{"fc"}}, &examples.HCFL{Local: standard, Head: []string{"fc"}}} {
		expect.Invalid(t, "option Head: ", "fc")(fedkit.Describe(plain, s, fedkit.Options{Rounds: 1}))
	}
}

// APFL serves each client the mixture with the lowest loss on its validation rows; the clients train as with one α.
func TestAPFLChoosesAlpha(t *testing.T) {
	plain, twin := rivals()
	fed := must.M1(fedkit.New(plain.Data, partition.Validation{Of: partition.Natural{}}, examples.Twin(tiny)))
	alphas := []float64{0, 0.5, 1}
	expect.Invalid(t, "Alphas = [0 2]: must be in [0, 1]")(fedkit.Run(t.Context(), fed, &examples.APFL{Local: standard, Alphas: []float64{0, 2}}, fedkit.Options{Rounds: 1}))
	expect.Invalid(t, "APFL: ", "Alphas = [0 0.5 1]: must be left out unless clients have validation rows")(fedkit.Run(t.Context(), twin, &examples.APFL{Local: standard, Alphas: alphas}, fedkit.Options{Rounds: 1}))
	s := &examples.APFL{Local: standard, Alphas: alphas}
	run(t, fed, s, fedkit.Options{Rounds: 3})
	sv := must.M1(fedkit.Served(t.Context(), fed, s))
	loss := make([][]float64, len(alphas)) // by α and client
	for k, a := range alphas {
		one := &examples.APFL{Local: standard, Alpha: a}
		if a == 0 {
			one.Alpha = fedkit.Zero
		}
		one.State = s.State
		models := must.M1(fedkit.Served(t.Context(), fed, one)).Models
		for i, c := range fed.Clients {
			p := must.M1(fed.Predict(t.Context(), models.Take(i), datasets.ValidationPart, c.Validation))
			sum := 0.0
			for j, out := range p[0].Outputs {
				wide := make([]float64, len(out))
				for c, v := range out {
					wide[c] = float64(v)
				}
				sum -= logSoftmax(wide, 1)[p[0].Labels[j]]
			}
			loss[k] = append(loss[k], sum)
		}
	}
	chosen := map[int]bool{}
	for i := range fed.Clients {
		best := slices.MinFunc([]int{0, 1, 2}, func(a, b int) int {
			if loss[a][i] < loss[b][i] {
				return -1
			}
			return 1
		})
		chosen[best] = true
		expect.That(t, sv.Assign[i] == (best*fed.Size()+i), "client %d uses row %d, want %d", i, sv.Assign[i], (best*fed.Size() + i))
	}
	expect.That(t, len(chosen) >= 2, "all clients choose one α: %v", chosen)
}

// Two clients have their examples in planes that meet in a line, 30° apart. The third has one example, at right angles to the first
// plane, so its second vector is missing.
func TestPrincipalAngles(t *testing.T) {
	d := &datasets.Dataset{Name: "planes", Shape: []int{3}, Classes: 2}
	d.Train.Floats = []float32{2, 0, 0, 0, 1, 0, 2, 0, 0, 0, float32(math.Cos(math.Pi / 6)), 0.5, 0, 0, 1}
	d.Train.Labels, d.Train.Owner = []int32{0, 1, 0, 1, 0}, []int32{0, 0, 1, 1, 2}
	d.Test = d.Train
	fed := must.M1(fedkit.New(d, partition.Natural{}, tiny))
	for n, want := range map[int][]float64{1: {0, 90, 60}, 2: {30, 180, 150}, 9: {30, 180, 150}} {
		var got []float64
		seen := cluster.Func(func(p *cluster.Points, _ int, _ *rand.Rand) ([]int, error) {
			got = p.Distances().Values()
			return make([]int, p.Len()), nil
		})
		run(t, fed, &examples.PACFL{P: 2, Angles: n, K: 1, Clusterer: seen, Local: standard}, fedkit.Options{Rounds: 1})
		if floats.Scale(180/math.Pi, got); !floats.EqualApprox(got, want, 1e-4) {
			t.Errorf("the sums of %d angles are %v°, want %v°", n, got, want)
		}
	}
}

// sameScores compares the clients' losses, up to the rounding of float32.
func sameScores(t *testing.T, name string, a, b *fedkit.Record) {
	t.Helper()
	for i, s := range a.Scores {
		if got, want := float64(s.Loss), float64(b.Scores[i].Loss); !(math.Abs(got-want) <= 1e-5*want) {
			t.Errorf("%s: client %d has a loss of %v, want %v", name, i, got, want)
		}
	}
}

// On the complete graph, D-PSGD is FedAvg of all clients.
func TestDPSGDIsFedAvg(t *testing.T) {
	plain, _ := rivals() // clients of one size
	l, o := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}, fedkit.Options{Rounds: 3, Seed: 3}
	want := run(t, plain, &strategy.FedAvg{Local: l}, o).Last()
	got := run(t, plain, &examples.DPSGD{Local: l, Offsets: []int{1, 2, 3}}, o).Last()
	sameScores(t, "complete graph", got, want)
	expect.That(t, got.BytesDown+got.BytesUp == 0 && int64(got.Links["client_to_client"]) == 5*want.BytesUp,
		"%+v, want five times %d bytes", got.Links, want.BytesUp)
	ring := run(t, plain, &examples.DPSGD{Local: l}, o).Last()
	expect.That(t, int64(ring.Links["client_to_client"]) == 2*want.BytesUp && ring.Global.Loss != ring.Mean().Loss, "%+v", ring)
}

// On a ring of six, a client's model becomes the mean of its own and its two neighbors', and the mean of all stays where it is.
func TestDPSGDMixesNeighbors(t *testing.T) {
	plain, _ := rivals()
	l, o := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}, fedkit.Options{Rounds: 1, Seed: 3}
	alone, ring := &strategy.LocalOnly{Local: l}, &examples.DPSGD{Local: l}
	run(t, plain, alone, o)
	run(t, plain, ring, o)
	w, x, d := must.M1(alone.State.W.Host()), must.M1(ring.State.X.Host()), plain.Task.Dim()
	for i := range x {
		c, j := i/d, i%d
		want := (w[(c+5)%6*d+j] + w[i] + w[(c+1)%6*d+j]) / 3
		expect.Must(t, math.Abs(float64(x[i]-want)) <= 1e-6, "client %d, parameter %d: %v, want %v", c, j, x[i], want)
	}
	far := must.M1(ring.State.X.Mean(nil).Sub(alone.State.W.Mean(nil)).Norms())[0]
	expect.That(t, far <= 1e-6, "the means are %v apart", far)
}

// Seconds computed by hand. A client i trains for 24(i+1) s and sends or receives a model in 1 s; an edge receives one in 2 s from
// clients or the cloud, and sends one in 3 s.
func TestLinksTakeTheirTime(t *testing.T) {
	plain, _ := rivals()
	model := float64(plain.Task.Bytes())
	var devices sim.Given
	for i := range 6 {
		devices = append(devices, sim.Device{PerExample: float64(i + 1), Down: model, Up: model})
	}
	timed := must.M1(plain.WithDevices(devices))
	edged := must.M1(timed.WithEdges(2, sim.Devices{Down: sim.Constant(model / 2), Up: sim.Constant(model / 3)}))
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}
	for _, c := range []struct {
		name string
		fed  *fedkit.Federation
		s    fedkit.Strategy
		want float64
	}{
		// Client 5 sends two models, as each client does, and its neighbors wait for them.
		{"ring", timed, &examples.DPSGD{Local: l}, 24*6 + 2},
		{"complete graph", timed, &examples.DPSGD{Local: l, Offsets: []int{1, 2, 3}}, 24*6 + 5},
		{"FedAvg", timed, &strategy.FedAvg{Local: l}, 1 + 24*6 + 1},
		{"edges without limits", timed, &examples.HierFAVG{Local: l, Kappa2: 1}, 1 + 24*6 + 1},
		// Down: 2 s to the edge, 9 s for its three clients; the edge of client 5 has its model 2 s after it, and sends to the cloud for 3 s.
		{"edges", edged, &examples.HierFAVG{Local: l, Kappa2: 1}, 2 + 9 + 24*6 + 2 + 3},
		// The edges of clients 4 and 5 do not wait for each other: the slower one takes 9 + 144 + 2 s twice.
		{"two averages of the edges", edged, &examples.HierFAVG{Local: l, Kappa2: 2}, 2 + 2*(9+24*6+2) + 3},
	} {
		h := run(t, c.fed, c.s, fedkit.Options{Rounds: 2})
		if a, b := float64(h.Rounds[0].Clock), float64(h.Rounds[1].Clock); math.Abs(a-c.want) > 1e-6 || math.Abs(b-2*c.want) > 1e-6 {
			t.Errorf("%s: rounds end after %v and %v s, want %v and twice as many", c.name, a, b, c.want)
		}
	}
	expect.Error(t, "edges")(timed.WithEdges(0, sim.Devices{}))
}

// With a latency of 1 s and all else free, a round lasts as many seconds as messages follow one another: those without bytes are none.
func TestLatencyIsOfMessages(t *testing.T) {
	plain, twin := rivals()
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}
	for _, c := range []struct {
		fed   *fedkit.Federation
		s     fedkit.Strategy
		first fedkit.Float // s of the first round
		next  fedkit.Float // and of the second
	}{
		{plain, &strategy.FedCluster{K: 2, Clusterer: cluster.KMeans{}, Local: l}, 1 + 4, 4}, // label shares, then two clusters in turn
		{plain, &strategy.FedSC{K: 2, Parallel: true, Local: l}, 2 + 2, 2},                   // a public key and label shares
		{plain, &examples.Ditto{Local: l}, 2, 2},
		{plain, &examples.PFedMe{Local: l}, 2, 2}, // R = 20
		{plain, &examples.FedEM{Local: l}, 1 + 3, 1 + 3},
		{plain, &examples.QFedAvg{Local: l}, 2, 2},
		{plain, &examples.FedProto{Local: l}, 2, 2},
		{plain, &examples.PACFL{Local: l}, 1 + 2, 2}, // subspaces
		{plain, &examples.DPSGD{Local: l}, 2, 2},     // one neighbor after the other
		{plain, &examples.HierFAVG{Local: l, Edges: 6, Kappa2: 3}, 6, 6},
		{plain, &examples.MOON{Local: l}, 2, 2},
		{plain, &examples.Partial{Local: l}, 2, 2},
		{twin, &examples.APFL{Local: l}, 2, 2},
	} {
		fed := must.M1(c.fed.WithDevices(sim.Devices{Latency: sim.Constant(1)}))
		h := must.M1(fedkit.Run(t.Context(), fed, c.s, fedkit.Options{Rounds: 2, EvalEvery: 2}))
		if a, b := h.Rounds[0].Clock, h.Rounds[1].Clock; a != c.first || b-a != c.next {
			t.Errorf("%T: %v and %v s, want %v and %v", c.s, a, b-a, c.first, c.next)
		}
	}
}

// Numbers to 60 digits, by Python's decimal, with math.comb:
//
//	A = sum(comb(a, k) * (1-q)**(a-k) * q**k * (D(k*k-k) / (2*s*s)).exp() for k in range(a+1))
//	epsilon = min(T*A.ln()/(a-1) + (1 - D(1)/a).ln() - (d*a).ln()/(a-1) for a in range(2, 257))
func TestEpsilon(t *testing.T) {
	for _, c := range []struct {
		q, sigma float64
		rounds   int
		delta    float64
		want     float64
	}{
		{0.01, 1, 1000, 1e-5, 2.10775307545156529446},
		{0.1, 1, 100, 1e-5, 7.97292151038053748738},
		{0.1, 1, 500, 1e-5, 18.6450627219386126944},
		{0.01, 0.8, 2000, 1e-6, 5.69373889805094339182},
		{1, 10, 100, 1e-5, 4.75272833681982225560},
		{0.02, 1.1, 300, 1e-4, 1.73833004257218389719},
		{0.5, 0.3, 3, 1e-5, 39.3012158588554100016},
		{0.001, 20, 1, 1e-5, 0.01948935469673289482},
		{0.5, 0, 1, 1e-5, math.Inf(1)},
	} {
		got := examples.Epsilon(c.q, c.sigma, c.rounds, c.delta)
		expect.That(t, math.Abs(got-c.want) <= 1e-10*c.want || got == c.want,
			"q = %v, σ = %v, T = %d, δ = %v: ε = %v, want %v", c.q, c.sigma, c.rounds, c.delta, got, c.want)
	}
}

// one runs one round, and returns x and ε.
func one(t *testing.T, s fedkit.Strategy, x func() *fedkit.Matrix, seed uint64) (values []float64, epsilon float64) {
	h := run(t, digits(), s, fedkit.Options{Rounds: 1, Seed: seed})
	return oracle.Double(must.M1(x().Host())), float64(h.Last().Notes["epsilon"])
}

// The noise of the mean has the standard deviation σC/(qM), whatever the cohort is.
func TestNoise(t *testing.T) {
	private := func(noise float64) []float64 {
		s := &examples.DPFedAvg{Fraction: 0.4, Clip: 0.5, Noise: noise, Local: short}
		x, epsilon := one(t, s, func() *fedkit.Matrix { return s.X }, 3)
		want := examples.Epsilon(0.4, max(0, noise), 1, 1e-5)
		expect.That(t, epsilon == want, "ε = %v, want %v", epsilon, want)
		return x
	}
	noise := floats.SubTo(private(fedkit.Zero), private(2), private(fedkit.Zero))
	want, n := 2*0.5/(0.4*20), float64(len(noise))
	if mean, sd := stat.MeanStdDev(noise, nil); !(math.Abs(mean) <= 4*want/math.Sqrt(n) && math.Abs(sd/want-1) <= 4/math.Sqrt(2*n)) {
		t.Errorf("mean %v and standard deviation %v of %v values, want 0 and %v", mean, sd, n, want)
	}
}

// Frozen parameters get no noise.
func TestNoiseLeavesFrozenParametersAlone(t *testing.T) {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 4}, model.Freeze(model.MLP(4), "dense1")))
	s := &examples.DPFedAvg{Local: short}
	run(t, fed, s, fedkit.Options{Rounds: 2})
	was, is := must.M1(must.M1(fed.Models(1, 0)).Host()), must.M1(s.X.Host())
	for i, frozen := range must.M1(fed.Task.Mask("dense1")) {
		expect.Must(t, (was[i] == is[i]) == (frozen == 1), "parameter %d: %v, was %v", i, is[i], was[i])
	}
}

// With many levels, QSGD is FedAvg. With one, its mean over many rounds is FedAvg's.
func TestQSGDIsUnbiased(t *testing.T) {
	expect.OK(t, fedtest.Identical(&examples.QSGD{Fraction: 0.5, Levels: 1 << 22, Local: standard}, &strategy.FedAvg{Fraction: 0.5, Local: standard}))
	expect.Long(t, "arithmetic")
	fed, full := must.M1(fedtest.Quadratic()), fedkit.Local{Batch: fedkit.FullBatch, LR: 0.1}
	avg, rough := &strategy.FedAvg{Local: full}, &examples.QSGD{Levels: 1, Local: full}
	var off [][]float64 // by parameter
	for seed := range uint64(200) {
		run(t, fed, avg, fedkit.Options{Rounds: 1, Seed: seed})
		run(t, fed, rough, fedkit.Options{Rounds: 1, Seed: seed})
		for j, v := range must.M1(rough.X.Sub(avg.X).Host()) {
			if seed == 0 {
				off = append(off, nil)
			}
			off[j] = append(off[j], float64(v))
		}
	}
	for j, values := range off {
		if mean, sd := stat.MeanStdDev(values, nil); !(sd > 1e-3 && math.Abs(mean) <= 4*sd/math.Sqrt(200)) {
			t.Errorf("parameter %d is off by %v ± %v", j, mean, sd)
		}
	}
}

package strategy_test

import (
	"context"
	"fmt"
	"math"
	"sync"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/convex"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// dealt are handwritten digits by a rule.
func dealt(by partition.Rule, m fedkit.Model) *fedkit.Federation {
	return must.M1(fedkit.New(datasets.Digits(), by, m))
}

// digits are handwritten digits of 20 clients with label skew.
var digits = sync.OnceValue(func() *fedkit.Federation {
	return dealt(partition.Dirichlet{Clients: 20, Alpha: 0.5, Seed: 1}, model.MLP(16))
})

// stragglers are devices of which a tenth is ten times slower than the others.
var stragglers = sim.Devices{PerExample: sim.TwoClasses{Fast: 0.01, Slow: 0.1, Share: 0.1}, Seed: 1}

// short is the local work of a round.
var short = fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}

// after runs a strategy for some rounds, and returns its history.
func after(rounds int, fed *fedkit.Federation, s fedkit.Strategy) *fedkit.History {
	return must.M1(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: rounds, EvalEvery: rounds}))
}

// Half of the clients train in a round, and each sends a model of 1210 numbers.
func ExampleFedAvg() {
	h := after(30, digits(), &strategy.FedAvg{Fraction: 0.5, Local: short})
	fmt.Println(len(h.Last().Results), "clients sent", h.Last().BytesUp, "bytes in a round")
	fmt.Println("more than 80 % right:", h.Accuracy() > 0.8)
	// Output:
	// 10 clients sent 48400 bytes in a round
	// more than 80 % right: true
}

// One gradient step per round over half of the clients, or two epochs of small local steps on each of them.
func ExampleFedSGD() {
	sgd := after(10, digits(), &strategy.FedSGD{Fraction: 0.5, LR: 0.5})
	avg := after(10, digits(), &strategy.FedAvg{Fraction: 0.5, Local: short})
	fmt.Println("ten rounds of local training get further:", avg.Accuracy() > sgd.Accuracy()+0.1)
	// Output: ten rounds of local training get further: true
}

// Halfway to the mean is a server step with η = 1/2.
func ExampleFedMiddleAvg() {
	middle := after(10, digits(), &strategy.FedMiddleAvg{Fraction: 0.5, Local: short})
	half := after(10, digits(), &strategy.FedOpt{Fraction: 0.5, Server: server.SGD{LR: 0.5}, Local: short})
	fmt.Println("the same:", math.Abs(middle.Accuracy()-half.Accuracy()) < 0.05)
	// Output: the same: true
}

// A fifth of the clients send their updates reversed and scaled by five.
func ExampleFedMedian() {
	fed := must.M1(attack.Apply(dealt(partition.IID{Clients: 20}, model.MLP(16)), 0.2, attack.SignFlip{Scale: 5}, 1))
	for _, s := range []fedkit.Strategy{&strategy.FedAvg{Local: short}, &strategy.FedMedian{Local: short}} {
		h := after(20, fed, s)
		fmt.Println(h.Name, "learns:", h.Accuracy() > 0.7)
	}
	// Output:
	// FedAvg learns: false
	// FedMedian learns: true
}

// μ holds clients near the global model.
func ExampleFedProx() {
	drift := func(mu float64) (sum float64) {
		for _, s := range after(10, digits(), &strategy.FedProx{Fraction: 0.5, Mu: mu, Local: short}).Last().Results {
			sum += float64(s.Drift)
		}
		return sum
	}
	fmt.Println("with μ = 1 they drift less than with μ = 0:", drift(1) < 0.9*drift(fedkit.Zero))
	// Output: with μ = 1 they drift less than with μ = 0: true
}

// Each client has its own μ. The selections to compare with are options.
func ExampleSmartFedProx() {
	for _, who := range []fedkit.Selector{nil, selection.Explore{Then: selection.Diversity{}}, selection.Random{}} {
		h := after(10, digits(), &strategy.SmartFedProx{Selector: who, MuMin: 0.01, MuMax: 0.5, Local: short})
		least, most := math.Inf(1), 0.0
		for _, s := range h.Last().Results {
			least, most = min(least, float64(s.Mu)), max(most, float64(s.Mu))
		}
		fmt.Println(len(h.Last().Results), "clients, μ in [0.01, 0.5] and not the same:", least >= 0.01 && least < most && most <= 0.5)
	}
	// Output:
	// 10 clients, μ in [0.01, 0.5] and not the same: true
	// 10 clients, μ in [0.01, 0.5] and not the same: true
	// 10 clients, μ in [0.01, 0.5] and not the same: true
}

// What clients reach without each other, each on test examples of the kind that it has.
func ExampleLocalOnly() {
	h := after(40, digits(), &strategy.LocalOnly{Fraction: 0.5, Local: short})
	fmt.Println("more than 70 % right, for", h.Last().BytesUp, "bytes:", h.Last().Mean().Accuracy > 0.7)
	// Output: more than 70 % right, for 0 bytes: true
}

// The larger β is, the less the first updates move the model.
func ExampleFedAvgM() {
	for _, beta := range []float64{0.5, 0.9} {
		h := after(10, digits(), &strategy.FedAvgM{Fraction: 0.5, Server: server.Momentum{Beta: beta}, Local: short})
		fmt.Printf("β = %v: more than half right after ten rounds: %v\n", beta, h.Accuracy() > 0.5)
	}
	// Output:
	// β = 0.5: more than half right after ten rounds: true
	// β = 0.9: more than half right after ten rounds: false
}

// Steps shrink as squared updates accumulate. The paper's experiments have no momentum.
func ExampleFedAdagrad() {
	for _, rate := range []float64{0.01, 0.1} {
		h := after(15, digits(), &strategy.FedAdagrad{Fraction: 0.5, Server: server.Adagrad{LR: rate, Beta1: fedkit.Zero}, Local: short})
		fmt.Printf("η = %v: more than 70 %% right: %v\n", rate, h.Accuracy() > 0.7)
	}
	// Output:
	// η = 0.01: more than 70 % right: false
	// η = 0.1: more than 70 % right: true
}

// Both forms of Adam. Reddi's has no bias correction, and Epsilon is the paper's τ.
func ExampleFedAdam() {
	for _, o := range []server.Adam{{LR: 0.1}, {LR: 0.1, Form: server.Reddi, Epsilon: 0.001}} {
		h := after(15, digits(), &strategy.FedAdam{Fraction: 0.5, Server: o, Local: short})
		fmt.Printf("%v: more than 70 %% right: %v\n", o.Form, h.Accuracy() > 0.7)
	}
	// Output:
	// Corrected: more than 70 % right: true
	// Reddi: more than 70 % right: true
}

// The server's η is tuned by trial: here for Yogi, whose steps are about as long as Adam's.
func ExampleFedYogi() {
	for _, rate := range []float64{0.01, 0.1} {
		h := after(15, digits(), &strategy.FedYogi{Fraction: 0.5, Server: server.Yogi{LR: rate}, Local: short})
		fmt.Printf("η = %v: more than 70 %% right: %v\n", rate, h.Accuracy() > 0.7)
	}
	// Output:
	// η = 0.01: more than 70 % right: false
	// η = 0.1: more than 70 % right: true
}

// Every algorithm with a mean takes the same weightings, so that they can be compared without a difference in weights: FedAvg
// weighs by examples by default, and FedBuff equally.
func ExampleWeighting() {
	root := strategy.WeightingFunc(func(s fedkit.ClientResult) float64 { return math.Sqrt(float64(s.Examples)) })
	for _, by := range []strategy.Weighting{strategy.ByExamples{}, strategy.Equal{}, root} {
		avg := after(20, digits(), &strategy.FedAvg{Fraction: 0.5, Weighting: by, Local: short})
		buff := after(20, digits(), &strategy.FedBuff{Concurrency: 10, K: 10, Staleness: strategy.Constant{}, Weighting: by, Local: short})
		fmt.Printf("%T: within five points: %v\n", by, math.Abs(avg.Accuracy()-buff.Accuracy()) < 0.05)
	}
	// Output:
	// strategy.ByExamples: within five points: true
	// strategy.Equal: within five points: true
	// strategy.WeightingFunc: within five points: true
}

// Server optimizer, aggregator, selector and local solver combine freely.
func ExampleFedOpt() {
	yogi := &strategy.FedYogi{
		Fraction:   0.5,
		Aggregator: aggregate.Median{},
		Selector:   fedkit.SelectorFunc(func(r *fedkit.Round, n int) []int { return r.Rand("who").Perm(r.Clients())[:n] }),
		Local:      fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1, Prox: 0.01},
		Server:     server.Yogi{LR: 0.02},
	}
	h := after(30, digits(), yogi)
	fmt.Println(h.Name, "learns:", h.Accuracy() > 0.9)
	// Output: FedYogi learns: true
}

// While the loss falls, the number of averaged clients decreases.
func ExampleAdaptiveClustering() {
	fed := dealt(partition.IID{Clients: 8, Seed: 1}, model.MLP(16))
	for _, r := range after(4, fed, &strategy.AdaptiveClustering{SAProb: fedkit.Zero, Local: short}).Rounds {
		fmt.Println("p:", r.Notes["p"], "d:", r.Notes["d"])
	}
	// Output:
	// p: 8 d: 1
	// p: 7 d: 2
	// p: 5 d: 3
	// p: 2 d: 4
}

// The clients do the same work, but the model is updated five times per round.
func ExampleFedCluster() {
	var loss []fedkit.Float
	for _, s := range []fedkit.Strategy{&strategy.FedAvg{Local: short}, &strategy.FedCluster{K: 5, Local: short}} {
		h := after(3, digits(), s)
		loss = append(loss, h.Last().Global.Loss)
		fmt.Println(h.Name, "bytes up:", h.Last().BytesUp)
	}
	fmt.Println(loss[1] < loss[0])
	// Output:
	// FedAvg bytes up: 96800
	// FedCluster bytes up: 96800
	// true
}

// Each client holds examples of two labels. The server finds clients with the same labels from label shares alone.
func ExampleFedSC() {
	h := after(2, dealt(partition.Classes{Clients: 10, PerClient: 2, Seed: 1}, model.MLP(16)), &strategy.FedSC{K: 5, Local: short})
	fmt.Println("clusters:", h.Last().Clusters)
	fmt.Println("bytes up:", h.Rounds[0].BytesUp, "then", h.Rounds[1].BytesUp)
	// Output:
	// clusters: [0 0 1 2 3 3 4 1 2 0]
	// bytes up: 49680 then 48400
}

// FedProx limits client drift, and SCAFFOLD corrects it. Server optimizers work with both.
func ExampleSCAFFOLD() {
	for _, s := range []fedkit.Strategy{
		&strategy.FedProx{Fraction: 0.5, Mu: 0.1, Adaptive: true, Local: short},
		&strategy.SCAFFOLD{Fraction: 0.5, Local: short, Server: server.SGD{LR: 0.9}},
	} {
		h := after(20, digits(), s)
		fmt.Println(h.Name, h.Accuracy() > 0.8, "bytes up:", h.Last().BytesUp)
	}
	// Output:
	// FedProx true bytes up: 48400
	// SCAFFOLD true bytes up: 96800
}

// Every client has its own head: only the body travels.
func ExampleFedRep() {
	fed := dealt(partition.Dirichlet{Clients: 20, Alpha: 0.1, Seed: 1}, model.MLP(16))
	h := after(20, fed, &strategy.FedRep{Head: []string{"dense2"}, HeadEpochs: 2, Local: short})
	fmt.Println(h.Accuracy() > 0.9, "bytes up:", h.Last().BytesUp)
	// Output: true bytes up: 83200
}

// Starting from one cluster, FedAC finds the four rotations of the clients' digits.
func ExampleFedAC() {
	fed := dealt(partition.Rotations{Of: partition.IID{Clients: 20, Seed: 1}}, model.LogisticRegression())
	h := after(3, fed, &strategy.FedAC{K: 1, Local: fedkit.Local{Epochs: 4, Batch: 16, LR: 0.1}})
	fmt.Println(h.Rounds[0].Notes["clusters before"], "cluster became", h.Last().Notes["clusters after"])
	fmt.Println(cluster.Renumber(h.Last().Clusters))
	// Output:
	// 1 cluster became 4
	// [0 0 0 0 0 1 1 1 1 1 2 2 2 2 2 3 3 3 3 3]
}

// The four classes: epochs vary over clients, over rounds, over both, or not at all. Of two clients, the second computes three times as
// fast.
func ExampleFedEff() {
	fed := must.M1(dealt(partition.IID{Clients: 2, Seed: 1}, model.LogisticRegression()).WithDevices(sim.Given{{PerExample: 0.03}, {PerExample: 0.01}}))
	local, fewer := fedkit.Local{Epochs: 6, Batch: fedkit.FullBatch, LR: 0.1}, fedkit.Decay{Gamma: 0.5}
	for _, s := range []*strategy.FedEff{
		{Equal: true, Local: local},                  // EC
		{Local: local},                               // UEC
		{Equal: true, Schedule: fewer, Local: local}, // EIC
		{Schedule: fewer, Local: local},              // UEIC
	} {
		h := after(3, fed, s)
		for _, r := range h.Rounds {
			fmt.Print(r.Results[0].Steps, " ", r.Results[1].Steps, "  ")
		}
		fmt.Printf("epochs in %.0f s\n", h.Last().Clock)
	}
	// Output:
	// 6 6  6 6  6 6  epochs in 388 s
	// 4 12  4 12  4 12  epochs in 259 s
	// 6 6  3 3  1 1  epochs in 216 s
	// 4 12  2 6  1 3  epochs in 151 s
}

// On least squares, FedSplit reaches the optimum of the sum; FedAvg with several local steps does not.
func ExampleFedSplit() {
	data := must.M1(datasets.LeastSquares{Heterogeneity: 1}.Make())
	fed := must.M1(fedkit.New(data, partition.Natural{}, model.LinearRegression()))
	least, most := must.M2(convex.Curvature(fed, 0))
	split := &strategy.FedSplit{Exact: true, Step: 1 / math.Sqrt(least*most)}
	avg := &strategy.FedAvg{Local: fedkit.Local{Steps: 20, Batch: fedkit.FullBatch, LR: 0.1}}
	for _, s := range []fedkit.Strategy{split, avg} {
		h := after(30, fed, convex.WithRegressionGap(s, 0))
		gap := h.Last().Notes["relative gap"]
		fmt.Println(h.Name, gap < 1e-9, gap > 1e-3)
	}
	// Output:
	// FedSplit true false
	// FedAvg false true
}

// A tenth of the clients are stragglers. A synchronous round waits for them; a buffered one closes with the first five results,
// some of them stale.
func ExampleFedBuff() {
	fed := must.M1(dealt(partition.IID{Clients: 20}, model.MLP(16)).WithDevices(stragglers))
	local := fedkit.Local{Batch: 16, LR: 0.1}
	for rounds, s := range map[int]fedkit.Strategy{20: &strategy.FedAvg{Fraction: 0.5, Local: local}, 40: &strategy.FedBuff{Concurrency: 10, K: 5, Local: local}} {
		h := after(rounds, fed, s)
		oldest := 0
		for _, r := range h.Rounds {
			for _, solve := range r.Results {
				oldest = max(oldest, solve.Staleness)
			}
		}
		fmt.Printf("%s: 200 results in %.0f s, the oldest of %d rounds before\n", h.Name, h.Last().Clock, oldest)
	}
	// Unordered output:
	// FedAvg: 200 results in 125 s, the oldest of 0 rounds before
	// FedBuff: 200 results in 17 s, the oldest of 17 rounds before
}

// The server keeps momentum, m ← βm + Δ̄ and x ← x + m; with β = 0 it is FedBuff without. Results on old models act like momentum
// themselves (Mitliagkas et al., arXiv 1605.09774), so that a usual β is too large here.
func ExampleFedBuff_momentum() {
	fed := must.M1(digits().WithDevices(stragglers))
	for _, beta := range []float64{fedkit.Zero, 0.3, 0.8} {
		h := after(30, fed, &strategy.FedBuff{Concurrency: 10, K: 5, Server: server.Momentum{Beta: beta, HeavyBall: true}, Local: short})
		fmt.Printf("β = %.1f: more than 70 %% right: %v\n", beta, h.Accuracy() > 0.7)
	}
	// Output:
	// β = 0.0: more than 70 % right: true
	// β = 0.3: more than 70 % right: true
	// β = 0.8: more than 70 % right: false
}

// Each result updates the model on arrival. Here, results with a staleness above four are useful: with Hinge they
// have little weight.
func ExampleFedAsync() {
	fed := must.M1(digits().WithDevices(stragglers))
	accuracy := map[strategy.Staleness]float64{}
	for _, old := range []strategy.Staleness{strategy.Constant{}, strategy.Hinge{}} {
		h := after(200, fed, &strategy.FedAsync{Concurrency: 10, Alpha: 0.3, Staleness: old, Updates: true, Local: short})
		fmt.Printf("%T: 200 results in %.0f s\n", old, h.Last().Clock)
		accuracy[old] = h.Accuracy()
	}
	fmt.Println("the old ones help:", accuracy[strategy.Constant{}] > accuracy[strategy.Hinge{}]+0.1)
	// Output:
	// strategy.Constant: 200 results in 31 s
	// strategy.Hinge: 200 results in 31 s
	// the old ones help: true
}

// Each client chooses its number of local steps, and the server steps once five results have arrived.
func ExampleCCFL() {
	fed := must.M1(digits().WithDevices(stragglers))
	h := after(40, fed, &strategy.CCFL{Concurrency: 10, M: 5, StepsMin: 5, StepsMax: 20, Server: server.AMSGrad{LR: 0.1}, Local: short})
	least, most := math.MaxInt, 0
	for _, r := range h.Rounds {
		for _, s := range r.Results {
			least, most = min(least, s.Steps), max(most, s.Steps)
		}
	}
	fmt.Printf("200 results of %d to %d steps in %.0f s", least, most, h.Last().Clock)
	// A pass of the slow client with 62 examples is four steps, of 16, 16, 16 and 14 of them: 6.2 s.

	// Output: 200 results of 5 to 20 steps in 41 s
}

// threeGroups is a federation of three groups of clients with permuted labels.
func threeGroups() *fedkit.Federation {
	d := must.M1(datasets.GaussianMixture{Clients: 12, Groups: 3, Rows: 60, Features: 4, Permute: true}.Make())
	return must.M1(fedkit.New(d, partition.Natural{}, model.MLP(16)))
}

// ariOf runs a strategy, and returns how well its clusters agree with the true groups.
func ariOf(fed *fedkit.Federation, s fedkit.Strategy, seed uint64) (ari float64) {
	h := must.M1(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 15, EvalEvery: 15, Seed: seed}))
	return cluster.Agree(h.Last().Clusters, partition.Groups(fed.Clients)).ARI
}

var briefly = fedkit.Local{Epochs: 2, Batch: 10, LR: 0.1}

// Each client chooses the model with the lowest loss. Whether each of three groups gets its own depends on the models'
// initialization: five seeds, adjusted Rand index.
func ExampleIFCA() {
	fed := threeGroups()
	for seed := range uint64(5) {
		fmt.Printf("%.2f ", ariOf(fed, &strategy.IFCA{K: 3, Local: briefly}, seed))
	}
	// Output: 0.52 1.00 0.52 0.00 0.37
}

// The clients' local models are clustered once. The number of clusters is found by silhouette.
func ExampleOneShot() {
	fmt.Printf("ARI %.2f", ariOf(threeGroups(), &strategy.OneShot{Local: briefly}, 0))
	// Output: ARI 1.00
}

// Clusters split while their clients' updates point in different directions.
func ExampleCFL() {
	fmt.Printf("ARI %.2f", ariOf(threeGroups(), &strategy.CFL{Eps1: 0.4, Eps2: 0.6, Local: briefly}, 0))
	// Output: ARI 1.00
}

// After five rounds, clients are clustered by their losses on each other's models.
func ExampleLCFL() {
	fmt.Printf("ARI %.2f", ariOf(threeGroups(), &strategy.LCFL{Warmup: 5, Local: briefly}, 0))
	// Output: ARI 1.00
}

// turned are digits in two groups of clients, one of them rotated by 180°; two clients are held out.
var turned = sync.OnceValue(func() *fedkit.Federation {
	rotated := partition.Rotations{Of: partition.IID{Clients: 14, Seed: 1}, Degrees: []int{0, 180}}
	return must.M1(dealt(rotated, model.MLP(16)).HoldOut(2, 1))
})

// show says how well a strategy finds the two groups, and how well it serves them.
func show(strategies ...fedkit.Strategy) {
	for _, s := range strategies {
		last := after(20, turned(), s).Last()
		fmt.Println(last.Clustering.Count, "clusters, ARI", last.Clustering.ARI, last.Mean().Accuracy > 0.82, last.MeanUnseen().Accuracy > 0.82)
	}
}

// The cohort is clustered in every round, or all clients once by their last layers, as in the paper. The number of clusters is found.
func ExampleFedClust() {
	show(&strategy.FedClust{Local: short}, &strategy.FedClust{Once: true, Local: short, Clusterer: cluster.Agglomerative{Linkage: cluster.Average, Height: 0.42}})
	// Output:
	// 2 clusters, ARI 1 true true
	// 2 clusters, ARI 1 true true
}

// The five clusterers of Fed-PRISM.
func ExampleFedPRISM() {
	for _, by := range []cluster.Clusterer{cluster.Agglomerative{}, cluster.Agglomerative{Linkage: cluster.Average}, cluster.Agglomerative{Linkage: cluster.Single}, cluster.KMeans{}} {
		show(&strategy.FedPRISM{K: 2, M: 1, Alpha: 0.1, Center: true, Local: short, Clusterer: by})
	}
	show(&strategy.FedPRISM{K: 2, M: 1, Alpha: 0.1, Updates: true, Local: short, Clusterer: cluster.Spectral{}})
	// Output:
	// 2 clusters, ARI 1 true true
	// 2 clusters, ARI 1 true true
	// 2 clusters, ARI 1 true true
	// 2 clusters, ARI 1 true true
	// 2 clusters, ARI 1 true true
}

// Each client is assigned to the nearest of two centers.
func ExampleFeSEM() {
	show(&strategy.FeSEM{K: 2, Local: short})
	// Output: 2 clusters, ARI 1 true true
}

package examples_test

import (
	"context"
	"fmt"
	"sync"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/notebooks/examples"
	"github.com/janpfeifer/must"
)

// dealt partitions handwritten digits among 20 clients with label skew.
func dealt(m fedkit.Model) *fedkit.Federation {
	return must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: 0.3, Seed: 1}, m))
}

var digits = sync.OnceValue(func() *fedkit.Federation { return dealt(model.MLP(16)) })

// short is the local work of a round.
var short = fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}

// after runs a strategy for some rounds, and returns its history.
func after(rounds int, fed *fedkit.Federation, s fedkit.Strategy) *fedkit.History {
	return must.M1(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: rounds, EvalEvery: rounds}))
}

// drift is the total drift of the last round's clients.
func drift(h *fedkit.History) (sum float64) {
	for _, s := range h.Last().Results {
		sum += float64(s.Drift)
	}
	return sum
}

// Each client has its own number of epochs, from one to five.
func ExampleFedNova() {
	epochs := make([]int, 20)
	for i := range epochs {
		epochs[i] = 1 + i%5
	}
	h := after(20, digits(), &examples.FedNova{Fraction: 0.5, Epochs: epochs, Local: short})
	fmt.Println("more than 70 % right:", h.Accuracy() > 0.7)
	// Output: more than 70 % right: true
}

// What late clients have done by the end of a round counts, or is not even sent.
func ExampleStraggling() {
	late := after(20, digits(), &examples.Straggling{Fraction: 0.5, Share: 0.5, Local: short})
	less := after(20, digits(), &examples.Straggling{Fraction: 0.5, Share: 0.5, Drop: true, Local: short})
	fmt.Println("more than 70 % right:", late.Accuracy() > 0.7)
	fmt.Println("if they are dropped, half of the bytes:", less.Last().BytesUp*2 == late.Last().BytesUp)
	none := after(2, digits(), &examples.Straggling{Fraction: 0.05, Share: 0.5, Drop: true, Local: short})
	fmt.Println("if nobody is left, none:", none.Last().BytesUp)
	// Output:
	// more than 70 % right: true
	// if they are dropped, half of the bytes: true
	// if nobody is left, none: 0
}

// The correction of client drift stays with the clients: traffic is FedAvg's.
func ExampleFedDyn() {
	dyn := after(20, digits(), &examples.FedDyn{Fraction: 0.5, Alpha: 0.1, Local: short})
	avg := after(20, digits(), &strategy.FedAvg{Fraction: 0.5, Local: short})
	fmt.Println("more than 70 % right:", dyn.Accuracy() > 0.7)
	fmt.Println("for the bytes of FedAvg:", dyn.Last().BytesUp == avg.Last().BytesUp)
	// Output:
	// more than 70 % right: true
	// for the bytes of FedAvg: true
}

// Each client has a personal model besides the global one, which is FedAvg's for every λ.
func ExampleDitto() {
	h := after(20, digits(), &examples.Ditto{Fraction: 0.5, Lambda: 1, Local: short})
	fmt.Println("more than 70 % right:", h.Last().Global.Accuracy > 0.7, "and", h.Last().Mean().Accuracy > 0.7)
	// Output: more than 70 % right: true and true
}

// Personal models stay near x, which is robust to the few classes of each client.
func ExamplePFedMe() {
	h := after(20, digits(), &examples.PFedMe{Fraction: 0.5, Rounds: 10, Lambda: 1, Eta: 0.5, Local: fedkit.Local{Steps: 5, Batch: 16, LR: 0.1}})
	fmt.Println("more than 70 % right:", h.Last().Global.Accuracy > 0.7, "and", h.Last().Mean().Accuracy > 0.7)
	// Output: more than 70 % right: true and true
}

// Twin makes the model that APFL needs: a personal half, and a shared one, which alone travels.
func ExampleAPFL() {
	h := after(20, dealt(examples.Twin(model.MLP(16))), &examples.APFL{Fraction: 0.5, Alpha: 0.5, Local: short})
	fmt.Println("more than 70 % right:", h.Last().Mean().Accuracy > 0.7, "for", h.Last().BytesUp, "bytes per round")
	// Output: more than 70 % right: true for 48400 bytes per round
}

// With a larger q, clients with a higher loss have more weight, and steps get shorter.
func ExampleQFedAvg() {
	for _, q := range []float64{0, 1} {
		h := after(20, digits(), &examples.QFedAvg{Fraction: 0.5, Q: q, Local: short})
		fmt.Printf("q = %v: more than 70 %% right after twenty rounds: %v\n", q, h.Accuracy() > 0.7)
	}
	// Output:
	// q = 0: more than 70 % right after twenty rounds: true
	// q = 1: more than 70 % right after twenty rounds: false
}

// If the last layer stays with the clients, this is FedPer. If it is the first, LG-FedAvg.
func ExamplePartial() {
	for _, layer := range []string{"dense2", "dense1"} {
		h := after(20, digits(), &examples.Partial{Fraction: 0.5, Personal: []string{layer}, Local: short})
		fmt.Printf("without %s: more than 70 %% right: %v, for %d bytes per round\n", layer, h.Last().Mean().Accuracy > 0.7, h.Last().BytesUp)
	}
	// Output:
	// without dense2: more than 70 % right: true, for 41600 bytes per round
	// without dense1: more than 70 % right: true, for 6800 bytes per round
}

// Clients' representations move toward the global model's, and away from their previous ones.
func ExampleMOON() {
	h := after(20, digits(), &examples.MOON{Fraction: 0.5, Mu: 1, Temperature: 0.5, Local: short})
	fmt.Println("more than 70 % right:", h.Accuracy() > 0.7)
	// Output: more than 70 % right: true
}

// In two groups of clients, the same inputs have different labels. FedEM learns a model for each, though nobody tells it who is
// in which.
func ExampleFedEM() {
	d := must.M1(datasets.GaussianMixture{Clients: 10, Groups: 2, Rows: 60, TestRows: 20, Features: 8, Permute: true}.Make())
	fed := must.M1(fedkit.New(d, partition.Natural{}, model.MLP(16)))
	em, sure := &examples.FedEM{K: 2, Local: short}, 0
	h := after(20, fed, em)
	for _, pi := range em.State.Pi {
		if max(pi[0], pi[1]) > 0.9 {
			sure++
		}
	}
	fmt.Println("more than 90 % right:", h.Last().Mean().Accuracy > 0.9)
	fmt.Println(sure, "of 10 clients use less than a tenth of the other group's model")
	// Output:
	// more than 90 % right: true
	// 10 of 10 clients use less than a tenth of the other group's model
}

// Clients share the mean features of each digit instead of models: a sixth of the bytes.
func ExampleFedProto() {
	h := after(20, digits(), &examples.FedProto{Fraction: 0.5, Lambda: 1, Layer: "dense1", Local: short})
	fmt.Println("more than 70 % right:", h.Last().Mean().Accuracy > 0.7, "for", h.Last().BytesUp, "bytes per round")
	// Output: more than 70 % right: true for 6800 bytes per round
}

// Edge servers average their clients' models twice per round, and send only theirs to the cloud.
func ExampleHierFAVG() {
	h := after(10, digits(), &examples.HierFAVG{Edges: 4, Kappa2: 2, Local: short})
	fmt.Println("more than 70 % right:", h.Accuracy() > 0.7)
	fmt.Printf("%.0f bytes from clients to edges, and %.0f from edges to the cloud\n", h.Last().Links["client_to_edge"], h.Last().Links["edge_to_cloud"])
	// Output:
	// more than 70 % right: true
	// 193600 bytes from clients to edges, and 19360 from edges to the cloud
}

// Clients on a ring, and on the exponential graph, send their models to neighbors, and none to a server.
func ExampleDPSGD() {
	for _, offsets := range [][]int{{1}, {1, 2, 4, 8}} {
		h := after(20, digits(), &examples.DPSGD{Offsets: offsets, Local: short})
		fmt.Printf("%v: their mean is more than 70 %% right: %v, for %.0f bytes per round\n", offsets, h.Accuracy() > 0.7, h.Last().Links["client_to_client"])
	}
	// Output:
	// [1]: their mean is more than 70 % right: true, for 193600 bytes per round
	// [1 2 4 8]: their mean is more than 70 % right: true, for 774400 bytes per round
}

// After the first round, one of the two layers travels half as often.
func ExampleFedLAMA() {
	s := &examples.FedLAMA{Fraction: 0.5, Phi: 2, Local: short}
	h := after(20, digits(), s)
	fmt.Println("more than 70 % right:", h.Accuracy() > 0.7)
	fmt.Printf("%d bytes up in the first round, and %d in the last; %v is averaged half as often\n", h.Rounds[0].BytesUp, h.Last().BytesUp, s.State.Slow)
	// Output:
	// more than 70 % right: true
	// 96800 bytes up in the first round, and 55200 in the last; [dense1] is averaged half as often
}

// Clients do not forget digits that they lack, so they drift less.
func ExampleFedLC() {
	plain := after(20, digits(), &examples.FedLC{Fraction: 0.5, Tau: fedkit.Zero, Local: short})
	calibrated := after(20, digits(), &examples.FedLC{Fraction: 0.5, Tau: 1, Local: short})
	fmt.Println("less drift:", drift(calibrated) < 0.9*drift(plain))
	// Output: less drift: true
}

// The server distills the clients' models on 400 images, whose labels it does not use.
func ExampleFedDF() {
	fed := must.M1(digits().WithServer(fedkit.Server{Draw: 400}))
	df := &examples.FedDF{Fraction: 0.5, Local: short, Distill: fedkit.Local{Steps: 100, Batch: 32, LR: 0.001, Optimizer: fedkit.Adam{}}}
	h := after(20, fed, df)
	fmt.Println("more than 70 % right:", h.Accuracy() > 0.7, "with", h.Last().Server.Steps, "steps at the server")
	// Output: more than 70 % right: true with 100 steps at the server
}

// The global model teaches the clients, so they drift less.
func ExampleDistill() {
	plain := after(20, digits(), &examples.Distill{Fraction: 0.5, Weight: fedkit.Zero, Local: short})
	taught := after(20, digits(), &examples.Distill{Fraction: 0.5, Weight: 1, Temperature: 1, Local: short})
	fmt.Println("less drift:", drift(taught) < 0.9*drift(plain))
	// Output: less drift: true
}

// Each client chooses whose models help it, by their loss on its validation rows.
func ExampleFedFomo() {
	rule := partition.Validation{Of: partition.Rotations{Of: partition.IID{Clients: 20, Seed: 1}}}
	fed := must.M1(fedkit.New(datasets.Digits(), rule, model.MLP(16)))
	h := after(20, fed, &examples.FedFomo{Local: short})
	fmt.Println("more than 70 % right:", h.Accuracy() > 0.7)
	// Output: more than 70 % right: true
}

// Three singular vectors per client, sent once, show which clients have images that are rotated alike.
func ExamplePACFL() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Rotations{Of: partition.IID{Clients: 20, Seed: 1}}, model.MLP(16)))
	h := after(20, fed, &examples.PACFL{P: 3, K: 4, Fraction: 0.5, Local: short})
	fmt.Println("the true groups:", h.Last().Clustering.ARI == 1)
	fmt.Println("more than 70 % right:", h.Last().Mean().Accuracy > 0.7)
	fmt.Printf("%d bytes up in the first round, and %d in the others\n", h.Rounds[0].BytesUp, h.Last().BytesUp)
	// Output:
	// the true groups: true
	// more than 70 % right: true
	// 63760 bytes up in the first round, and 48400 in the others
}

// rival is a federation of ten clients in two groups: the same inputs have different labels.
var rival = sync.OnceValue(func() *fedkit.Federation {
	d := must.M1(datasets.GaussianMixture{Clients: 10, Groups: 2, Rows: 60, TestRows: 20, Features: 8, Permute: true}.Make())
	return must.M1(fedkit.New(d, partition.Natural{}, model.MLP(16)))
})

// found prints whether the clusters are the true groups, and whether their models are right.
func found(h *fedkit.History) {
	fmt.Println("the true groups:", h.Last().Clustering.ARI == 1)
	fmt.Println("more than 90 % right:", h.Last().Mean().Accuracy > 0.9)
}

// The directions in which clients move at first show who is in which group.
func ExampleFedGroup() {
	found(after(20, rival(), &examples.FedGroup{K: 2, Fraction: 0.5, Local: short}))
	// Output:
	// the true groups: true
	// more than 90 % right: true
}

// In every round, a client joins the center that its model resembles most.
func ExampleCGPFL() {
	found(after(20, rival(), &examples.CGPFL{K: 2, Mu: 0.1, Local: short}))
	// Output:
	// the true groups: true
	// more than 90 % right: true
}

// Models are compared in two dimensions, and the groups share their first layer.
func ExampleLCFed() {
	found(after(20, rival(), &examples.LCFed{K: 2, D: 2, Mu: 0.1, Lambda: 0.1, Local: short}))
	// Output:
	// the true groups: true
	// more than 90 % right: true
}

// The number of clusters is found, and what they share of their first layer falls from round to round.
func ExampleHCFL() {
	found(after(20, rival(), &examples.HCFL{Warmup: 3, Mu: 0.1, Fraction: 0.5, Local: short}))
	// Output:
	// the true groups: true
	// more than 90 % right: true
}

// A model that was trained on upright digits adapts to turned ones, for a sixth of its bytes.
func ExampleLoRA() {
	fed := turned(examples.LoRA)
	for _, rounds := range []int{1, 20} {
		h := after(rounds, fed, &strategy.FedAvg{Fraction: 0.5, Local: short})
		fmt.Printf("more than 80 %% right after %d rounds: %v\n", rounds, h.Accuracy() > 0.8)
	}
	fmt.Printf("%d bytes of %d travel\n", fed.Task.Bytes(), 4*len(upright()))
	// Output:
	// more than 80 % right after 1 rounds: false
	// more than 80 % right after 20 rounds: true
	// 3232 bytes of 19240 travel
}

// Clients of the same rows: one model that all train in turn has learned more during the first round than a model of each.
func ExampleInTurn() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Same{Clients: 8}, model.MLP(16)))
	each := after(1, fed, &examples.InTurn{P: []int{7}, Local: short})
	one := after(1, fed, &examples.InTurn{P: []int{7}, Chain: true, Local: short})
	fmt.Println("half the loss:", one.Last().Notes["loss"] < each.Last().Notes["loss"]/2)
	// Output: half the loss: true
}

// The server makes a model for each client, for FedAvg's bytes.
func ExamplePFedHN() {
	h := after(40, digits(), &examples.PFedHN{Fraction: 0.5, Local: short})
	fmt.Println("more than 80 % right:", h.Last().Mean().Accuracy > 0.8, "for", h.Last().BytesUp, "bytes per round")
	// Output: more than 80 % right: true for 48400 bytes per round
}

// A client has privacy at a price: ε grows by the round.
func ExampleDPFedAvg() {
	h := after(20, digits(), &examples.DPFedAvg{Fraction: 0.5, Clip: 2, Noise: 0.5, Local: short})
	fmt.Printf("more than 50 %% right: %v, with ε = %.0f\n", h.Accuracy() > 0.5, h.Last().Notes["epsilon"])
	// Output: more than 50 % right: true, with ε = 63
}

// A tenth of the values is enough, since what is not sent is kept.
func ExampleSparse() {
	h := after(20, digits(), &examples.Sparse{Fraction: 0.5, Keep: 0.1, Local: short})
	fmt.Println("more than 70 % right:", h.Accuracy() > 0.7, "for", h.Last().BytesUp, "bytes per round")
	// Output: more than 70 % right: true for 9680 bytes per round
}

// Four bits per value: a sign and seven levels.
func ExampleQSGD() {
	h := after(20, digits(), &examples.QSGD{Fraction: 0.5, Levels: 7, Local: short})
	fmt.Println("more than 70 % right:", h.Accuracy() > 0.7, "for", h.Last().BytesUp, "bytes per round")
	// Output: more than 70 % right: true for 6050 bytes per round
}

// FedBN (Li et al., arXiv 2102.07623) is Partial whose personal layers are those of batch normalization; SiloBN (Andreux et al., arXiv
// 2008.07424) keeps only their statistics personal. Both suit clients whose images differ in brightness.
func ExamplePartial_fedBN() {
	cameras := partition.Intensity{Of: partition.IID{Clients: 20}, Gain: []float64{1, 3, 10}}
	fed := must.M1(fedkit.New(datasets.Digits(), cameras, model.BatchNormMLP(16)))
	for _, personal := range [][]string{nil, {"bn1/mean", "bn1/variance"}, {"bn1"}} {
		h := after(20, fed, &examples.Partial{Fraction: 0.5, Personal: personal, Local: short})
		fmt.Printf("personal: %q, more than 90 %% right: %v, for %d bytes per round\n", personal, h.Last().Mean().Accuracy > 0.9, h.Last().BytesUp)
	}
	// Output:
	// personal: [], more than 90 % right: false, for 50960 bytes per round
	// personal: ["bn1/mean" "bn1/variance"], more than 90 % right: true, for 49680 bytes per round
	// personal: ["bn1"], more than 90 % right: true, for 48400 bytes per round
}

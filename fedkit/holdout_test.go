package fedkit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// relabeled is a federation of twelve clients in three true groups.
func relabeled(t *testing.T) *fedkit.Federation {
	t.Helper()
	return expect.Value(fedkit.New(datasets.Digits(), partition.Relabel{Of: partition.IID{Clients: 12, Seed: 1}, Groups: 3}, model.MLP()))(t)
}

func TestHoldOut(t *testing.T) {
	all := relabeled(t)
	fed := expect.Value(all.HoldOut(5, 2))(t)
	if fed.Size() != 7 || fed.Unseen.Size() != 5 {
		t.Fatalf("%d clients and %d unseen ones, want 7 and 5", fed.Size(), fed.Unseen.Size())
	}
	var back []partition.Client
	for _, f := range []*fedkit.Federation{fed, fed.Unseen} {
		back = append(back, f.Clients...)
		groups := partition.Groups(f.Clients)
		if !slices.IsSorted(groups) { // the order of the clients stays
			t.Errorf("groups %v", groups)
		}
		for g := range 3 {
			if !slices.Contains(groups, g) {
				t.Errorf("no client of group %d among %v", g, groups)
			}
		}
	}
	for _, c := range all.Clients {
		if n := len(slices.DeleteFunc(slices.Clone(back), func(d partition.Client) bool { return !reflect.DeepEqual(c, d) })); n != 1 {
			t.Errorf("a client is there %d times", n)
		}
	}
	same, err := all.HoldOut(5, 2)
	if err != nil || !reflect.DeepEqual(same.Clients, fed.Clients) || same.Manifest().Clients != fed.Manifest().Clients {
		t.Errorf("the same seed holds out others, error %v", err)
	}
	other, err := all.HoldOut(5, 3)
	if err != nil || other.Manifest().Clients == fed.Manifest().Clients || reflect.DeepEqual(other.Clients, fed.Clients) {
		t.Errorf("another seed holds out the same, error %v", err)
	}
	if want := "; 5 clients held out, seed 2"; !strings.HasSuffix(fed.Rule, want) {
		t.Errorf("the rule is %q, want …%s", fed.Rule, want)
	}
	for _, n := range []int{-1, 0, 10, 100} {
		expect.Invalid(t, "must be in [1, 9], so that each of 3 true groups keeps a client")(all.HoldOut(n, 0))
	}
	expect.Invalid(t)(fed.HoldOut(1, 0))
}

// welcoming is FedAvg that trains unseen clients from its model, and serves each what it trained.
type welcoming struct{ strategy.FedAvg }

func (s *welcoming) Unwrap() fedkit.Strategy { return &s.FedAvg }

func (s *welcoming) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.State.X, Local: s.Local})
	return fedkit.Serving{Models: u.Models, Assign: r.AllClients()}
}

// What unseen clients score is what their own rows say of the models that they find; the run itself is the same with them.
func TestUnseenClientsAreScored(t *testing.T) {
	ctx := context.Background()
	fed := expect.Value(relabeled(t).HoldOut(3, 1))(t)
	without := *fed
	without.Unseen = nil
	local := fedkit.Local{Batch: 16, LR: 0.1}
	run := func(fed *fedkit.Federation, s fedkit.Strategy, workers int) *fedkit.History {
		t.Helper()
		h := expect.Value(fedkit.Run(ctx, fed, s, fedkit.Options{Rounds: 3, EvalEvery: 2, Concurrency: workers}))(t)
		for i := range h.Rounds {
			h.Rounds[i].Seconds, h.Rounds[i].EvalTime = 0, 0
		}
		return h
	}
	fedAvg, ifca, welcomer := &strategy.FedAvg{Local: local}, &strategy.IFCA{Local: local, K: 3}, &welcoming{strategy.FedAvg{Local: local}}
	histories := map[string]*fedkit.History{}
	for name, s := range map[string]fedkit.Strategy{"global": fedAvg, "by loss": ifca, "welcomed": welcomer} {
		h := run(fed, s, 1)
		histories[name] = h
		if h.Rounds[0].Unseen != nil || len(h.Rounds[1].Unseen) != 3 || len(h.Last().Unseen) != 3 {
			t.Errorf("%s: %d, %d, %d scores", name, len(h.Rounds[0].Unseen), len(h.Rounds[1].Unseen), len(h.Last().Unseen))
		}
		if again := run(fed, s, 4); !reflect.DeepEqual(h.Rounds, again.Rounds) {
			t.Errorf("%s: other records with 4 workers", name)
		}
		alone := run(&without, s, 1)
		for i := range h.Rounds {
			r := h.Rounds[i]
			r.Unseen = nil
			a, _ := json.Marshal(r)
			if b, _ := json.Marshal(alone.Rounds[i]); !bytes.Equal(a, b) {
				t.Errorf("%s: round %d is another one without unseen clients:\n%s\n%s", name, i+1, a, b)
			}
		}
	}
	accuracies := func(h *fedkit.History) (a []float64) {
		for _, s := range h.Last().Unseen {
			a = append(a, float64(s.Accuracy))
		}
		return a
	}
	if want := under(t, fed.Unseen, &fedkit.Serving{Global: fedAvg.State.X}); !near(accuracies(histories["global"]), want) {
		t.Errorf("accuracies %v, want %v", accuracies(histories["global"]), want)
	}
	own := func(part datasets.Part) []int { // by the losses that Predict gives
		best := make([]int, fed.Unseen.Size())
		for i, c := range fed.Unseen.Clients {
			p := expect.Value(fed.Unseen.Predict(ctx, ifca.State.Theta, part, c.Train))(t)
			least := math.Inf(1)
			for j := range p {
				if loss := crossEntropy(&p[j]); loss < least {
					best[i], least = j, loss
				}
			}
		}
		return best
	}
	if want := under(t, fed.Unseen, &fedkit.Serving{Models: ifca.State.Theta, Assign: own(datasets.TrainPart)}); !near(accuracies(histories["by loss"]), want) {
		t.Errorf("accuracies %v, want %v", accuracies(histories["by loss"]), want)
	}
	if a, b := histories["welcomed"].Last().MeanUnseen(), histories["global"].Last().MeanUnseen(); !(a.Accuracy > b.Accuracy) {
		t.Errorf("unseen clients that train reach %v, those that do not %v", a.Accuracy, b.Accuracy)
	}
}

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) < 1e-6 })
}

// Beside the scores of the models that clients choose by their training rows: those of the models that suit the test rows.
func TestChooseOnTest(t *testing.T) {
	fed := relabeled(t)
	ifca := &strategy.IFCA{Local: fedkit.Local{Batch: 16, LR: 0.1}, K: 4}
	o := fedkit.Options{Rounds: 2, EvalEvery: 2, ChooseOnTest: true}
	h := expect.Value(fedkit.Run(context.Background(), fed, ifca, o))(t)
	last := h.Last()
	if len(last.ChosenOnTest) != 12 || h.Rounds[0].ChosenOnTest != nil {
		t.Fatalf("%d scores, %d in round 1", len(last.ChosenOnTest), len(h.Rounds[0].ChosenOnTest))
	}
	better := false
	const rounding = 1e-7 // of a loss, of other calls: clients are arranged by model
	for i := range last.Scores {
		if d := last.Scores[i].Loss/last.ChosenOnTest[i].Loss - 1; d < -rounding {
			t.Errorf("client %d: loss %v, less than the least %v", i, last.Scores[i].Loss, last.ChosenOnTest[i].Loss)
		} else if d > rounding {
			better = true
		}
	}
	if !better {
		t.Error("all clients chose the same model by training and by test rows: the test shows nothing")
	}
	if plain, err := fedkit.Describe(fed, ifca, fedkit.Options{Rounds: 2, EvalEvery: 2}); err != nil || reflect.DeepEqual(plain.Settings, h.Settings) {
		t.Errorf("the option is not among the settings: %v, error %v", h.Settings, err)
	}
}

// Every round of a strategy that serves clusters says how good they are, in files too.
func TestClusteringIsRecorded(t *testing.T) {
	fed := expect.Value(relabeled(t).HoldOut(3, 1))(t)
	s := &strategy.FedPRISM{K: 3, M: 1, Center: true, Every: 1, Local: fedkit.Local{Epochs: 3, Batch: 16, LR: 0.1}}
	h := expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 4, EvalEvery: 4, ChooseOnTest: true}))(t)
	for _, r := range h.Rounds {
		c := r.Clustering
		if c == nil || c.Count < 1 || !(c.NMI >= 0) || !(c.Purity > 0) {
			t.Errorf("round %d: %+v", r.Round, c)
		}
	}
	if c := h.Last().Clustering; c.ARI != 1 || c.Purity != 1 || c.Count != 3 {
		t.Errorf("%+v, want the true groups; clusters %v", c, h.Last().Clusters)
	}
	path := filepath.Join(t.TempDir(), "h")
	expect.OK(t, h.Save(path))
	if back, err := fedkit.Load(path); err != nil || !reflect.DeepEqual(back.Rounds[3], h.Rounds[3]) {
		t.Errorf("read as %+v\nwant %+v, error %v", back.Rounds[3], h.Rounds[3], err)
	}
	light := expect.Value(history.LoadLight(path))(t)
	a, b := light.Last(), h.Last()
	if a.Unseen != nil || a.ChosenOnTest != nil || !reflect.DeepEqual(a.MeanUnseen(), b.MeanUnseen()) || !reflect.DeepEqual(a.MeanChosenOnTest(), b.MeanChosenOnTest()) || !reflect.DeepEqual(a.Clustering, b.Clustering) {
		t.Errorf("light: %+v", a)
	}
}

// Without true groups there is nothing to agree with; distances are those of the models.
func TestClusteringWithoutTruth(t *testing.T) {
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 4}, model.MLP()))(t)
	s := &strategy.IFCA{K: 3, Local: fedkit.Local{Batch: 16, LR: 0.1}}
	h := expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 1}))(t)
	c := h.Last().Clustering
	if c == nil || c.ARI == c.ARI || c.NMI == c.NMI || c.Purity == c.Purity {
		t.Fatalf("%+v, want NaN", c)
	}
	at := 0
	for i := range 3 {
		for j := i + 1; j < 3; j++ {
			n, err := s.State.Theta.Take(i).Sub(s.State.Theta.Take(j)).Norms()
			if err != nil || at >= len(c.Distances) || math.Abs(n[0]-float64(c.Distances[at])) > 1e-5*n[0] {
				t.Fatalf("distances %v, want %v between %d and %d, error %v", c.Distances, n, i, j, err)
			}
			at++
		}
	}
}

func TestTrainOutsideARun(t *testing.T) {
	fed := relabeled(t)
	ctx, local := context.Background(), fedkit.Local{Batch: 16, LR: 0.1}
	x := expect.Value(fed.Models(1, 5))(t)
	u := expect.Value(fed.Train(ctx, fedkit.Job{Clients: []int{0, 4, 9}, Start: x, Local: local}, 5))(t)
	only := &strategy.LocalOnly{Local: local}
	expect.Value(fedkit.Run(ctx, fed, only, fedkit.Options{Rounds: 1, Seed: 5}))(t)
	a, _ := u.Models.Host()
	if b, err := only.State.W.Take(0, 4, 9).Host(); err != nil || !slices.Equal(a, b) {
		t.Errorf("not what the clients do in round 1; error %v", err)
	}
	expect.Invalid(t)(fed.Train(ctx, fedkit.Job{Clients: []int{12}, Start: x, Local: local}, 5))
	expect.Invalid(t)(fed.Models(0, 0))
}

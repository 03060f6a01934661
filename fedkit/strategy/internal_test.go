package strategy

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
)

// The project's published log: 8 clients, threshold 0.5, 7 epochs. Given its losses and the implied coin tosses, p and d match
// exactly, and the ratios to the precision of losses with four decimals.
func TestAdaptiveClusteringRepeatsTheLog(t *testing.T) {
	s := &AdaptiveClustering{Threshold: 0.5, StabilizeRounds: 3}
	s.State.P, s.State.D, s.State.Loss = 8, 1, math.Inf(1)
	keep := map[int]bool{1: false, 2: false, 3: true} // from epoch 4 on the ratio is below the threshold
	last := math.Inf(1)
	for i, want := range []struct {
		loss, ratio float64
		p, d        int
	}{
		{0.0888, math.Inf(1), 8, 1}, {0.0309, 2.8753, 7, 2}, {0.0394, 0.7833, 5, 3}, {0.2021, 0.1951, 5, 3},
		{1.5653, 0.1291, 5, 3}, {15.9998, 0.0978, 5, 1}, {200.8382, 0.0797, 5, 1},
	} {
		epoch := i + 1
		expect.That(t, s.State.P == want.p && s.State.D == want.d,
			"epoch %d: p = %d, d = %d, want %d and %d", epoch, s.State.P, s.State.D, want.p, want.d)
		ratio := s.adjust(want.loss, 8, func() bool {
			kept, tossed := keep[epoch]
			expect.That(t, tossed, "epoch %d: the coin is tossed at a ratio below the threshold", epoch)
			return kept
		})
		rounding := 5e-5 * (1 + ratio/last + ratio/want.loss)
		expect.That(t, ratio == want.ratio || math.Abs(ratio-want.ratio) <= rounding, "epoch %d: ratio %v, want %v", epoch, ratio, want.ratio)
		last = want.loss
	}
}

// p never falls below 1, and d stays below the initial number of clusters; a loss of 0 has no ratio.
func TestAdaptiveClusteringAtItsEnds(t *testing.T) {
	never := func() bool { return false }
	for most := range 5 {
		s := &AdaptiveClustering{}
		s.State.P, s.State.D, s.State.Loss = most+1, 1, math.Inf(1)
		for range 9 {
			s.adjust(1, most+1, never)
			expect.That(t, s.State.P >= 1 && s.State.D <= max(most, 1), "from %d clusters: p = %d, d = %d", most+1, s.State.P, s.State.D)
		}
		expect.That(t, s.State.P == 1, "from %d clusters: p = %d, want 1", most+1, s.State.P)
		s.adjust(0, most+1, never)
		ratio := s.adjust(0, most+1, never)
		expect.That(t, ratio == 0, "ratio %v after a loss of 0", ratio)
	}
}

// FedAC's decision is all dense layers after convolutions, and otherwise the last layer, which is also the head of other strategies.
func TestDecisionsOfModels(t *testing.T) {
	d := &datasets.Dataset{Shape: []int{32, 32, 3}, Classes: 10}
	for _, c := range []struct {
		model fedkit.Model
		dense []string
		last  string
	}{
		{model.LeNet(), []string{"dense1", "dense2", "dense3"}, "dense3"},
		{model.CNN(), []string{"dense1", "dense2"}, "dense2"},
		{model.ResNet8(), []string{"dense"}, "dense"},
		{model.MLP(50), []string{"dense2"}, "dense2"},
		{model.LogisticRegression(), []string{"dense1"}, "dense1"},
	} {
		task := expect.Value(c.model(d))(t)
		if got := denseLayers(task, nil); !slices.Equal(got, c.dense) {
			t.Errorf("%s: the decision is %q, want %q", task.Name, got, c.dense)
		}
		if got := headLayers(task, nil); !slices.Equal(got, []string{c.last}) {
			t.Errorf("%s: the head is %q, want %q", task.Name, got, c.last)
		}
		first := []string{task.Params[0].Name}
		got := denseLayers(task, first)
		expect.That(t, slices.Equal(got, first), "%s: the decision is %q, want the one named", task.Name, got)
	}
	all := expect.Value(model.LeNet()(d))(t)
	convolutions := &fedkit.Task{Params: all.Params[:4]}
	got := denseLayers(convolutions, nil)
	expect.That(t, slices.Equal(got, []string{"conv2"}), "only convolutions: the decision is %q, want the last layer", got)
}

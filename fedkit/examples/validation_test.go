package examples_test

import (
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// FedFomo's clients receive all models of the round, and send their own. Without validation rows it is refused.
func TestFedFomo(t *testing.T) {
	plain, _ := rivals()
	expect.Invalid(t, "FedFomo: ", "federation = one client per owner: must be one whose clients have validation rows")(
		fedkit.Run(t.Context(), plain, &examples.FedFomo{Local: standard}, fedkit.Options{Rounds: 1}))
	fed := must.M1(fedkit.New(plain.Data, partition.Validation{Of: partition.Natural{}}, tiny))
	h := run(t, fed, &examples.FedFomo{Fraction: 0.5, Local: standard}, fedkit.Options{Rounds: 2})
	if model := int64(4 * fed.Task.Dim()); h.Last().BytesDown != 3*3*model || h.Last().BytesUp != 3*model {
		t.Errorf("%d bytes down and %d up, want 9 and 3 models of %d", h.Last().BytesDown, h.Last().BytesUp, model)
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
		if want := best*fed.Size() + i; sv.Assign[i] != want {
			t.Errorf("client %d uses row %d, want %d", i, sv.Assign[i], want)
		}
	}
	if len(chosen) < 2 {
		t.Errorf("all clients choose one α: %v", chosen)
	}
}

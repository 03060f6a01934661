package model_test

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
)

// sequences is a data set of n sequences of T tokens, and of the token that follows.
func sequences(n, T, vocabulary int) *datasets.Dataset {
	d := &datasets.Dataset{Name: "sequences", Shape: []int{T}, Classes: vocabulary}
	for p, s := range []*datasets.Split{&d.Train, &d.Test} {
		s.Scale = 1
		for i := range n {
			for t := range T {
				s.Bytes = append(s.Bytes, uint8((i*i+t*(i+p+1))%vocabulary))
			}
			s.Labels = append(s.Labels, int32((i+p)%vocabulary))
		}
	}
	return d
}

// gruLoss is the mean cross entropy of a GRU in float64, written after the formulas of its doc comment.
func gruLoss(w []float64, d *datasets.Dataset, vocabulary, embedding, units int) (loss float64) {
	take := func(n int) (part []float64) {
		part, w = w[:n], w[n:]
		return part
	}
	E, W, b := take(vocabulary*embedding), take(embedding*3*units), take(3*units)
	U, V, c := take(units*3*units), take(units*vocabulary), take(vocabulary)
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	for i := range d.Train.Len() {
		h := make([]float64, units)
		labels, _ := d.Train.Truth([]int{i})
		used, own := 0.0, 0.0
		for t, token := range d.Train.Row(i, nil) {
			a, u := append([]float64(nil), b...), make([]float64, 3*units)
			for j := range a {
				for k := range embedding {
					a[j] += E[int(token)*embedding+k] * W[k*3*units+j]
				}
				for k := range units {
					u[j] += h[k] * U[k*3*units+j]
				}
			}
			for j := range h {
				r, z := sigmoid(a[j]+u[j]), sigmoid(a[units+j]+u[units+j])
				h[j] = z*h[j] + (1-z)*math.Tanh(a[2*units+j]+r*u[2*units+j])
			}
			label := t - d.Features() + len(labels) // of one label, after the last token
			if label < 0 || labels[label] < 0 {
				continue
			}
			out, sum := append([]float64(nil), c...), 0.0
			for j := range out {
				for k := range units {
					out[j] += h[k] * V[k*vocabulary+j]
				}
				sum += math.Exp(out[j])
			}
			used, own = used+1, own+math.Log(sum)-out[labels[label]]
		}
		loss += own / max(1, used) / float64(d.Train.Len())
	}
	return loss
}

// One full-batch step of a GRU against its loss in float64 and the central differences of that.
func TestGRUAgainstFloat64(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic")
	}
	againstFloat64(t, sequences(7, 5, 4))
	againstFloat64(t, everyToken(7, 5, 4))
}

// everyToken is sequences with the token that follows every one, where it is not 0.
func everyToken(n, T, vocabulary int) *datasets.Dataset {
	d := sequences(n, T, vocabulary)
	for _, s := range []*datasets.Split{&d.Train, &d.Test} {
		var labels []int32
		for i, last := range s.Labels {
			for _, token := range s.Bytes[i*T+1 : (i+1)*T] {
				labels = append(labels, int32(token))
			}
			labels = append(labels, last)
		}
		for i, l := range labels {
			if l == 0 {
				labels[i] = -1
			}
		}
		s.Labels, s.Width = labels, T
	}
	return d
}

// againstFloat64 is TestGRUAgainstFloat64 for a data set.
func againstFloat64(t *testing.T, d *datasets.Dataset) {
	t.Helper()
	before, after, solve := step(t, oneClient(t, d, model.GRU(4, 2, 3)))
	loss := func() float64 { return gruLoss(before, d, 4, 2, 3) }
	if got, want := float64(solve.Loss), loss(); math.Abs(got-want) > 1e-6 {
		t.Errorf("loss %v, want %v", got, want)
	}
	for j := range before {
		const step = 1e-5
		was := before[j]
		before[j] = was + step
		up := loss()
		before[j] = was - step
		slope := (up - loss()) / (2 * step)
		before[j] = was
		if want := was - 0.3*slope; math.Abs(after[j]-want) > 1e-6*(1+math.Abs(want)) {
			t.Fatalf("parameter %d is %v, want %v", j, after[j], want)
		}
	}
}

// Clients that share a program train as they do alone, and models evaluated side by side give the same as alone.
func TestSequenceModelsKeepClientsApart(t *testing.T) {
	expect.Long(t, "arithmetic")
	keepsClientsApart(t, sequences(24, 3, 4), model.GRU(4, 2, 3))
	keepsClientsApart(t, everyToken(24, 3, 4), model.LSTM(4, 2, 3, 2))
	keepsClientsApart(t, sequences(24, 3, 4), small(4))
	keepsClientsApart(t, everyToken(24, 3, 4), small(4))
}

// small is a small transformer with dropout.
func small(vocabulary int) fedkit.Model {
	return model.Transformer{Vocabulary: vocabulary, Width: 6, Heads: 2, Layers: 1, Hidden: 5, Dropout: 0.3}.Model()
}

func keepsClientsApart(t *testing.T, d *datasets.Dataset, m fedkit.Model) {
	t.Helper()
	run(t, federation(t, d, partition.IID{Clients: 3}, m), training{func(r *fedkit.Round) {
		job := fedkit.Job{Clients: r.AllClients(), Start: r.Models(1), Local: fedkit.Local{Batch: 4, LR: 0.5}, ReuseBatches: 1}
		together := r.Train(job).Models
		losses := r.Losses(together, datasets.TrainPart, r.AllClients())
		job.Clients = []int{1}
		alone := r.Train(job).Models
		close32(t, "model", host(t, together.Take(1)), host(t, alone), 1e-6)
		for k, loss := range r.Losses(alone, datasets.TrainPart, r.AllClients())[0] {
			if math.Abs(loss-losses[1][k]) > 1e-6 {
				t.Errorf("client %d: loss %v side by side, %v alone", k, losses[1][k], loss)
			}
		}
	}}, fedkit.Options{Rounds: 1})
}

// An output depends on the tokens up to its position, not on later ones, and a label of −1 on nothing at all.
func TestTransformerDoesNotLookAhead(t *testing.T) {
	const T, vocabulary = 5, 4
	d := everyToken(6, T, vocabulary)
	fed := oneClient(t, d, model.Transformer{Vocabulary: vocabulary, Width: 6, Heads: 3, Layers: 2, Hidden: 5}.Model())
	x := expect.Value(fed.Models(1, 1))(t)
	outputs := func(fed *fedkit.Federation) []float32 { // of the first example
		return slices.Concat(expect.Value(fed.Predict(t.Context(), x, datasets.TestPart, []int{0}))(t)[0].Outputs[:T]...)
	}
	before := outputs(fed)
	for at := range T {
		other := everyToken(6, T, vocabulary)
		other.Test.Bytes[at] = (other.Test.Bytes[at] + 1) % vocabulary
		after := outputs(oneClient(t, other, model.Transformer{Vocabulary: vocabulary, Width: 6, Heads: 3, Layers: 2, Hidden: 5}.Model()))
		close32(t, "outputs before the change", after[:at*vocabulary], before[:at*vocabulary], 1e-6)
		for p := at; p < T; p++ {
			if o := p * vocabulary; math.Abs(float64(after[o]-before[o])) < 1e-6 {
				t.Errorf("token %d does not matter to the output at %d", at, p)
			}
		}
	}
}

func TestGRURefusals(t *testing.T) {
	bytes := sequences(4, 5, 4)
	scaled := sequences(4, 5, 4)
	scaled.Train.Scale = 0.5
	wide := everyToken(4, 6, 4)
	wide.Shape, wide.Train.Bytes, wide.Test.Bytes = []int{5}, wide.Train.Bytes[:20], wide.Test.Bytes[:20]
	for want, c := range map[string]struct {
		d *datasets.Dataset
		m fedkit.Model
	}{
		"model.GRU: Width = 6: must be 5, a label at each token":                {wide, model.GRU(4, 2, 2)},
		"model.GRU: vocabulary = 0":                                             {bytes, model.GRU(0, 2, 2)},
		"model.GRU: embedding = -1":                                             {bytes, model.GRU(4, -1, 2)},
		"model.GRU: units = 4611686018427387904":                                {bytes, model.GRU(4, 2, 1<<62)},
		"model.GRU: token = 3: must be a whole number in [0, 3)":                {bytes, model.GRU(3, 2, 2)},
		"model.GRU: token = 0.5":                                                {scaled, model.GRU(4, 2, 2)},
		"model.GRU: data shape = [8 8 1]: must be [T]":                          {classes(4, 8, 1, 3), model.GRU(256, 2, 2)},
		"model.LSTM: units = []: must be of at least one layer":                 {bytes, model.LSTM(4, 2)},
		"model.LSTM: units = 0":                                                 {bytes, model.LSTM(4, 2, 3, 0)},
		"model.LSTM: token = 3":                                                 {bytes, model.LSTM(3, 2, 3)},
		"model.Transformer: vocabulary = 0":                                     {bytes, model.Transformer{}.Model()},
		"Transformer.Dropout = 1: must be in [0, 1)":                            {bytes, model.Transformer{Vocabulary: 4, Dropout: 1}.Model()},
		"model.Transformer: Heads = 5: must be a divisor of Width, 96":          {bytes, model.Transformer{Vocabulary: 4, Heads: 5}.Model()},
		"model.Transformer: Vocabulary = 5: must be 4, the classes of the data": {bytes, model.Transformer{Vocabulary: 5}.Model()},
	} {
		refused(t, c.d, c.m, want)
	}
}

// Package oracle has plain float64 Go references that the compiled programs are tested against. Nothing here is fast,
// and nothing here shares code with what it checks.
package oracle

import "math"

// MLP is a multilayer perceptron with ReLU between dense layers of the given sizes: Sizes[0] inputs, the last one the
// outputs. Its parameters are one vector: weights [in, out] row after row, biases [out], layer after layer. With
// Regression the loss is half the squared error of the one output, otherwise the cross entropy of the softmax.
type MLP struct {
	Sizes      []int // inputs, hidden layers, outputs
	Regression bool  // squared error instead of cross entropy
}

// Dim returns the number of parameters.
func (m MLP) Dim() int {
	d := 0
	for l := 1; l < len(m.Sizes); l++ {
		d += (m.Sizes[l-1] + 1) * m.Sizes[l]
	}
	return d
}

// Outputs returns the outputs of the last layer for example x.
func (m MLP) Outputs(w, x []float64) []float64 {
	act, _ := m.forward(w, x)
	return act[len(act)-1]
}

// forward returns the outputs of every layer, act[0] the input, and where in w each layer after it starts.
func (m MLP) forward(w, x []float64) (act [][]float64, off []int) {
	act, off = [][]float64{x}, []int{0}
	for l := 1; l < len(m.Sizes); l++ {
		in, out := m.Sizes[l-1], m.Sizes[l]
		o := off[l-1]
		z := make([]float64, out)
		for j := range z {
			z[j] = w[o+in*out+j]
			for i, a := range act[l-1] {
				z[j] += a * w[o+i*out+j]
			}
			if l < len(m.Sizes)-1 {
				z[j] = math.Max(z[j], 0)
			}
		}
		act, off = append(act, z), append(off, o+(in+1)*out)
	}
	return act, off
}

// Gradient returns the mean loss over examples x [n][in] with targets y [n] (labels, unless Regression), and its
// gradient with respect to w.
func (m MLP) Gradient(w []float64, x [][]float64, y []float64) (loss float64, grad []float64) {
	grad = make([]float64, len(w))
	n := float64(len(x))
	for e := range x {
		act, off := m.forward(w, x[e])
		last := len(m.Sizes) - 1
		delta := make([]float64, m.Sizes[last])
		if m.Regression {
			r := act[last][0] - y[e]
			loss += r * r / 2 / n
			delta[0] = r / n
		} else {
			top, sum := math.Inf(-1), 0.0
			for _, z := range act[last] {
				top = math.Max(top, z)
			}
			for _, z := range act[last] {
				sum += math.Exp(z - top)
			}
			loss += (top + math.Log(sum) - act[last][int(y[e])]) / n
			for j, z := range act[last] {
				delta[j] = math.Exp(z-top) / sum / n
			}
			delta[int(y[e])] -= 1 / n
		}
		// Backward.
		for l := last; l >= 1; l-- {
			in, out, o := m.Sizes[l-1], m.Sizes[l], off[l-1]
			back := make([]float64, in)
			for j, d := range delta {
				grad[o+in*out+j] += d
				for i, a := range act[l-1] {
					grad[o+i*out+j] += d * a
					back[i] += d * w[o+i*out+j]
				}
			}
			for i := range back {
				if l > 1 && act[l-1][i] <= 0 {
					back[i] = 0
				}
			}
			delta = back
		}
	}
	return loss, grad
}

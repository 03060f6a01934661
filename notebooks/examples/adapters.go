package examples

import (
	"math/rand/v2"
	"strings"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// scale is the last parameter of a task of LoRA's, α/r.
const scale = "lora/scale"

// adapter is where a row of LoRA's has one of its matrices: W₀ [in, out] begins at w, A [in, r] at a, and B [r, out] at b.
type adapter struct {
	name       string
	in, r, out int
	w, a, b    int
	draw       func(*rand.Rand, []float32) // A
}

// adapters returns the matrices of a task of LoRA's, none for another task.
func adapters(t *fedkit.Task) (all []adapter) {
	begins, at := map[string]int{}, 0
	for l, p := range t.Params {
		begins[p.Name] = at
		name, isB := strings.CutSuffix(p.Name, "/B")
		if a, ok := begins[name+"/A"]; isB && ok && t.Params[len(t.Params)-1].Name == scale {
			all = append(all, adapter{name, (at - a) / p.Shape[0], p.Shape[0], p.Shape[1], begins[name], a, at, t.Params[l-1].Init})
		}
		at += p.Size()
	}
	return all
}

// factors returns A and B of a row.
func (m adapter) factors(row []float32) (A, B *mat.Dense) {
	A, B = mat.NewDense(m.in, m.r, nil), mat.NewDense(m.r, m.out, nil)
	fill(A.RawMatrix().Data, row[m.a:m.b])
	fill(B.RawMatrix().Data, row[m.b:m.b+m.r*m.out])
	return A, B
}

// means returns Σ_i p_i A_i B_i, Σ_i p_i A_i and Σ_i p_i B_i of rows, with p the weights over their sum.
func (m adapter) means(rows []float32, weights []float64) (AB, A, B *mat.Dense) {
	AB, A, B = mat.NewDense(m.in, m.out, nil), mat.NewDense(m.in, m.r, nil), mat.NewDense(m.r, m.out, nil)
	d := len(rows) / len(weights)
	for i, w := range weights {
		var product mat.Dense
		a, b := m.factors(rows[i*d : (i+1)*d])
		product.Mul(a, b)
		for k, to := range []*mat.Dense{AB, A, B} {
			term := []*mat.Dense{&product, a, b}[k]
			term.Scale(w/floats.Sum(weights), term)
			to.Add(to, term)
		}
	}
	return AB, A, B
}

package model_test

import (
	"math"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
)

// All parameters of a layer fill ±1/√f, and their variance is that of a uniform distribution, 1/(3f).
func TestUniformStart(t *testing.T) {
	fed := digits(t, model.UniformInit(model.MLP(200)))
	m := expect.Value(fed.Models(1, 3))(t)
	w := host(t, m)
	for _, p := range fed.Task.Params {
		f := 64.0
		if p.Name[:6] == "dense2" {
			f = 200
		}
		most, square, n := 0.0, 0.0, float64(p.Size())
		for _, v := range w[:p.Size()] {
			most, square = max(most, math.Abs(float64(v))), square+float64(v)*float64(v)/n
		}
		if bound := 1 / math.Sqrt(f); most > bound || most < bound*(1-10/n) || n > 100 && math.Abs(3*f*square-1) > 5/math.Sqrt(n) {
			t.Errorf("%s: at most %v, mean square %v; want ±%v, %v", p.Name, most, square, bound, 1/(3*f))
		}
		w = w[p.Size():]
	}
	if fed.Task.Name != "MLP-200, uniform start" {
		t.Errorf("the model is called %q", fed.Task.Name)
	}
	for name, of := range map[string]fedkit.Model{"of = nil": nil, "parameter = embedding": model.GRU(4, 2, 3)} {
		refused(t, sequences(4, 5, 4), model.UniformInit(of), "model.UniformInit: "+name)
	}
}

package fedkit

import (
	"context"
	"fmt"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/holdings"
	"gonum.org/v1/gonum/mat"
)

// Features returns the outputs of a layer for each client's own examples of a part, by client: Outputs [n_i, f], flattened, with
// Labels or Targets. Each client has its row of models [n, d], or all have the one in models [1, d]. Package model names the layers
// of its models as their parameters: "dense1" is the output of that layer after ReLU, and the last layer's are the model's outputs.
// Your own models name theirs by NameLayer. An empty name stands for Task.Features, the input of the last layer.
//
// It adds nothing to the round's bytes or its clock. After an error, there are no Predictions.
func (r *Round) Features(models *Matrix, layer string, part datasets.Part, clients []int) []Predictions {
	defer r.restoreStage(r.stage)
	if !r.enter("features") {
		return nil
	}
	err := r.Fed.checkOwn(part, clients)
	if n := models.Rows(); err == nil && n > 1 && n != len(clients) {
		err = Invalid("models", fmt.Sprintf("[%d, %d]", n, models.Cols()), fmt.Sprintf("[1, d] or [%d, d], one per client", len(clients)))
	}
	if err != nil {
		r.Fail(err)
		return nil
	}
	own := r.Fed.ownRows(part, clients)
	v := engine.Evaluation{Part: part, Rows: slices.Concat(own...), Outputs: true, Inner: true, Layer: layer}
	for i := range own {
		if models.Rows() > 1 {
			v.Which = append(v.Which, slices.Repeat([]int{i}, len(own[i]))...)
		}
	}
	s, err := r.Fed.scores(r.ctx, models, v, r.on)
	if err != nil {
		r.Fail(err)
		return nil
	}
	all, outputs := make([]Predictions, len(own)), s.Outputs[0]
	for i, rows := range own {
		all[i] = r.Fed.predictions(part, rows, outputs[:len(rows):len(rows)])
		outputs = outputs[len(rows):]
	}
	return all
}

// Features is Round.Features outside of a run.
func (f *Federation) Features(ctx context.Context, models *Matrix, layer string, part datasets.Part, clients []int) (p []Predictions, err error) {
	defer within("", &err)
	defer fault.Recovered("features", &err)
	if err := f.ready(ctx); err != nil {
		return nil, err
	}
	r := &Round{Fed: f, ctx: ctx, on: engine.Here(0)}
	if p = r.Features(models, layer, part, clients); r.err != nil {
		return nil, r.err
	}
	return p, nil
}

// Rows returns the inputs of a client's own examples of a part, [n_i, features], in the order of its rows.
func (f *Federation) Rows(client int, part datasets.Part) (_ *mat.Dense, err error) {
	defer within("rows: ", &err)
	if err := f.made(); err != nil {
		return nil, err
	}
	if err := f.checkOwn(part, []int{client}); err != nil {
		return nil, err
	}
	rows, split := holdings.Of(f.Clients[client], part), f.Data.Part(part)
	if len(rows) == 0 {
		return nil, Invalid("client", client, "one that has examples of this part")
	}
	m, row := mat.NewDense(len(rows), f.Data.Features(), nil), make([]float32, f.Data.Features())
	for i, at := range rows {
		for j, v := range split.Row(at, row) {
			m.Set(i, j, float64(v))
		}
	}
	return m, nil
}

package fedkit

import (
	"context"
	"fmt"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/clientdata"
	"fedkit.example/fedkit/internal/engine"
	"gonum.org/v1/gonum/mat"
)

// Features returns the outputs of a layer for each client's own examples of a part, by client: Outputs [n_i, f], flattened, with
// Labels or Targets. Each client has its row of models [n, d], or all have the one in models [1, d]. Package model names the layers
// of its models as their parameters: "dense1" is the output of that layer after ReLU, and the last layer's are the model's outputs.
// Your own models name theirs by NameLayer. An empty name stands for Task.Features, the input of the last layer.
//
// It adds nothing to the round's bytes or its clock. After an error, there are no Predictions.
func (r *Round) Features(models *Matrix, layer string, part datasets.Part, clients []int) (all []Predictions) {
	r.in("features", func() error {
		if err := r.Fed.checkOwn(part, clients); err != nil {
			return err
		}
		if n := models.Rows(); n > 1 && n != len(clients) {
			return Invalid("models", fmt.Sprintf("[%d, %d]", n, models.Cols()), fmt.Sprintf("[1, d] or [%d, d], one per client", len(clients)))
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
			return err
		}
		for outputs := s.Outputs[0]; len(all) < len(own); {
			rows := own[len(all)]
			all = append(all, r.Fed.predictions(part, rows, outputs[:len(rows):len(rows)]))
			outputs = outputs[len(rows):]
		}
		return nil
	})
	return all
}

// Features is Round.Features outside of a run.
func (f *Federation) Features(ctx context.Context, models *Matrix, layer string, part datasets.Part, clients []int) (p []Predictions, err error) {
	err = f.alone(ctx, "features", 0, func(r *Round) { p = r.Features(models, layer, part, clients) })
	return p, err
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
	rows, split := clientdata.Of(f.Clients[client], part), f.Data.Part(part)
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

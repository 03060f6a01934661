package fedkit

import (
	"context"
	"fmt"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/clientdata"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/measure"
	"fedkit.example/fedkit/internal/rows"
	"gonum.org/v1/gonum/floats"
)

// Predictions are a model's outputs for n examples, with their labels or targets. Fields and methods: go doc internal/measure.Predictions
type Predictions = measure.Predictions

// Metric is a figure that a run records at every evaluation, beside loss and accuracy or, of real values, R², RMSE and MAE: of the
// global model on the whole test part, and of each client's model on the client's own test examples; the same on validation rows, if
// there are any. See package metric; metric.Func makes one from a function.
type Metric interface {
	// String returns the name in records.
	String() string
	// Measure returns the figure, NaN if it is not defined for these examples. It may change p, which is a copy.
	Measure(p *Predictions) float64
}

// WeightedMetric is a metric of some of the examples, or of parts of them: the recall of a class, say. Without this interface, a
// mean over clients weights a client's figure by all its examples.
type WeightedMetric interface {
	Metric
	// Weight returns the weight of the figure in means over clients, ≥ 0: how many examples, positions or tags it is of, its
	// denominator. It must not change p, which Measure gets next.
	Weight(p *Predictions) float64
}

// Predict returns the Predictions of each of the models [k, d] for rows of a part of the data, in their order. Nil rows stand for
// all; of the validation part, these are the clients', one client after the other. The device works on one block at a time; only
// the result, k·n·classes numbers, grows with the rows. After a run, models are in the strategy's State:
//
//	p, err := fed.Predict(ctx, avg.State.X, datasets.TestPart, nil)
func (f *Federation) Predict(ctx context.Context, models *Matrix, part datasets.Part, rows []int) (p []Predictions, err error) {
	defer within("predict: ", &err)
	if err := f.ready(ctx); err != nil {
		return nil, err
	}
	return f.predict(ctx, models, part, rows, defaultDevice())
}

// Predict is Federation.Predict in a round, for distillation, say. It adds nothing to the round's bytes: it may run on the server.
// After an error, the Predictions are empty.
func (r *Round) Predict(models *Matrix, part datasets.Part, rows []int) (p []Predictions) {
	if !r.in("predict", func() (err error) {
		p, err = r.Fed.predict(r.ctx, models, part, rows, r.on)
		return err
	}) {
		return make([]Predictions, max(1, models.Rows()))
	}
	return p
}

func (f *Federation) predict(ctx context.Context, models *Matrix, part datasets.Part, rows []int, on engine.Device) ([]Predictions, error) {
	rows, err := f.checkRows(part, rows)
	if err != nil {
		return nil, err
	}
	s, err := f.scores(ctx, models, engine.Evaluation{Part: part, Rows: rows, Outputs: true}, on)
	if err != nil {
		return nil, err
	}
	all := make([]Predictions, models.Rows())
	for j := range all {
		all[j] = f.predictions(part, rows, s.Outputs[j])
	}
	return all, nil
}

// predictions combines outputs with the labels or targets of their rows.
func (f *Federation) predictions(part datasets.Part, rows []int, outputs [][]float32) Predictions {
	p := Predictions{Outputs: outputs}
	p.Labels, p.Targets = f.Data.Part(part).Truth(rows)
	if shape := f.Data.Outputs(); len(shape) == 2 {
		p.Outputs = nil
		for _, out := range outputs {
			p.Outputs = slices.AppendSeq(p.Outputs, slices.Chunk(out, max(1, len(out)/shape[0])))
		}
	}
	return p
}

// Losses returns the mean loss of every model [k, d] on each client's own examples of a part, [k][n]; NaN if it has none.
// On the training part, as for choosing a cluster, and on the validation part, all k models are sent to each of the clients. On
// the test part it is an evaluation, which costs no bytes. On a simulated clock the server waits for the losses.
func (r *Round) Losses(models *Matrix, part datasets.Part, clients []int) [][]float64 {
	loss, end := r.compare(models, part, clients)
	if c := r.time(); c != nil && r.err == nil {
		c.Now = max(c.Now, end)
	}
	return loss
}

// ExampleLosses returns the loss of every model [k, d] on each of a client's own examples of a part: by client, [k, n_i], with the
// examples in the order of the client's rows. They are for weights that stay with the client: as in LowestLoss, all k models are
// sent to each of the clients, but the server does not wait. After an error, the losses are 0.
func (r *Round) ExampleLosses(models *Matrix, part datasets.Part, clients []int) [][][]float32 {
	losses := make([][][]float32, len(clients))
	s, _ := r.ask(models, part, clients)
	for i, own := range r.Fed.ownRows(part, clients) {
		losses[i] = make([][]float32, max(1, models.Rows()))
		for j := range losses[i] {
			losses[i][j] = make([]float32, len(own))
			if s != nil {
				copy(losses[i][j], s.Loss[j])
				s.Loss[j] = s.Loss[j][len(own):]
			}
		}
	}
	return losses
}

// compare also returns when the last client has its losses, 0 if this takes no time.
func (r *Round) compare(models *Matrix, part datasets.Part, clients []int) (loss [][]float64, end float64) {
	loss = make([][]float64, max(1, models.Rows()))
	for j := range loss {
		loss[j] = make([]float64, len(clients))
	}
	s, end := r.ask(models, part, clients)
	if s == nil {
		return loss, 0
	}
	at := sequence(len(s.Loss[0]))
	for i, own := range r.Fed.ownRows(part, clients) {
		for j := range loss {
			loss[j][i], _ = s.Mean(j, at[:len(own)])
		}
		at = at[len(own):]
	}
	return loss, end
}

// ask scores all models on the clients' own examples, one client after the other, and returns when the last client is done, 0 if
// this takes no time. After an error, the scores are nil.
func (r *Round) ask(models *Matrix, part datasets.Part, clients []int) (s *engine.Scores, end float64) {
	r.in("losses", func() error {
		err := r.Fed.checkOwn(part, clients)
		if err == nil {
			s, err = r.Fed.scores(r.ctx, models, engine.Evaluation{Part: part, Rows: slices.Concat(r.Fed.ownRows(part, clients)...)}, r.on)
		}
		if err != nil || part == datasets.TestPart {
			return err
		}
		r.Traffic(float64(len(clients)*models.Rows()), 0)
		if c := r.time(); c != nil {
			for _, i := range clients {
				bytes, examples := models.Rows()*r.Fed.Task.Bytes(), models.Rows()*len(clientdata.Of(r.Fed.Clients[i], part))
				end = max(end, c.Score(i, float64(bytes)+r.base(i, 1), float64(examples)))
			}
		}
		r.sendBases(clients, 1)
		return nil
	})
	return s, end
}

// LowestLoss returns, for each client, the row of models [k, d] with the lowest loss on its training examples, the first of ties.
// As in Losses, all k models are sent to each of the clients, but the server does not wait: a client trains next.
func (r *Round) LowestLoss(models *Matrix, clients []int) []int {
	loss, _ := r.compare(models, datasets.TrainPart, clients)
	if r.err != nil {
		return make([]int, len(clients))
	}
	return lowest(loss)
}

// lowest returns the argmin of each column of loss [k][n], the first of ties.
func lowest(loss [][]float64) []int {
	best, column := make([]int, len(loss[0])), make([]float64, len(loss))
	for i := range best {
		for j := range loss {
			column[j] = loss[j][i]
		}
		best[i] = floats.MinIdx(column)
	}
	return best
}

// checkOwn refuses a part or clients that do not exist.
func (f *Federation) checkOwn(part datasets.Part, clients []int) error {
	if err := f.checkPart(part); err != nil {
		return err
	}
	if len(clients) == 0 {
		return Invalid("clients", "[]", "at least one client")
	}
	for _, c := range clients {
		if c < 0 || c >= f.Size() {
			return Invalid("clients", c, fmt.Sprintf("in [0, %d)", f.Size()))
		}
	}
	return nil
}

// scores evaluates models [k, d] with the options of v.
func (f *Federation) scores(ctx context.Context, models *Matrix, v engine.Evaluation, on engine.Device) (*engine.Scores, error) {
	if err := rows.CheckCols(models, "models", f.Task.Dim()); err != nil {
		return nil, err
	}
	e, err := f.engine()
	if err != nil {
		return nil, err
	}
	if v.Models, err = rows.Tensor(models); err != nil {
		return nil, err
	}
	if v.Part == datasets.ValidationPart { // the engine has them among the training rows
		v.Part = datasets.TrainPart
	}
	return e.Evaluate(ctx, &v, on)
}

// ownRows returns the rows of a part that each client holds, none for one that does not exist.
func (f *Federation) ownRows(part datasets.Part, clients []int) [][]int {
	rows := make([][]int, len(clients))
	for i, c := range clients {
		if c >= 0 && c < f.Size() {
			rows[i] = clientdata.Of(f.Clients[c], part)
		}
	}
	return rows
}

func (f *Federation) checkPart(part datasets.Part) error {
	switch part {
	case datasets.TrainPart, datasets.TestPart:
		return nil
	case datasets.ValidationPart:
		return f.NeedsValidation()
	}
	return Invalid("part", int(part), "datasets.TrainPart, datasets.ValidationPart or datasets.TestPart")
}

// partRows returns the rows of a part that clients may hold, of the validation part those that they do.
func (f *Federation) partRows(part datasets.Part) (rows []int) {
	if part != datasets.ValidationPart {
		return sequence(f.Data.Part(part).Len())
	}
	for _, c := range f.Clients {
		rows = append(rows, c.Validation...)
	}
	return rows
}

// checkRows returns the rows, all if they are nil.
func (f *Federation) checkRows(part datasets.Part, rows []int) ([]int, error) {
	if err := f.checkPart(part); err != nil {
		return nil, err
	}
	n := f.Data.Part(part).Len()
	if rows == nil {
		return f.partRows(part), nil
	}
	if len(rows) == 0 {
		return nil, Invalid("rows", "[]", "at least one row, or nil for all")
	}
	for _, row := range rows {
		if row < 0 || row >= n {
			return nil, Invalid("rows", row, fmt.Sprintf("in [0, %d)", n))
		}
	}
	return rows, nil
}

// ofValues reports whether the data are of real values: every evaluation then records R², RMSE and MAE.
func (f *Federation) ofValues() bool { return f.Data.Classes == 0 && !f.Data.Tags }

package engine

import (
	"context"
	"fmt"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/memory"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Evaluation requests the loss and accuracy of models on examples, and their outputs if wanted.
type Evaluation struct {
	Models  *tensors.Tensor // [k, d]
	Part    datasets.Part
	Rows    []int // examples
	Which   []int // by example, the model to score; nil: every model on every example
	Outputs bool
	Inner   bool   // the outputs are those of a layer, by Task.Layer
	Layer   string // its name

	// Weights mixes the models' predictions, instead of Which: by example, the weight of every model, ≥ 0. Of classes, it mixes
	// probabilities, and the logarithm of the mixture takes the place of a model's outputs.
	Weights [][]float64
}

// models returns k.
func (v *Evaluation) models() int { return v.Models.Shape().Dimensions[0] }

// Scores has an entry for each model scored ([k], or [1] if Evaluation.Which or Weights is given) and each example.
type Scores struct {
	Loss, Accuracy [][]float32
	Outputs        [][][]float32 // the model's outputs for the example, flattened; nil if not wanted
}

// Mean returns the mean loss and accuracy of a model over the examples at the given positions, NaN if there are none.
func (s *Scores) Mean(model int, at []int) (loss, accuracy float64) {
	for _, j := range at {
		loss += float64(s.Loss[model][j])
		accuracy += float64(s.Accuracy[model][j])
	}
	n := float64(len(at))
	return loss / n, accuracy / n
}

func newScores(v *Evaluation) *Scores {
	models, n := 1, len(v.Rows)
	if v.Which == nil && v.Weights == nil {
		models = v.models()
	}
	s := &Scores{}
	for range models {
		s.Loss, s.Accuracy = append(s.Loss, make([]float32, n)), append(s.Accuracy, make([]float32, n))
		if v.Outputs {
			s.Outputs = append(s.Outputs, make([][]float32, n))
		}
	}
	return s
}

// evaluator is the design of an evaluation program: parallel blocks, and examples per block. If shared, all blocks have the same
// examples, under different models. If mixed, they are, and their predictions are mixed.
type evaluator struct {
	part             datasets.Part
	blocks, examples int
	shared, mixed    bool
	outputs, inner   bool
	layer            string
}

const (
	blockOfFew = 32 // examples per block, if every client has its own model
	fewBlocks  = 32 // blocks per program at most, if every client has its own model
	manyModels = 8  // models per program at most, if all are scored on the same examples

	modelsPerBlock = 3 // the row of a model, the parameters cut from it, and what products of matrices make of them
)

// Blocks lists the block sizes.
func Blocks() []int { return []int{blockOfFew, ownWidth().Block} }

// Evaluate scores models on examples. Examples run in blocks of a fixed size, so their number does not recompile.
func (e *Engine) Evaluate(ctx context.Context, v *Evaluation, on Device) (*Scores, error) {
	many := e.block()
	byModel := map[int][]int{} // examples to score, by position in v.Rows
	for j, m := range v.Which {
		byModel[m] = append(byModel[m], j)
	}
	k := evaluator{part: v.Part, examples: many, blocks: 1, outputs: v.Outputs, inner: v.Inner, layer: v.Layer}
	if len(v.Rows) < many/4*len(byModel) {
		k.examples = blockOfFew
	}
	if v.Weights != nil {
		k.shared, k.mixed, k.blocks = true, true, v.models()
	} else if e.parallel() {
		if k.shared = v.Which == nil && v.models() > 1; k.shared {
			k.blocks = share(v.models(), e.blocks(manyModels, 0))
		} else if k.examples == blockOfFew {
			k.blocks = e.blocks(fewBlocks, blockOfFew)
		}
	}
	if !on.Remote() {
		what := fmt.Sprintf("%d of %d parameters, with copies,", k.blocks, e.task.Dim())
		if err := memory.Fits("models evaluated side by side", k.blocks, float64(k.blocks), float64(k.blocks)*float64(e.lane(modelsPerBlock, 0)), what); err != nil {
			return nil, err
		}
	}
	out := newScores(v)
	calls := k.calls(v, byModel)
	err := parallel(ctx, on.Concurrency(), len(calls), func(c int) error { return e.evaluate(ctx, on, k, v, calls[c], out, c == 0) })
	return out, err
}

// block returns the number of examples per program, if each model has many.
func (e *Engine) block() int {
	n := e.width.Block
	for e.width.Intermediates > 0 && n > blockOfFew && 4*manyModels*float64(n)*e.work().Values > float64(e.width.Memory) {
		n /= 2
	}
	return n
}

// blocks returns how many blocks, each with a model and examples of its own, one program evaluates: at most most, and at least one, as
// there is room for in a quarter of what training may take, and in a sixteenth of what was free. No score depends on it. It stays the
// same while a federation is used, so that nothing is compiled again.
func (e *Engine) blocks(most, examples int) int {
	budget := min(float64(e.width.Memory)/4, e.free/16)
	return max(1, min(most, int(budget)/e.lane(modelsPerBlock, examples)))
}

// parallel reports whether a program gains from evaluating several models side by side.
func (e *Engine) parallel() bool { return e.task.Variables == nil && e.work().Convolutions == 0 }

// block fills one slot of a program: positions of at most k.examples examples, and the model to score.
type block struct {
	model int32
	at    []int
}

// calls arranges the examples in blocks, k.blocks per call. Shared calls repeat the positions for every model.
func (k evaluator) calls(v *Evaluation, byModel map[int][]int) (calls [][]block) {
	var open []block
	end := func() {
		if open != nil {
			calls, open = append(calls, open), nil
		}
	}
	add := func(m int, at []int) {
		if open = append(open, block{int32(m), at}); len(open) == k.blocks {
			end()
		}
	}
	if v.Which == nil {
		for at := range slices.Chunk(Sequence(len(v.Rows)), k.examples) {
			for m := range v.models() {
				add(m, at)
			}
			if k.shared { // other examples need another call
				end()
			}
		}
	}
	for m := range v.models() {
		for at := range slices.Chunk(byModel[m], k.examples) {
			add(m, at)
		}
	}
	end()
	return calls
}

// evaluate makes one of the calls, the first or another one, and stores its results in out.
func (e *Engine) evaluate(ctx context.Context, on Device, k evaluator, v *Evaluation, call []block, out *Scores, first bool) error {
	lists := k.blocks
	if k.shared {
		lists = 1
	}
	rows, which := make([]int32, lists*k.examples), make([]int32, k.blocks)
	for b, blk := range call {
		which[b] = blk.model
		if b < lists {
			for j, position := range blk.at {
				rows[b*k.examples+j] = int32(v.Rows[position])
			}
		}
	}
	data, models := e.held[v.Part], any(v.Models)
	if on.Remote() && v.models() > k.blocks {
		at := make([]int, k.blocks)
		for b := range which {
			at[b], which[b] = int(which[b]), int32(b)
		}
		models = Rows{v.Models, at}
	}
	inputs := []input{
		{"features", data.features}, {"labels", data.labels},
		{"rows", tensors.FromFlatDataAndDimensions(rows, lists, k.examples)}, {"which", which}, {"models", models},
	}
	if k.mixed {
		inputs = append(inputs, input{"weights", k.weights(v, call[0].at)})
		call = call[:1] // which has the mixture's results
	}
	results, err := e.run(ctx, on, k, inputs)
	if err != nil {
		return err
	}
	figures, err := hosts(results) // losses, accuracies and, if wanted, outputs
	if err == nil && first {
		err = e.once(k, func() (bool, error) { return e.examplesApart(ctx, on, k, inputs, rows, figures) })
	}
	if err != nil {
		return err
	}
	for b, blk := range call {
		row := 0
		if v.Which == nil && !k.mixed {
			row = int(blk.model)
		}
		for j, position := range blk.at {
			out.set(row, position, figures, b*k.examples+j)
		}
	}
	return nil
}

// weights returns the models' weights in a block of examples, [k, examples].
func (k evaluator) weights(v *Evaluation, at []int) *tensors.Tensor {
	weights := make([]float32, k.blocks*k.examples)
	for j, position := range at {
		for m, weight := range v.Weights[position] {
			weights[m*k.examples+j] = float32(weight)
		}
	}
	return tensors.FromFlatDataAndDimensions(weights, k.blocks, k.examples)
}

// set stores a program's results for its at-th example.
func (s *Scores) set(model, position int, results [][]float32, at int) {
	s.Loss[model][position], s.Accuracy[model][position] = results[0][at], results[1][at]
	if s.Outputs != nil {
		width := len(results[2]) / len(results[0])
		s.Outputs[model][position] = slices.Clone(results[2][at*width : (at+1)*width])
	}
}

func (k evaluator) name(task *Task) string {
	name := fmt.Sprintf("evaluate %s, %d × %d examples", task.Name, k.blocks, k.examples)
	if k.mixed {
		name += ", mixed"
	}
	if k.outputs {
		name += ", with outputs"
	}
	return name
}

func (k evaluator) build(e *Engine, in nodes) []*graph.Node {
	p := e.task.Split(graph.Gather(in["models"], graph.InsertAxes(in["which"], -1)))
	x, labels := examples(e.data, k.part, in, in["rows"])
	var out *graph.Node
	if k.mixed {
		out = mixture(e.outputs(p, x), in["weights"], e.data)
	} else {
		out = e.task.Forward(p, x)
	}
	results := []*graph.Node{e.task.Loss(out, labels), e.task.Accuracy(out, labels)}
	if k.inner {
		out = e.task.Layer(k.layer, p, x)
	}
	if k.outputs {
		results = append(results, graph.Reshape(out, out.Shape().Dim(0), k.examples, -1))
	}
	return results
}

// outputs returns the outputs of several models for the same examples, [k, B, …].
func (e *Engine) outputs(p []*graph.Node, x *graph.Node) *graph.Node {
	if e.parallel() {
		return e.task.Forward(p, x)
	}
	var all []*graph.Node
	for m := range p[0].Shape().Dim(0) {
		one := make([]*graph.Node, len(p))
		for l := range p {
			one[l] = graph.SliceAxis(p[l], 0, graph.AxisElem(m))
		}
		all = append(all, e.task.Forward(one, x))
	}
	return graph.Concatenate(all, 0)
}

// mixture mixes outputs [k, B, …] with weights [k, B], into [1, B, …]: Σ_k w_k out_k; of classes log Σ_k w_k softmax(out_k); of tags the
// log odds of Σ_k w_k σ(out_k).
func mixture(out, weights *graph.Node, data *datasets.Dataset) *graph.Node {
	for weights.Rank() < out.Rank() {
		weights = graph.InsertAxes(weights, -1)
	}
	mean := func(log *graph.Node) *graph.Node { // log Σ_k w_k exp(log_k)
		log = graph.Add(log, graph.Log(weights))
		most := graph.ReduceAndKeep(log, graph.ReduceMax, 0)
		return graph.Add(graph.Log(graph.ReduceAndKeep(graph.Exp(graph.Sub(log, most)), graph.ReduceSum, 0)), most)
	}
	switch {
	case data.Classes > 0:
		return mean(graph.LogSoftmax(out, -1))
	case data.Tags:
		return graph.Sub(mean(logSigmoid(out)), mean(logSigmoid(graph.Neg(out))))
	}
	return graph.ReduceAndKeep(graph.Mul(out, weights), graph.ReduceSum, 0)
}

// logSigmoid is log σ(x), also where σ(x) is 0 in float32.
func logSigmoid(x *graph.Node) *graph.Node {
	return graph.Sub(graph.MinScalar(x, 0), graph.Log1P(graph.Exp(graph.Neg(graph.Abs(x)))))
}

package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Evaluation asks for the loss and the accuracy of models on examples.
type Evaluation struct {
	Models *tensors.Tensor // [k, d]
	Part   Part
	Rows   []int // examples
	Which  []int // by example, the model to score; nil: every model on every example
}

// models returns k.
func (v *Evaluation) models() int { return v.Models.Shape().Dimensions[0] }

// Scores has an entry for each model scored ([k], or [1] if Evaluation.Which is given) and each example.
type Scores struct {
	Loss, Accuracy [][]float32
}

// Mean returns the mean loss and accuracy of a model over the examples from, from+1, …, from+n−1.
func (s *Scores) Mean(model, from, n int) (loss, accuracy float64) {
	for j := from; j < from+n; j++ {
		loss += float64(s.Loss[model][j])
		accuracy += float64(s.Accuracy[model][j])
	}
	return loss / float64(n), accuracy / float64(n)
}

// evaluator is the design of an evaluation: blocks of examples side by side, and examples per block. If shared, all
// blocks are the same examples under different models.
type evaluator struct {
	part             Part
	blocks, examples int
	shared           bool
}

const (
	blockOfMany = 1024 // examples per program, if each model has many
	blockOfFew  = 32   // examples per block, if every client has its own model
	fewBlocks   = 32   // blocks per program, likewise
)

// Evaluate scores models on examples. They run in blocks of one size, however many there are, so nothing recompiles.
func (e *Engine) Evaluate(ctx context.Context, v *Evaluation, workers int) (*Scores, error) {
	groups, size := v.groups()
	k := evaluator{part: v.Part, examples: size, blocks: 1}
	if e.task.Variables == nil {
		if k.shared = v.Which == nil && v.models() > 1; k.shared {
			k.blocks = v.models()
		} else if size == blockOfFew {
			k.blocks = fewBlocks
		}
	}
	out := &Scores{}
	for range max(1, len(groups[0].models)) {
		out.Loss = append(out.Loss, make([]float32, len(v.Rows)))
		out.Accuracy = append(out.Accuracy, make([]float32, len(v.Rows)))
	}
	calls := k.calls(groups)
	err := parallel(ctx, workers, len(calls), func(c int) error { return e.evaluate(k, v, calls[c], out) })
	return out, err
}

// group is examples (by position in Evaluation.Rows) to score with the same models.
type group struct {
	models []int32
	at     []int
}

// groups returns the groups, examples of the same model together, and a suitable block size.
func (v *Evaluation) groups() ([]group, int) {
	if v.Which == nil {
		g := group{models: make([]int32, v.models()), at: make([]int, len(v.Rows))}
		for j := range g.models {
			g.models[j] = int32(j)
		}
		for j := range g.at {
			g.at[j] = j
		}
		return []group{g}, blockOfMany
	}
	byModel := map[int][]int{}
	for j, m := range v.Which {
		byModel[m] = append(byModel[m], j)
	}
	size := blockOfMany
	if len(v.Rows) < blockOfMany/4*len(byModel) {
		size = blockOfFew
	}
	var groups []group
	for m := range v.models() {
		if at := byModel[m]; at != nil {
			groups = append(groups, group{models: []int32{int32(m)}, at: at})
		}
	}
	return groups, size
}

// block fills one slot of a program: positions of examples, at most one block's worth, and the model to score.
type block struct {
	model int32
	at    []int
}

// calls lays the groups out in blocks, k.blocks per call. Shared calls repeat the positions for every model.
func (k evaluator) calls(groups []group) (calls [][]block) {
	var open []block
	for _, g := range groups {
		for at := range slices.Chunk(g.at, k.examples) {
			for _, m := range g.models {
				if open = append(open, block{m, at}); len(open) == k.blocks {
					calls, open = append(calls, open), nil
				}
			}
		}
	}
	if open != nil {
		calls = append(calls, open)
	}
	return calls
}

// evaluate makes one call and stores its results in out.
func (e *Engine) evaluate(k evaluator, v *Evaluation, call []block, out *Scores) error {
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
	data := e.held[v.Part]
	results, err := e.run(k, values{
		"features": data.features, "labels": data.labels,
		"rows": tensors.FromFlatDataAndDimensions(rows, lists, k.examples), "which": which, "models": v.Models,
	})
	if err != nil {
		return err
	}
	loss, accuracy, err := figures(results)
	if err != nil {
		return err
	}
	for b, blk := range call {
		row := 0
		if v.Which == nil {
			row = int(blk.model)
		}
		for j, position := range blk.at {
			out.Loss[row][position], out.Accuracy[row][position] = loss[b*k.examples+j], accuracy[b*k.examples+j]
		}
	}
	return nil
}

func (k evaluator) name(task *Task) string {
	return fmt.Sprintf("evaluate %s, %d × %d examples", task.Name, k.blocks, k.examples)
}

func (evaluator) inputs() []string { return []string{"features", "labels", "rows", "which", "models"} }

func (k evaluator) build(e *Engine, in nodes) []*graph.Node {
	p := e.task.Split(graph.Gather(in["models"], graph.InsertAxes(in["which"], -1)))
	x, labels := examples(e.data, k.part, in, in["rows"])
	out := e.task.Forward(p, x)
	return []*graph.Node{e.task.Loss(out, labels), e.task.Accuracy(out, labels)}
}

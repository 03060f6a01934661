package fedkit

import (
	"context"
	"fmt"
	"slices"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// evaluator is what a compiled evaluation depends on: blocks of examples side by side, and examples in a block. If
// shared, all blocks are the same examples under different models.
type evaluator struct {
	part             Part
	blocks, examples int
	shared           bool
	models           int
}

const (
	blockOfMany = 1024 // examples a program, where many go to one model
	blockOfFew  = 32   // examples a block, where every client has a model of its own
	fewBlocks   = 32   // blocks a program, likewise
)

// Mark implements Engine. Whatever the number of examples, they go through in blocks of one size: nothing recompiles.
func (e *local) Mark(ctx context.Context, exam Exam) (*Marks, error) {
	if err := exam.check(e.fed); err != nil {
		return nil, err
	}
	if exam.Which == nil {
		all := make([]int32, exam.Models.Rows())
		for j := range all {
			all[j] = int32(j)
		}
		return e.mark(ctx, exam, []group{{models: all, at: sequence(len(exam.Rows))}}, blockOfMany)
	}
	// Examples of the same model go together.
	byModel := map[int][]int{}
	for j, m := range exam.Which {
		byModel[m] = append(byModel[m], j)
	}
	size := blockOfMany
	if len(exam.Rows) < blockOfMany/4*len(byModel) {
		size = blockOfFew
	}
	var groups []group
	for m := range exam.Models.Rows() {
		if at := byModel[m]; at != nil {
			groups = append(groups, group{models: []int32{int32(m)}, at: at})
		}
	}
	return e.mark(ctx, exam, groups, size)
}

// group is examples (by position in Exam.Rows) that go to the same models.
type group struct {
	models []int32
	at     []int
}

// block is what fills one place of a program: at most examples positions and the model that is asked.
type block struct {
	model int32
	at    []int
}

func (e *local) mark(ctx context.Context, exam Exam, groups []group, size int) (*Marks, error) {
	key := evaluator{part: exam.Part, examples: size, blocks: 1, models: exam.Models.Rows()}
	if e.fed.Task.Store == nil {
		if key.shared = exam.Which == nil && len(groups[0].models) > 1; key.shared {
			key.blocks = len(groups[0].models)
		} else if size == blockOfFew {
			key.blocks = fewBlocks
		}
	}
	out := &Marks{}
	for range max(1, len(groups[0].models)) {
		out.Loss = append(out.Loss, make([]float32, len(exam.Rows)))
		out.Score = append(out.Score, make([]float32, len(exam.Rows)))
	}
	// The calls: each has key.blocks blocks. Shared ones repeat the positions for every model.
	var calls [][]block
	var open []block
	for _, g := range groups {
		for at := range slices.Chunk(g.at, size) {
			for _, m := range g.models {
				if open = append(open, block{m, at}); len(open) == key.blocks {
					calls, open = append(calls, open), nil
				}
			}
		}
	}
	if open != nil {
		calls = append(calls, open)
	}
	prog := e.program(key, func() *Program { return e.compileMarks(key) })
	err := parallel(ctx, e.workers, len(calls), func(c int) error {
		lists := calls[c]
		if key.shared {
			lists = lists[:1]
		}
		rows := make([]int32, size*key.rowLists())
		for b, blk := range lists {
			for j, pos := range blk.at {
				rows[b*size+j] = int32(exam.Rows[pos])
			}
		}
		which := make([]int32, key.blocks)
		for b, blk := range calls[c] {
			which[b] = blk.model
		}
		res, err := run(prog, []any{e.data[exam.Part][0], e.data[exam.Part][1],
			tensors.FromFlatDataAndDimensions(rows, key.rowLists(), size), which, exam.Models})
		if err != nil {
			return err
		}
		loss, err := xla.Host(res[0])
		if err != nil {
			return err
		}
		score, err := xla.Host(res[1])
		if err != nil {
			return err
		}
		xla.Free(res...)
		for b, blk := range calls[c] {
			row := 0
			if exam.Which == nil {
				row = int(blk.model)
			}
			for j, pos := range blk.at {
				out.Loss[row][pos], out.Score[row][pos] = loss[b*size+j], score[b*size+j]
			}
		}
		return nil
	})
	return out, err
}

func (k evaluator) rowLists() int {
	if k.shared {
		return 1
	}
	return k.blocks
}

func (e *local) compileMarks(k evaluator) *Program {
	task, data := e.fed.Task, e.fed.Data
	p := xla.NewProgram(fmt.Sprintf("evaluate %s, %d × %d examples", task.Name, k.blocks, k.examples), func(in []*graph.Node) []*graph.Node {
		touchVariables(task, in[0].Graph())
		x, y, rows, which, models := in[0], in[1], in[2], in[3], in[4]
		p := task.split(graph.Gather(models, graph.InsertAxes(which, -1)))
		inputs, labels := examples(data, k.part, x, y, rows)
		out := task.Forward(p, inputs)
		return []*graph.Node{task.Loss(out, labels), task.Score(out, labels)}
	})
	return withVariables(p, task)
}

func (x *Exam) check(f *Federation) error {
	if err := x.Models.Err(); err != nil {
		return fmt.Errorf("exam: Models: %w", err)
	}
	if d := f.Task.Dim(); x.Models.Cols() != d {
		return Invalid("Exam.Models", fmt.Sprintf("[%d, %d]", x.Models.Rows(), x.Models.Cols()), fmt.Sprintf("[k, %d]", d))
	}
	if len(x.Rows) == 0 {
		return Invalid("Exam.Rows", "[]", "at least one example")
	}
	n := f.part(x.Part).Len()
	for _, r := range x.Rows {
		if r < 0 || r >= n {
			return Invalid("Exam.Rows", r, fmt.Sprintf("in [0, %d)", n))
		}
	}
	if x.Which != nil && len(x.Which) != len(x.Rows) {
		return Invalid("len(Exam.Which)", len(x.Which), fmt.Sprintf("%d, one an example", len(x.Rows)))
	}
	for _, m := range x.Which {
		if m < 0 || m >= x.Models.Rows() {
			return Invalid("Exam.Which", m, fmt.Sprintf("in [0, %d)", x.Models.Rows()))
		}
	}
	return nil
}

// sequence returns 0, 1, …, n−1.
func sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

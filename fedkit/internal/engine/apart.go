package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/tensors"
)

// A program has rows that only fill it up, and the examples of several clients or models side by side. So what a model computes for an
// example must not depend on the others in evaluation nor, in training, on other clients and on rows that do not count. The first call of
// each program shows whether it does: the program is run again with other rows, and the results of the rest must stay the same.

// once calls check for a program, until it has told something.
func (e *Engine) once(k design, check func() (told bool, err error)) error {
	if _, done := e.apart.LoadOrStore(k, true); done {
		return nil
	}
	told, err := check()
	if !told || err != nil {
		e.apart.Delete(k)
	}
	return err
}

// mixes is the error for a model whose results depend on what they must not.
func (e *Engine) mixes(what, from string) error {
	return fault.Invalid(fmt.Sprintf("model %s: %s", e.task.Name, what), "a result that depends on "+from,
		"computed for each example alone or, in training, from those of a client that Training.Used counts, since rows that do not count fill up batches; "+
			"instead of batch normalization or a mean over the batch, use model.BatchNorm, or layer or group normalization of each example, such as norm.LayerNorm")
}

// other returns the position of a row with other features than that at a position, −1 if there is none.
func (e *Engine) other(part datasets.Part, rows []int, at int) int {
	s := e.data.Part(part)
	x := s.Row(rows[at], nil)
	y := slices.Clone(x)
	for i := range rows {
		i = (at + len(rows)/2 + i) % len(rows)
		if !slices.Equal(x, s.Row(rows[i], y)) {
			return i
		}
	}
	return -1
}

// examplesApart changes one row in the middle of an evaluation's inputs, and compares the results for all others. The program is the same, so
// on a CPU nothing rounds differently; a GPU's library might transform two images at once. If that row's own results stay the same, as those
// of a model of zeros do, it tells nothing.
func (e *Engine) examplesApart(ctx context.Context, on Device, k evaluator, inputs []input, rows []int32, was [][]float32) (told bool, err error) {
	lists := len(rows) / k.examples
	at := lists/2*k.examples + k.examples/2
	row := e.other(k.part, Sequence(e.data.Part(k.part).Len()), int(rows[at]))
	if row < 0 {
		return true, nil
	}
	rows = slices.Clone(rows)
	rows[at] = int32(row)
	results, err := e.run(ctx, on, k, with(inputs, "rows", tensors.FromFlatDataAndDimensions(rows, lists, k.examples)))
	if err != nil {
		return false, err
	}
	slack := 0.0
	if on.Remote() || !xla.OnCPU() {
		slack = 1e-6
	}
	is, err := hosts(results)
	if err != nil {
		return false, err
	}
	for i := range is {
		width := len(is[i]) / len(is[0])
		for j, v := range is[i] {
			place := j / width
			switch {
			case !moved(v, was[i][j], slack):
			case place%len(rows) == at:
				told = true
			case place/k.examples%lists == at/k.examples:
				return true, e.mixes(k.result(i), "the other examples of its batch")
			default:
				return true, e.mixes(k.result(i), "the examples of other clients")
			}
		}
	}
	return told, nil
}

// result names the i-th result of the program.
func (k evaluator) result(i int) string {
	switch {
	case i == 0:
		return "an example's loss"
	case i == 1:
		return "an example's accuracy"
	case k.inner && k.layer == "":
		return "Task.Features"
	case k.inner:
		return "layer " + strconv.Quote(k.layer)
	}
	return "Task.Forward"
}

// moved reports whether two numbers are apart by more than a share of the larger, or just one of them is none.
func moved(a, b float32, slack float64) bool {
	x, y := float64(a), float64(b)
	return x != y && !(math.Abs(x-y) <= slack*math.Max(math.Abs(x), math.Abs(y))) && !(math.IsNaN(x) && math.IsNaN(y))
}

// clientsApart takes the first two steps of a job's first clients twice, in batches that are half padding: with other rows in the padding
// and, of several clients, in all of the first one's batches. What the others return must stay the same, up to rounding. One step from zeros
// might not show it; steps that diverge tell nothing.
func (e *Engine) clientsApart(ctx context.Context, on Device, job *Job, p *plan) (told bool, err error) {
	k, clients := p.design, p.busy(0)
	steps := min(2, k.steps)
	inputs := with(e.inputs(job, p, 0, on.Remote()), "last", int32(steps))
	batches, each := e.batches(job, p, clients), p.models()
	var figures [2][][]float32
	for other := range figures {
		now := slices.Clone(batches)
		for lane, i := range clients {
			for s := range steps {
				at := (s*k.lanes + lane) * k.batch
				e.halve(job, job.Clients[i], now[at:at+k.batch], other > 0, lane == 0 && k.lanes > 1)
			}
		}
		results, err := e.run(ctx, on, k, with(inputs, "batches", tensors.FromFlatDataAndDimensions(now, k.steps, k.lanes, k.batch)))
		if err != nil {
			return false, err
		}
		for i, v := range results {
			if i < each || i >= each+2 {
				v.Free()
			}
		}
		if figures[other], err = hosts(results[each : each+2]); err != nil {
			return false, err
		}
	}
	told = true
	for i, was := range figures[0] {
		for lane := min(1, k.lanes-1); lane < k.lanes; lane++ {
			a, b := was[lane], figures[1][i][lane]
			switch {
			case a-a != 0 || b-b != 0: // not finite, so that 0 times a row that does not count is not 0
				told = false
			case moved(a, b, 1e-5):
				step := "a client's training step"
				if job.Objective != nil {
					step += " with the job's Objective"
				}
				return true, e.mixes(step, "rows that only fill its batch, or on other clients")
			}
		}
	}
	return told, nil
}

// halve makes the second half of a client's batch padding, which is one of its rows or, if it is to be other, a different one; if all
// changes, the rest of the batch becomes that too.
func (e *Engine) halve(job *Job, client int, batch []int32, other, all bool) {
	at, rows := 0, e.rows[client]
	if other {
		at = max(0, e.other(datasets.TrainPart, rows, 0))
	}
	row := int32(rows[at])
	if len(job.PerExample) > 0 {
		row = int32(at)
	}
	used := len(batch)
	if i := slices.Index(batch, -1); i >= 0 {
		used = i
	}
	for i := range batch {
		if i >= (used+1)/2 {
			batch[i] = ^row
		} else if other && all {
			batch[i] = row
		}
	}
}

// with returns inputs with another value for a name.
func with(inputs []input, name string, value any) []input {
	inputs = slices.Clone(inputs)
	inputs[slices.IndexFunc(inputs, func(in input) bool { return in.name == name })].value = value
	return inputs
}

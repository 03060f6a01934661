package fedkit

import (
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
)

// width is how many clients one program trains side by side. More lanes make longer matrix products, without which a GPU
// has nothing to do; fewer waste less where clients differ in size, and take less memory.
type width struct {
	even   int // at most
	uneven int // at most, where the largest client has unevenFactor times the examples of the mean one
	memory int // bytes, for all lanes together
}

const unevenFactor = 1.5

var (
	cpuWidth = width{even: 16, uneven: 4, memory: 512 << 20}
	gpuWidth = width{even: 256, uneven: 64, memory: 4 << 30} // go-xla cannot say what a device has: half of a small card
)

// plan is how a job is laid out: which client of the job is in which lane (−1: the lane idles).
type plan struct {
	key   solver
	steps []int // by client of the job
	order []int // by lane, group after group
}

func (e *local) plan(job *Job) plan {
	l, task := job.Local, e.fed.Task
	most, total := 0, 0
	for _, c := range e.fed.Clients {
		most, total = max(most, len(c.Train)), total+len(c.Train)
	}
	k := solver{batch: min(l.Batch, most), opt: l.Optimizer}
	if l.Batch == FullBatch {
		k.batch = most
	}
	k.steps = l.steps(most, k.batch, l.Epochs)

	p := plan{steps: make([]int, len(job.Clients))}
	longest := 0
	for i, c := range job.Clients {
		epochs := l.Epochs
		if job.Epochs != nil {
			epochs = job.Epochs[i]
		}
		p.steps[i] = l.steps(len(e.fed.Clients[c].Train), k.batch, epochs)
		longest = max(longest, p.steps[i])
	}
	for k.steps < longest { // more epochs than usual: room in powers of two, so that few programs serve all
		k.steps *= 2
	}

	k.prox = l.Prox > 0 || job.Prox != nil
	k.proxWeights = k.prox && job.ProxWeights != nil
	k.anchor = k.prox && job.Anchor != nil
	k.shift, k.mask = job.Shift != nil, job.Mask != nil

	lanes := e.width.even
	if l.Steps == 0 && float64(most)*float64(len(e.fed.Clients)) > unevenFactor*float64(total) {
		lanes = e.width.uneven
	}
	perLane := 4 * (6*task.Dim() + 4*k.batch*e.fed.Data.Features())
	lanes = max(1, min(lanes, e.width.memory/perLane))
	if task.Store != nil {
		lanes = 1
	}
	n := len(job.Clients)
	groups := (n + lanes - 1) / lanes
	k.lanes = (n + groups - 1) / groups
	p.key = k

	// Clients with about the same number of steps share a program, the longest first.
	p.order = make([]int, n, groups*k.lanes)
	for i := range p.order {
		p.order[i] = i
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return p.steps[b] - p.steps[a] })
	for len(p.order) < groups*k.lanes {
		p.order = append(p.order, -1)
	}
	return p
}

// arguments are what group g of a plan is called with, in the order in which compile declares them.
func (e *local) arguments(job *Job, p plan, g int, seed uint64, round int) []any {
	k := p.key
	lanes := p.order[g*k.lanes : (g+1)*k.lanes]
	batches := make([]int32, k.steps*k.lanes*k.batch)
	for i := range batches {
		batches[i] = -1
	}
	steps, last := make([]int32, k.lanes), int32(0)
	rate, prox, rows := make([]float32, k.lanes), make([]float32, k.lanes), make([]int32, k.lanes)
	for lane, i := range lanes {
		if i < 0 {
			i = lanes[0] // what comes of it is not used, but counts with weight 0, and must be a number
		}
		c := job.Clients[i]
		steps[lane] = int32(p.steps[i])
		last = max(last, steps[lane])
		rows[lane] = int32(i)
		rate[lane] = float32(job.Local.LR)
		prox[lane] = float32(job.Local.Prox)
		if job.Prox != nil {
			prox[lane] = float32(job.Prox[i])
		}
		draw := &sampler{rows: e.fed.Clients[c].Train, full: job.Local.Batch == FullBatch, seed: seed, round: round, client: c}
		for s := range p.steps[i] {
			at := (s*k.lanes + lane) * k.batch
			draw.batch(batches[at : at+k.batch])
		}
	}
	args := []any{e.data[TrainPart][0], e.data[TrainPart][1],
		tensors.FromFlatDataAndDimensions(batches, k.steps, k.lanes, k.batch), int32(0), last, steps, rate, rows, job.Start}
	if k.prox {
		args = append(args, prox)
	}
	for _, m := range []struct {
		used bool
		*Matrix
	}{{k.proxWeights, job.ProxWeights}, {k.anchor, job.Anchor}, {k.shift, job.Shift}, {k.mask, job.Mask}} {
		if m.used {
			args = append(args, m.Matrix)
		}
	}
	return args
}

// sampler deals a client's examples out in batches: every epoch in a new order, the last batch as large as what is left.
type sampler struct {
	rows          []int
	full          bool // one batch holds all: no order to draw
	seed          uint64
	round, client int

	order []int32
	next  int
	epoch int
}

func (s *sampler) batch(dst []int32) {
	if s.next == len(s.order) {
		if s.order == nil {
			s.order = make([]int32, len(s.rows))
			for i, r := range s.rows {
				s.order[i] = int32(r)
			}
		}
		if !s.full {
			rng := Random(s.seed, "batches", s.round, s.client, s.epoch)
			rng.Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
		}
		s.next = 0
		s.epoch++
	}
	s.next += copy(dst, s.order[s.next:])
}

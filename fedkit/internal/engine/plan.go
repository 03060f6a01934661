package engine

import "slices"

// Width is how many clients one program trains side by side. More lanes make longer matrix products, which a GPU
// needs to be busy. Fewer lanes take less memory, and waste less if clients differ in size.
type Width struct {
	Even   int // at most
	Uneven int // at most, if the largest client has over unevenFactor times the mean number of examples
	Memory int // bytes, for all lanes together
}

const unevenFactor = 1.5

// fewConvolutions is up to how many operations of convolutions in a step clients share a program: their dense layers gain more than the
// larger program costs. They are fewConvolving at most, since each takes its share of compiling.
const (
	fewConvolutions = 100e6
	fewConvolving   = 4
)

// The widths for each kind of device.
var (
	CPU = Width{Even: 16, Uneven: 4, Memory: 512 << 20}
	GPU = Width{Even: 256, Uneven: 64, Memory: 4 << 30} // go-xla cannot tell what a device has: half of a small card
)

// plan is how a job is laid out: which client of the job is in which lane (−1: the lane idles).
type plan struct {
	design solver
	steps  []int // by client of the job
	order  []int // by lane, group after group
}

// groups returns how many calls of the program the plan takes.
func (p *plan) groups() int { return len(p.order) / p.design.lanes }

// lanes returns the clients of group g, by lane.
func (p *plan) lanes(g int) []int { return p.order[g*p.design.lanes : (g+1)*p.design.lanes] }

// busy returns the clients of group g, by lane. A lane that idles has another's: its result is not used, but must be finite.
func (p *plan) busy(g int) []int {
	clients := slices.Clone(p.lanes(g))
	for lane, i := range clients {
		if i < 0 {
			clients[lane] = clients[0]
		}
	}
	return clients
}

// clients returns the clients of group g, as errors call them.
func (p *plan) clients(job *Job, g int) (clients []int) {
	for _, i := range p.lanes(g) {
		if i >= 0 {
			clients = append(clients, job.Names[i])
		}
	}
	return clients
}

func (e *Engine) plan(job *Job) plan {
	most, _ := e.sizes()
	k := solver{batch: e.batch(job), optimizer: job.Optimizer, objective: job.Objective, apart: job.Starts != nil}
	for _, t := range job.terms(&e.task, nil) {
		k.table += t.name + "\n"
	}
	k.steps = job.stepsOf(most, k.batch, job.Epochs)

	p := plan{steps: make([]int, len(job.Clients))}
	longest := 0
	for i, c := range job.Clients {
		switch {
		case job.StepsOf != nil:
			p.steps[i] = job.StepsOf[i]
		case job.EpochsOf != nil:
			p.steps[i] = job.stepsOf(len(e.rows[c]), k.batch, job.EpochsOf[i])
		default:
			p.steps[i] = job.stepsOf(len(e.rows[c]), k.batch, job.Epochs)
		}
		longest = max(longest, p.steps[i])
	}
	for k.steps < longest { // more than usual: double the room, so that few programs serve all
		k.steps *= 2
	}
	k.lanes = share(len(job.Clients), e.Lanes(job))
	p.design = k
	p.order = job.Only
	if job.Only == nil {
		for i := range job.Clients {
			p.order = append(p.order, i)
		}
	}
	p.order = byLength(p.steps, p.order, k.lanes)
	return p
}

// share returns how many of n clients train side by side in each of as few groups as possible, at most so many.
func share(n, most int) int {
	groups := (n + most - 1) / most
	return (n + groups - 1) / groups
}

// sizes returns how many examples the largest client has, and how many all have.
func (e *Engine) sizes() (most, total int) {
	for _, rows := range e.rows {
		most, total = max(most, len(rows)), total+len(rows)
	}
	return most, total
}

// batch returns how many examples a step of the job has room for.
func (e *Engine) batch(job *Job) int {
	most, _ := e.sizes()
	if job.Batch == FullBatch {
		return most
	}
	return min(job.Batch, most)
}

// Lanes returns how many clients of a job one program can train side by side, however many there are.
func (e *Engine) Lanes(job *Job) int {
	most, total := e.sizes()
	batch := e.batch(job)
	work := float64(batch) * e.convolutions()
	if e.task.alone() || work > fewConvolutions {
		return 1
	}
	uneven := (job.Steps == 0 || job.StepsOf != nil) && float64(most)*float64(len(e.rows)) > unevenFactor*float64(total)
	lanes := e.width.Even
	if uneven {
		lanes = e.width.Uneven
	}
	if work > 0 {
		lanes = min(lanes, fewConvolving)
	}
	perLane := 4 * (6*e.task.Dim() + 4*batch*e.data.Features())
	return max(1, min(lanes, e.width.Memory/perLane))
}

// byLength lays clients out in lanes: those with about the same number of steps share a program, the longest first. If one program
// does for all, they stay in order: their rows need not be put in order then.
func byLength(steps, clients []int, lanes int) []int {
	order := slices.Clone(clients)
	if len(order) > lanes {
		slices.SortStableFunc(order, func(a, b int) int { return steps[b] - steps[a] })
	}
	for len(order)%lanes > 0 {
		order = append(order, -1)
	}
	return order
}

package engine

import (
	"math"
	"slices"

	"fedkit.example/fedkit/internal/xla"
)

// Width is how many clients one program trains in parallel, in a lane each. More lanes mean larger matrix products, which keep a
// GPU busy. Fewer lanes take less memory, and waste less if clients differ in size.
type Width struct {
	Even          int     // lanes at most
	Uneven        int     // lanes at most, if the largest client has over unevenFactor times the mean number of examples
	Convolving    int     // lanes at most, if the model has convolutions
	Operations    float64 // of a client's convolutions per step, at most, for more than one lane
	Looping       int     // bytes of the lanes' models at most, if the model has loops, which read them at each step
	Memory        int     // bytes, for all lanes together
	Intermediates int     // how often a forward pass's intermediate values count in that; not at all where few clients share a program
	Narrow        int     // lanes of a program at most, for as many in flight as Device.Concurrency, rather than half
	Block         int     // examples per program of an evaluation, if each model has many
	Counted       bool    // a loop has a fixed number of steps if clients are even: a GPU need not ask the processor after each
}

const unevenFactor = 1.5

// The widths for each kind of device. Compile time grows with each lane of convolutions. On a CPU dense layers gain from sharing a
// program only if they have few operations, and recurrent layers only as far as the caches hold the weights of all; programs of many lanes keep its processors busy one at a time. go-xla does not
// report a GPU's memory: it is half of a small card.
var (
	CPU = Width{Even: 16, Uneven: 4, Convolving: 4, Operations: 100e6, Looping: 8 << 20, Memory: 512 << 20, Narrow: 4, Block: 1024}
	GPU = Width{Even: 1024, Uneven: 256, Convolving: 16, Operations: math.Inf(1), Looping: math.MaxInt, Memory: 4 << 30, Intermediates: 2, Narrow: math.MaxInt, Block: 4096, Counted: true}
)

// ownWidth is the width for this process's device.
func ownWidth() Width {
	if xla.OnCPU() {
		return CPU
	}
	return GPU
}

// plan assigns the clients of a job to lanes (−1: an idle lane).
type plan struct {
	design solver
	steps  []int // by client of the job
	order  []int // by lane, group after group
}

// groups returns the number of calls of the program.
func (p *plan) groups() int { return len(p.order) / p.design.lanes }

// models returns the number of matrices of models that a program returns.
func (p *plan) models() int {
	if p.design.apart {
		return p.design.lanes
	}
	return 1
}

// lanes returns the clients of group g, by lane.
func (p *plan) lanes(g int) []int { return p.order[g*p.design.lanes : (g+1)*p.design.lanes] }

// busy returns the clients of group g, by lane. An idle lane repeats another client: its result is not used, but must be finite.
func (p *plan) busy(g int) []int {
	clients := slices.Clone(p.lanes(g))
	for lane, i := range clients {
		if i < 0 {
			clients[lane] = clients[0]
		}
	}
	return clients
}

// clients returns the clients of group g, by their numbers in errors.
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
	k := solver{batch: e.batch(job), optimizer: job.Optimizer, objective: job.Objective, apart: job.Starts != nil, keeps: job.Memory != nil, augment: job.Augment}
	for _, t := range job.terms(&e.task, nil) {
		k.table += t.name + "\n"
	}
	k.perExample = job.perExamples()
	k.steps = job.stepsOf(most, k.batch, job.Epochs)

	p := plan{steps: make([]int, len(job.Clients))}
	longest := 0
	for i := range job.Clients {
		switch {
		case job.StepsOf != nil:
			p.steps[i] = job.StepsOf[i]
		case job.EpochsOf != nil:
			p.steps[i] = job.stepsOf(len(e.rowsOf(job, i)), k.batch, job.EpochsOf[i])
		default:
			p.steps[i] = job.stepsOf(len(e.rowsOf(job, i)), k.batch, job.Epochs)
		}
		longest = max(longest, p.steps[i])
	}
	k.counted = e.width.Counted && !e.uneven(job) && job.StepsOf == nil && job.EpochsOf == nil
	for k.steps < longest { // double the capacity, so that few programs serve all
		k.steps *= 2
	}
	k.lanes = share(max(len(job.Clients), job.Most), e.Lanes(job))
	p.design = k
	clients := job.Only
	if clients == nil {
		clients = Sequence(len(job.Clients))
	}
	p.order = byLength(p.steps, clients, k.lanes)
	return p
}

// rowsOf returns the rows that a job uses of its i-th client.
func (e *Engine) rowsOf(job *Job, i int) []int {
	if job.Rows != nil {
		return job.Rows[i]
	}
	return e.rows[job.Clients[i]]
}

// Sequence returns 0, 1, …, n−1.
func Sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// share splits n clients evenly into as few groups of at most most clients as possible, and returns the group size.
func share(n, most int) int {
	groups := (n + most - 1) / most
	return (n + groups - 1) / groups
}

// sizes returns the number of examples of the largest client, and of all clients.
func (e *Engine) sizes() (most, total int) {
	for _, rows := range e.rows {
		most, total = max(most, len(rows)), total+len(rows)
	}
	return most, total
}

// batch returns the batch size of the job's programs: at most the examples of the largest client.
func (e *Engine) batch(job *Job) int {
	most, _ := e.sizes()
	if job.Batch == FullBatch {
		return most
	}
	return min(job.Batch, most)
}

// Lanes returns how many clients of a job one program can train in parallel, whatever their number.
func (e *Engine) Lanes(job *Job) int {
	batch := e.batch(job)
	work := float64(batch) * e.work().Convolutions
	if e.task.Alone || work > e.width.Operations {
		return 1
	}
	lanes := e.width.Even
	if e.uneven(job) {
		lanes = e.width.Uneven
	}
	if work > 0 {
		lanes = min(lanes, e.width.Convolving)
	}
	if e.work().Loops {
		lanes = min(lanes, e.width.Looping/(4*e.task.Dim()))
	}
	if job.Clip > 0 && work > 0 {
		lanes = 1
	}
	return max(1, min(lanes, e.width.Memory/e.perLane(job)))
}

// perLane returns the bytes that a job takes for each client that one program trains.
func (e *Engine) perLane(job *Job) int {
	batch := e.batch(job)
	bytes := e.lane(6, batch)
	if job.Augment != (Augment{}) { // moved images, and where each pixel is from
		bytes += 4 * 8 * batch * e.data.Features()
	}
	if job.Clip > 0 { // every example has a model and a gradient
		bytes += 4 * 2 * batch * e.task.Dim()
	}
	return bytes
}

// lane returns the bytes of a lane of a program, which holds a batch of examples and so many models or vectors as large.
func (e *Engine) lane(models, batch int) int {
	bytes := 4 * (models*e.task.Dim() + 4*batch*e.data.Features())
	if n := e.width.Intermediates; n > 0 {
		bytes += 4 * n * batch * int(e.work().Values)
	}
	return bytes
}

// inFlight returns how many programs of a design are in flight at once: on this machine as many as half of the memory holds.
func (e *Engine) inFlight(job *Job, k solver, on Device) int {
	n := on.Concurrency()
	if on.Remote() {
		return n
	}
	if k.lanes > e.width.Narrow {
		n /= 2
	}
	each := float64(k.lanes) * (float64(e.perLane(job)) + 8*float64(k.batch)*e.work().Values)
	return int(max(1, min(float64(n), e.free/2/each)))
}

// uneven reports whether the clients' numbers of steps differ much.
func (e *Engine) uneven(job *Job) bool {
	most, total := e.sizes()
	return (job.Steps == 0 || job.StepsOf != nil) && float64(most)*float64(len(e.rows)) > unevenFactor*float64(total)
}

// byLength assigns clients to lanes, longest first, so that clients with similar numbers of steps share a program. If one program
// holds all, they keep their order, and their rows need no gathering.
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

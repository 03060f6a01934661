package fedkit

import "fmt"

// memories are those of all clients' optimizers, kept from round to round: see Local.KeepMemory. They are a State of the run.
type memories struct {
	Slots *Matrix // [M, slots·d], 0 for a client that has not trained; nil before the first job
	Steps []int   // by client, its local steps so far
}

// recall gives a job the memory of its clients' optimizers.
func (r *Round) recall(job *Job) error {
	slots := job.Local.WithDefaults().Optimizer.Slots()
	if !job.Local.KeepMemory || slots == 0 || r.quiet {
		return nil
	}
	if r.memories == nil {
		return Invalid("Job.Local.KeepMemory", true, "set in an exported field of the strategy, so that checkpoints have the memory")
	}
	if err := job.check(r.Fed, r.calls); err != nil {
		return err
	}
	m, width := r.memories, slots*r.Fed.Task.Dim()
	if m.Slots == nil {
		m.Slots, m.Steps = Zeros(r.Clients(), width), make([]int, r.Clients())
	}
	if m.Slots.Cols() != width {
		return Invalid("Job.Local.Optimizer", fmt.Sprintf("%T with %d slots", job.Local.Optimizer, slots),
			fmt.Sprintf("one with %d, as before in this run: a client has one memory", m.Slots.Cols()/r.Fed.Task.Dim()))
	}
	job.memory = m.Slots.Take(job.Clients...)
	for _, c := range job.Clients {
		job.before = append(job.before, float32(m.Steps[c]))
	}
	return nil
}

// memorize keeps the memory of the clients whose updates were received.
func (r *Round) memorize(u *Updates) {
	if u.memory == nil || r.err != nil {
		return
	}
	m := r.memories
	m.Slots = m.Slots.Put(u.Clients(), u.memory)
	for _, s := range u.Results {
		m.Steps[s.Client] += s.Steps
	}
}

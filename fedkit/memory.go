package fedkit

import (
	"fmt"
	"math"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/clientdata"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/memory"
	"fedkit.example/fedkit/internal/nested"
	"fedkit.example/fedkit/internal/task"
	"fedkit.example/fedkit/internal/xla"
)

// A run's memory is estimated before anything large is allocated, and the run refused if the machine does not have it.
// Estimates are floats, which do not overflow: they count the models, batches and examples that must be in memory at one time, with the
// lanes or blocks of one program where clients have models of their own. Before a program runs, the engine counts again what it takes.

// Fits returns an error if there is no memory for the models that a strategy keeps between rounds, with the option field set to
// value. A Matrix is immutable, so old and new models are in memory together, and so are those that clients return if each has its own,
// beside what training or evaluation takes. For use in Check; without a federation there is no error.
func (f *Federation) Fits(field string, value int, models float64) error {
	if f == nil || f.Task == nil {
		return nil
	}
	d := task.Size(f.Task)
	bytes, what, own := 2*4*models*d, fmt.Sprintf("%.0f models of %.0f parameters, before and after a round,", models, d), models == float64(f.Size())
	if own {
		bytes, what = 2*bytes, what+" and as clients return them,"
	}
	if bytes+max(float64(engine.CPU.Memory), 32*d) < memory.Available() { // whatever programs take
		return nil
	}
	lanes, perLane := engine.SideBySide(task.ForEngine(f.Task), f.Data, clientdata.Train(f.Clients))
	if !own { // as many clients train for fewer models
		lanes, perLane = 1, lanes*perLane
	}
	return memory.FitsBeside(field, value, float64(value), bytes, lanes, perLane, what)
}

// FitsPairs returns an error if there is no memory for the Gram matrix of n clients, which Matrix.Points makes. For use in Check;
// without a federation there is no error.
func (f *Federation) FitsPairs(field string, n int) error {
	if f == nil {
		return nil
	}
	return memory.FitsPairs(field, n)
}

// fitsRun refuses a data set that does not fit on the device, unless it is there already, and a cohort of n clients whose models
// do not.
func (f *Federation) fitsRun(all []Strategy, n int) error {
	f.lazy.mu.Lock()
	there := f.lazy.Engine != nil
	f.lazy.mu.Unlock()
	if !there {
		bytes, examples := 0, f.Data.Train.Len()+f.Data.Test.Len()
		for _, s := range []*datasets.Split{&f.Data.Train, &f.Data.Test} {
			bytes += len(s.Bytes) + 4*(len(s.Floats)+s.Len())
		}
		if err := memory.Fits("examples", examples, float64(examples), float64(bytes), "they"); err != nil {
			return err
		}
	}
	if share, _ := nested.Field(all, "Fraction"); !share.IsValid() {
		return nil // the cohort may be smaller than all clients
	}
	return f.fitsCohort(n)
}

// ConcurrentRuns returns how many concurrent runs on the federation there is memory for, at least one: each holds the models
// of all clients, before and after a round, with their gradients. It does not account for other runs. On a GPU, whose
// memory go-xla cannot report, it is 2.
func (f *Federation) ConcurrentRuns() int {
	if f.made() != nil {
		return 1
	}
	if !xla.OnCPU() {
		return 2
	}
	bytes := 4 * 4 * float64(f.Size()) * task.Size(f.Task)
	return int(max(1, min(1024, memory.Available()/2/bytes)))
}

// fitsCohort refuses n clients whose models do not fit on the device.
func (f *Federation) fitsCohort(n int) error {
	d := task.Size(f.Task)
	return memory.Fits("clients per round", n, float64(n), 4*float64(n)*d, fmt.Sprintf("%d models of %.0f parameters", n, d))
}

// fitsExamples refuses batches whose models and gradients, one per example, do not fit in memory.
func (f *Federation) fitsExamples(l Local) error {
	b, d := f.batch(l), task.Size(f.Task)
	return memory.Fits("Batch", b, float64(b), 2*4*float64(b)*d, fmt.Sprintf("models and gradients of %d examples, %.0f parameters each,", b, d))
}

// fitsLocal refuses local steps of n clients whose batch indices do not fit in memory. One program's are on the host and on the
// device, padded to the client with the most steps, for all clients that it trains side by side.
func (f *Federation) fitsLocal(l Local, n int) error {
	switch {
	case f == nil:
		return nil
	case l.Steps > 0:
		return f.fitsSteps("Steps", l.Steps, float64(l.Steps), l, n)
	}
	return f.fitsSteps("Epochs", l.Epochs, float64(l.Epochs)*math.Ceil(float64(clientdata.Largest(f.Clients))/float64(f.batch(l))), l, n)
}

// batch returns the largest number of examples in a batch.
func (f *Federation) batch(l Local) int {
	if l.Batch == FullBatch {
		return clientdata.Largest(f.Clients)
	}
	return min(l.Batch, clientdata.Largest(f.Clients))
}

// fitsSteps refuses an option that makes some client take more steps than there is memory for.
func (f *Federation) fitsSteps(field string, value int, steps float64, l Local, n int) error {
	batch := f.batch(l)
	lanes := 1.0 // a lower bound of engine.Width
	if f.Task.Store == nil && f.Task.Train == nil {
		perLane := 4 * (6*task.Size(f.Task) + 4*float64(batch)*float64(f.Data.Features()))
		lanes = max(1, min(float64(n), float64(engine.CPU.Uneven), float64(engine.CPU.Memory)/perLane)/2)
	}
	bytes := 2 * 4 * lanes * steps * float64(batch)
	return memory.Fits(field, value, float64(value), bytes, fmt.Sprintf("batches of %d examples for %.0f steps", batch, steps))
}

// fits refuses a job whose models or batches do not fit in memory.
func (j *Job) fits(f *Federation) error {
	l, n := j.Local.WithDefaults(), max(len(j.Clients), j.MaxClients)
	if j.Epochs != nil {
		batch, most, of := float64(f.batch(l)), 0.0, 0
		for i, epochs := range j.Epochs {
			if steps := float64(epochs) * math.Ceil(float64(len(f.Clients[j.Clients[i]].Train))/batch); steps > most {
				most, of = steps, epochs
			}
		}
		if err := f.fitsSteps("Job.Epochs", of, most, l, n); err != nil {
			return err
		}
	}
	if j.Steps != nil {
		if err := f.fitsSteps("Job.Steps", slices.Max(j.Steps), float64(slices.Max(j.Steps)), l, n); err != nil {
			return err
		}
	}
	return f.fitsCohort(n)
}

package fedkit

import (
	"fmt"
	"math"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/memory"
	"fedkit.example/fedkit/internal/xla"
)

// What a run is certain to need is estimated before anything large is made, and refused if the machine does not have it.
// Estimates are floats, which do not overflow, and low: they count the models, batches and examples that must be in
// memory at one time, and nothing that the compiler adds.

// Fits returns an error for an option that asks for more models than there is memory for: field has this value, and the
// strategy keeps this many models between rounds. A Matrix never changes, so the old models and the new ones take memory
// together. For use in Check; without a federation there is no error.
func (f *Federation) Fits(field string, value int, models float64) error {
	if f == nil || f.Task == nil {
		return nil
	}
	d := f.Task.size()
	return memory.Fits(field, value, float64(value), 2*4*models*d, fmt.Sprintf("%.0f models of %.0f parameters, before and after a round,", models, d))
}

// FitsPairs returns an error for an option that asks for so many clients, n, that there is no memory to compare each two of them, as
// Matrix.Points does. For use in Check; without a federation there is no error.
func (f *Federation) FitsPairs(field string, n int) error {
	if f == nil {
		return nil
	}
	return memory.FitsPairs(field, n)
}

// fitsModel refuses a model that is too large to be drawn on the host and put on the device.
func (t *Task) fitsModel() error {
	d := t.size()
	return memory.Fits("model "+t.Name, fmt.Sprintf("%.0f parameters", d), d, 2*4*d, "its first values on the host and on the device")
}

// size is d as a float, which does not overflow.
func (t *Task) size() (d float64) {
	for _, p := range t.Params {
		n := 1.0
		for _, dim := range p.Shape {
			n *= float64(dim)
		}
		d += n
	}
	return d
}

// fitsRun refuses a data set that does not fit on the device, unless it is there already, and a cohort of n whose models
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
	if share, _ := field(all, "Fraction"); !share.IsValid() {
		return nil // it may train fewer clients than there are
	}
	return f.fitsCohort(n)
}

// SideBySide returns how many runs on the federation there is memory for at one time, at least one: each holds the models
// of all clients, before and after a round, with their gradients. It knows nothing of what else runs, and on a GPU, whose
// memory go-xla cannot tell, it is 2.
func (f *Federation) SideBySide() int {
	if f.made() != nil {
		return 1
	}
	if !xla.OnCPU() {
		return 2
	}
	bytes := 4 * 4 * float64(f.Size()) * f.Task.size()
	return int(max(1, min(1024, memory.Available()/2/bytes)))
}

// fitsCohort refuses n clients whose models do not fit on the device.
func (f *Federation) fitsCohort(n int) error {
	d := f.Task.size()
	return memory.Fits("clients per round", n, float64(n), 4*float64(n)*d, fmt.Sprintf("%d models of %.0f parameters", n, d))
}

// fitsLocal refuses more local steps of n clients than the batches of one program have room for. They are listed on the
// host and on the device, for all clients that a program trains side by side and for the client with the most steps.
func (f *Federation) fitsLocal(l Local, n int) error {
	if f == nil {
		return nil
	}
	l = l.WithDefaults()
	if l.Steps > 0 {
		return f.fitsSteps("Steps", l.Steps, float64(l.Steps), l, n)
	}
	most := 0
	for _, c := range f.Clients {
		most = max(most, len(c.Train))
	}
	return f.fitsSteps("Epochs", l.Epochs, float64(l.Epochs)*math.Ceil(float64(most)/float64(f.batch(l))), l, n)
}

// batch returns how many examples a batch has room for.
func (f *Federation) batch(l Local) int {
	most := 0
	for _, c := range f.Clients {
		most = max(most, len(c.Train))
	}
	if l.Batch == FullBatch {
		return most
	}
	return min(l.Batch, most)
}

// fitsSteps refuses an option that asks for so many steps of the client with the most.
func (f *Federation) fitsSteps(field string, value int, steps float64, l Local, n int) error {
	batch := f.batch(l)
	lanes := 1.0 // at least, as engine.Width has it
	if f.Task.Store == nil && f.Task.Train == nil {
		perLane := 4 * (6*f.Task.size() + 4*float64(batch)*float64(f.Data.Features()))
		lanes = max(1, min(float64(n), float64(engine.CPU.Uneven), float64(engine.CPU.Memory)/perLane)/2)
	}
	bytes := 2 * 4 * lanes * steps * float64(batch)
	return memory.Fits(field, value, float64(value), bytes, fmt.Sprintf("batches of %d examples for %.0f steps", batch, steps))
}

// fits refuses a job with more models, or more batches, than there is memory for.
func (j *Job) fits(f *Federation) error {
	l, n := j.Local.WithDefaults(), len(j.Clients)
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

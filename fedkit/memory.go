package fedkit

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/engine"
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
	return fits(field, value, float64(value), 2*4*models*d, fmt.Sprintf("%.0f models of %.0f parameters, before and after a round,", models, d))
}

// FitsPairs returns an error for an option that asks for so many clients, n, that there is no memory to compare each two of them, as
// Matrix.Points does. For use in Check; without a federation there is no error.
func (f *Federation) FitsPairs(field string, n int) error {
	if f == nil {
		return nil
	}
	return fitsPairs(field, n)
}

// bytesPerPair is what the product of two rows takes, by ordered pair: a float32 on the device, another one on the host, and half of the
// float64 that the two of them have in a symmetric matrix.
const bytesPerPair = 4 + 4 + 8/2

// fitsPairs refuses n rows if the products of each two take more bytes than there are.
func fitsPairs(field string, n int) error {
	bytes := bytesPerPair * float64(n) * float64(n)
	free := room(bytes)
	if !(bytes > free) {
		return nil
	}
	return Invalid(field, n, fmt.Sprintf("at most %.0f: the products of each two take %s, and %s are free", math.Floor(math.Sqrt(free/bytesPerPair)), inBytes(bytes), inBytes(free)))
}

// room returns how many bytes are free. If they are too few, it looks again after what is no longer used was given back.
func room(bytes float64) (free float64) {
	if free = available(); bytes > free {
		settle()
		free = available()
	}
	return free
}

// fits refuses an option if what it stands for takes more bytes than there are; they are proportional to size.
func fits(field string, value any, size, bytes float64, what string) error {
	free := room(bytes)
	if !(bytes > free) {
		return nil
	}
	return Invalid(field, value, fmt.Sprintf("at most %.0f: %s take %s, and %s are free", math.Floor(size*free/bytes), what, inBytes(bytes), inBytes(free)))
}

// fitsModel refuses a model that is too large to be drawn on the host and put on the device.
func (t *Task) fitsModel() error {
	d := t.size()
	return fits("model "+t.Name, fmt.Sprintf("%.0f parameters", d), d, 2*4*d, "its first values on the host and on the device")
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
		if err := fits("examples", examples, float64(examples), float64(bytes), "they"); err != nil {
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
	return int(max(1, min(1024, available()/2/bytes)))
}

// fitsCohort refuses n clients whose models do not fit on the device.
func (f *Federation) fitsCohort(n int) error {
	d := f.Task.size()
	return fits("clients per round", n, float64(n), 4*float64(n)*d, fmt.Sprintf("%d models of %.0f parameters", n, d))
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
	return fits(field, value, float64(value), bytes, fmt.Sprintf("batches of %d examples for %.0f steps", batch, steps))
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

// available returns how many bytes can still be allocated, roughly. Tests replace it.
var available = func() float64 {
	if !xla.OnCPU() {
		return unknownMemory // the device's own, which go-xla cannot tell
	}
	free := unknownMemory
	for line := range strings.Lines(readFile("/proc/meminfo")) {
		if value, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kB, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			free = 1024 * kB
		}
	}
	return min(free, groupsLeave("/"))
}

// unknownMemory stands for the memory of a device that does not tell: more than any one device has.
const unknownMemory = float64(1 << 40)

// controlGroups are the names that a version of Linux's control groups has for a group's memory.
type controlGroups struct{ root, limit, used, idle string }

var (
	groupsOne = controlGroups{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	groupsTwo = controlGroups{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
)

// groupsLeave is how many bytes the process's control groups, such as a container's, still allow it; +Inf without a limit. The files
// are under a root, which is "/" except in tests.
func groupsLeave(root string) float64 {
	left := math.Inf(1)
	for line := range strings.Lines(readFile(filepath.Join(root, "proc/self/cgroup"))) {
		_, group, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(group, ":")
		g := groupsTwo
		if slices.Contains(strings.Split(controllers, ","), "memory") {
			g = groupsOne
		} else if controllers != "" {
			continue
		}
		for parent := ""; path != parent; parent, path = path, filepath.Dir(path) {
			left = min(left, g.left(filepath.Join(root, g.root, path)))
		}
	}
	return left
}

// left is what the limit of the group in a folder leaves. Pages of files that were not read lately are not counted as used: Linux
// takes them back when memory is short.
func (g controlGroups) left(folder string) float64 {
	limit, err := strconv.ParseFloat(strings.TrimSpace(readFile(filepath.Join(folder, g.limit))), 64)
	if err != nil { // "max", or no such group
		return math.Inf(1)
	}
	used, _ := strconv.ParseFloat(strings.TrimSpace(readFile(filepath.Join(folder, g.used))), 64)
	for line := range strings.Lines(readFile(filepath.Join(folder, "memory.stat"))) {
		if value, ok := strings.CutPrefix(line, g.idle+" "); ok {
			idle, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
			used -= idle
		}
	}
	return max(0, limit-max(0, used))
}

// readFile returns what a file of the system says, "" if there is none.
func readFile(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// settle gives the memory of what is no longer used back. Finalizers, which free the device's, run beside the program.
func settle() {
	for range 2 {
		debug.FreeOSMemory()
		time.Sleep(20 * time.Millisecond)
	}
}

// inBytes writes a number of bytes: "8.1 GB".
func inBytes(n float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}
	u := 0
	for ; n >= 1000 && u < len(units)-1; u++ {
		n /= 1000
	}
	if n < 10 {
		return fmt.Sprintf("%.1f %s", n, units[u])
	}
	return fmt.Sprintf("%.0f %s", n, units[u])
}

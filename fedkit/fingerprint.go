package fedkit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
)

// fingerprint identifies a task on the federation's data: the SHA-256, in hexadecimal, of its parameters' names and shapes, of
// initial values, and of its StableHLO for a few examples, for the evaluation blocks, and for the given batch sizes. Models that
// compute different things have different fingerprints, whatever their names. A task that no longer computes what it did is refused.
func (f *Federation) fingerprint(batches []int) (sum string, err error) {
	defer fault.Recovered("model", &err)
	f.lazy.mu.Lock()
	defer f.lazy.mu.Unlock()
	h := sha256.New()
	for _, p := range f.Task.Params {
		fmt.Fprintf(h, "%q %v\n", p.Name, p.Shape)
	}
	e := f.Task.forEngine()
	for _, batch := range slices.Concat([]int{trialBatch}, engine.Blocks, batches) {
		sum, known := f.lazy.texts[batch]
		if !known || batch == trialBatch {
			text, err := e.Text(f.Data, batch, f.Task.Features)
			if err != nil {
				return "", fmt.Errorf("task %s: %w", f.Task.Name, err)
			}
			is := sha256.Sum256(text)
			if known && is != sum {
				return "", Invalid("Federation.Task", "changed", "one that computes what it did before, since programs are compiled once: fedkit.New takes a model that makes another task")
			}
			f.lazy.texts[batch], sum = is, is
		}
		h.Write(sum[:])
	}
	if f.lazy.first == "" {
		if f.lazy.first, err = f.Task.firstSum(); err != nil {
			return "", err
		}
	}
	h.Write([]byte(f.lazy.first))
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// firstSum returns the SHA-256 of initial parameters.
func (t *Task) firstSum() (string, error) {
	first, err := t.start(Random(0, "fingerprint"))
	if err != nil {
		return "", fmt.Errorf("task %s: Init: %w", t.Name, err)
	}
	h := sha256.New()
	if err := binary.Write(h, binary.LittleEndian, first); err != nil {
		return "", err
	}
	return string(h.Sum(nil)), nil
}

// batches returns the batch sizes of a strategy and its parts, capped at the largest client's examples, in ascending order.
func (f *Federation) batches(s Strategy) (sizes []int) {
	most := 0
	for _, rows := range f.lazy.rows {
		most = max(most, len(rows))
	}
	_ = config.Walk(s, func(_ string, part any) error {
		if l, is := part.(Local); is {
			part = l.WithDefaults()
		}
		if b, _ := config.Field(part, "Batch"); b.IsValid() && b.Kind() == reflect.Int && b.Int() != 0 {
			size := min(int(b.Int()), most)
			if b.Int() == FullBatch {
				size = most
			}
			sizes = append(sizes, size)
		}
		return nil
	})
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

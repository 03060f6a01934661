package task

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
	"github.com/gomlx/gomlx/core/graph"
)

// Fingerprint identifies a task on a data set. It keeps the hashes of what takes long; the zero value has none.
type Fingerprint struct {
	first string           // of the initial parameters
	texts map[int][32]byte // of the StableHLO, by batch size
}

// Of returns the SHA-256, in hexadecimal, of a task's parameters' names and shapes, of initial values, which rng draws, and of its
// StableHLO for a few examples, for the evaluation blocks, and for the given batch sizes; if it has code of the user's own, of that too,
// since it may do otherwise with other batches, and of the outputs of named layers. Models that compute different things have different
// fingerprints, whatever their names. A task that no longer computes what it did is refused.
func (m *Fingerprint) Of(t *Task, d *datasets.Dataset, batches []int, own string, rng *rand.Rand) (string, error) {
	h, names, layers := sha256.New(), new(bytes.Buffer), io.Writer(nil)
	if own != "" {
		layers = names
		fmt.Fprintln(h, own)
	}
	for _, p := range t.Params {
		fmt.Fprintf(h, "%q %v\n", p.Name, p.Shape)
		if p.Running {
			fmt.Fprintln(h, "running")
		}
		if p.Frozen {
			fmt.Fprintln(h, "frozen")
		}
	}
	e := ForEngine(t)
	if m.texts == nil {
		m.texts = map[int][32]byte{}
	}
	for _, batch := range slices.Concat([]int{TrialBatch}, engine.Blocks(), batches) {
		sum, known := m.texts[batch]
		if !known || batch == TrialBatch {
			text, err := e.Text(d, batch, func(p []*graph.Node, x *graph.Node) []*graph.Node { return Representations(t, layers, p, x) })
			if err != nil {
				return "", fmt.Errorf("task %s: %w", t.Name, err)
			}
			is := sha256.Sum256(text)
			if known && is != sum {
				return "", fault.Invalid("Federation.Task", "changed", "one that computes what it did before, since programs are compiled once: fedkit.New takes a model that makes another task")
			}
			m.texts[batch], sum = is, is
		}
		if batch == TrialBatch { // first
			h.Write(names.Bytes())
		}
		h.Write(sum[:])
	}
	if m.first == "" {
		first, err := Start(t, rng)
		if err != nil {
			return "", fmt.Errorf("task %s: Init: %w", t.Name, err)
		}
		values := sha256.New()
		_ = binary.Write(values, binary.LittleEndian, first) // into a hash
		m.first = string(values.Sum(nil))
	}
	h.Write([]byte(m.first))
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

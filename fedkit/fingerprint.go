package fedkit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"fedkit.example/datasets"
)

// fingerprint sums up a task for data of a form: the SHA-256, in hexadecimal, of its parameters, of what it computes as
// StableHLO, and of initial parameters. A model whose functions compute something else has another one, whatever its name.
func (t *Task) fingerprint(d *datasets.Dataset) (sum string, err error) {
	defer recovered("model", &err)
	h := sha256.New()
	for _, p := range t.Params {
		fmt.Fprintf(h, "%q %v\n", p.Name, p.Shape)
	}
	e := t.forEngine()
	text, err := e.Text(d, t.Features)
	if err != nil {
		return "", fmt.Errorf("task %s: %w", t.Name, err)
	}
	h.Write(text)
	first, err := t.start(Random(0, "fingerprint"))
	if err != nil {
		return "", fmt.Errorf("task %s: Init: %w", t.Name, err)
	}
	if err := binary.Write(h, binary.LittleEndian, first); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

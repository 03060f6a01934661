package charttest

import (
	"io"
	"os"
	"testing"

	"fedkit.example/fedkit/internal/display"
)

// Output is what a notebook cell was sent: an id and forms by MIME type.
type Output struct {
	ID       string         // outputs of one replace each other
	Forms    map[string]any // by MIME type
	Metadata map[string]any // of these
}

// Cell is a notebook cell that keeps what it is sent.
type Cell struct {
	Outputs []Output // in the order in which they were sent
	Syncs   int      // calls that waited
	Err     error    // that sending returns
}

// InCell lets the test run in a notebook cell.
func InCell(t *testing.T) *Cell {
	c := &Cell{}
	display.Use(c)
	t.Cleanup(func() { display.Use(nil) })
	return c
}

// Send implements display.Cell.
func (c *Cell) Send(id string, forms, metadata map[string]any) error {
	c.Outputs = append(c.Outputs, Output{id, forms, metadata})
	return c.Err
}

// Sync implements display.Cell.
func (c *Cell) Sync() { c.Syncs++ }

// Capture returns what f writes to a standard stream.
func Capture(t *testing.T, stream **os.File, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := *stream
	*stream = w
	done := make(chan string)
	go func() { b, _ := io.ReadAll(r); done <- string(b) }()
	func() {
		defer func() { *stream = old; w.Close() }()
		f()
	}()
	return <-done
}

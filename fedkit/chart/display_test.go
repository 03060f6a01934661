package chart

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// line is a small figure.
func line(name string) *Figure {
	return &Figure{Name: name, Series: []Series{{Name: "FedAvg", X: []float64{1, 2}, Y: []float64{0.1, 0.2}}}}
}

func TestFilesOutsideNotebook(t *testing.T) {
	Dir = filepath.Join(t.TempDir(), "new", "folder")
	defer func() { Dir = "" }()
	f := line("accuracy")
	printed := capture(t, &os.Stdout, func() {
		f.Show()
		f.Show() // overwrites
	})
	path := filepath.Join(Dir, "accuracy.png")
	if want := "wrote " + path + "\n"; printed != want+want {
		t.Errorf("printed %q", printed)
	}
	files, err := os.ReadDir(Dir)
	if err != nil || len(files) != 1 || files[0].Name() != "accuracy.png" {
		t.Errorf("%v, %v: want accuracy.png alone", files, err)
	}
	if err := f.Save(filepath.Join(Dir, "a.gif")); err == nil || !strings.Contains(err.Error(), ".gif") {
		t.Error("gif:", err)
	}
	if err := f.Save(filepath.Join(path, "b.png")); err == nil {
		t.Error("a folder that is a file")
	}
	if err := f.Save(filepath.Join(Dir, "a.json")); err != nil {
		t.Error(err)
	}
}

// A chart that cannot be drawn is reported in a line of its own, and leaves no file.
func TestErrorsOutsideNotebook(t *testing.T) {
	Dir = t.TempDir()
	defer func() { Dir = "" }()
	bad := Failed(errors.New("plot: accuracy: no history given"))
	if bad.Title = "Test accuracy"; bad.Err() == nil || bad.VegaLite() != nil {
		t.Error("an error that is forgotten:", bad.Err())
	}
	for _, show := range []func(){bad.Show, Row{line("a"), bad}.Show} {
		if printed := capture(t, &os.Stderr, show); printed != "chart error: plot: accuracy: no history given\n" {
			t.Errorf("printed %q", printed)
		}
	}
	if printed := capture(t, &os.Stderr, new(Table).Show); printed != "chart error: chart: the table has no lines\n" {
		t.Errorf("printed %q", printed)
	}
	Dir = filepath.Join(Dir, "file")
	if err := os.WriteFile(Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if printed := capture(t, &os.Stderr, line("a").Show); !strings.HasPrefix(printed, ErrorPrefix+"chart: ") {
		t.Errorf("printed %q", printed)
	}
}

func TestMake(t *testing.T) {
	f := Make("plot: accuracy", func(f *Figure) error { f.Title = "kept"; return errors.New("no history given") })
	if err := f.Err(); err == nil || err.Error() != "plot: accuracy: no history given" || f.Title != "kept" {
		t.Errorf("%v of %q", err, f.Title)
	}
	tab := Make("plot: table", func(*Table) error { panic("index out of range") })
	if err := tab.Err(); err == nil || err.Error() != "plot: table: could not be drawn: index out of range" {
		t.Error(err)
	}
	if err := Make("plot: table", func(t *Table) error { t.Lines = [][]string{{"a"}}; return nil }).Err(); err != nil {
		t.Error(err)
	}
}

// output is what a stand-in for a notebook cell has been sent.
type output struct {
	id              string
	forms, metadata map[string]any
}

type fakeCell struct {
	outputs []output
	syncs   int
	err     error
}

func (c *fakeCell) send(id string, forms, metadata map[string]any) error {
	c.outputs = append(c.outputs, output{id, forms, metadata})
	return c.err
}

func (c *fakeCell) sync() { c.syncs++ }

func inCell(t *testing.T) *fakeCell {
	c := &fakeCell{}
	cell = c
	t.Cleanup(func() { cell = nil })
	return c
}

func TestFormsInNotebook(t *testing.T) {
	c := inCell(t)
	line("a").Show()
	Row{line("a"), line("b")}.Show()
	if len(c.outputs) != 2 || c.outputs[0].id == c.outputs[1].id || c.syncs != 2 {
		t.Fatalf("%d outputs, %d syncs: want one for each Show", len(c.outputs), c.syncs)
	}
	for _, o := range c.outputs {
		if o.forms[mimeVegaLite] == nil || o.forms["image/png"] == nil || o.forms["text/plain"] == nil || len(o.forms) != 3 {
			t.Errorf("forms %v", o.forms)
		}
		if size := o.metadata["image/png"].(map[string]any); !(size["width"].(float64) > 560) {
			t.Errorf("PNG of size %v", size)
		}
	}
}

// What is drawn again stays in its place, and has a PNG only at the end.
func TestDisplay(t *testing.T) {
	c := inCell(t)
	var words, drawing Display
	for i, text := range []string{"one", "two"} {
		if err := errors.Join(words.Text(text, i == 1), drawing.Show(Row{line("a")}, i == 1)); err != nil {
			t.Fatal(err)
		}
	}
	for i, o := range c.outputs {
		if o.id != c.outputs[i%2].id {
			t.Errorf("output %d has id %q", i, o.id)
		}
		if _, ok := o.forms["image/png"]; ok != (i == 3) {
			t.Errorf("output %d: PNG %v", i, ok)
		}
	}
	if words.id == drawing.id || c.outputs[2].forms["text/plain"] != "two" || c.syncs != 2 {
		t.Errorf("%+v, %d syncs", c.outputs, c.syncs)
	}
	c.err = errors.New("pipe closed")
	if err := words.Text("three", false); err == nil || !strings.Contains(err.Error(), "pipe closed") {
		t.Error(err)
	}
}

// Only what stays has dots under the pointer: with them, a browser takes twice as long, and the line beside a live figure waits.
func TestDraft(t *testing.T) {
	c := inCell(t)
	long := &Figure{Series: []Series{{Name: "FedAvg"}}}
	for i := range 2 * fewPoints {
		long.Series[0].X, long.Series[0].Y = append(long.Series[0].X, float64(i)), append(long.Series[0].Y, 1)
	}
	var d Display
	for _, final := range []bool{false, true} {
		if err := d.Show(Row{long}, final); err != nil {
			t.Fatal(err)
		}
		if last := c.outputs[len(c.outputs)-1]; strings.Contains(fmt.Sprint(last.forms[mimeVegaLite]), "nearest") != final {
			t.Errorf("final %v: %v", final, last.forms[mimeVegaLite])
		}
	}
}

// An error is an output of its own, and a line on standard error.
func TestErrorsInNotebook(t *testing.T) {
	c := inCell(t)
	for _, show := range []func(){
		Failed(errors.New("history <1> is nil")).Show,
		Make("plot: table", func(*Table) error { return errors.New("history <1> is nil") }).Show,
	} {
		c.outputs = nil
		printed := capture(t, &os.Stderr, show)
		if !strings.HasPrefix(printed, ErrorPrefix) || !strings.HasSuffix(printed, "history <1> is nil\n") || len(c.outputs) != 1 {
			t.Fatalf("printed %q, %d outputs", printed, len(c.outputs))
		}
		forms := c.outputs[0].forms
		if box := forms["text/html"].(string); !strings.Contains(box, "history &lt;1&gt; is nil") || forms["text/plain"] != strings.TrimSuffix(printed, "\n") {
			t.Errorf("%v", forms)
		}
	}
	c.err = errors.New("pipe closed")
	if printed := capture(t, &os.Stderr, line("a").Show); !strings.Contains(printed, "pipe closed") {
		t.Errorf("printed %q", printed)
	}
}

// capture returns what f writes to a standard stream.
func capture(t *testing.T, stream **os.File, f func()) string {
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

package chart

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/table"
)

// line is a small figure.
func line(name string) *Figure {
	return &Figure{Name: name, Series: []Series{{Name: "FedAvg", X: []float64{1, 2}, Y: []float64{0.1, 0.2}}}}
}

func TestFilesOutsideNotebook(t *testing.T) {
	Dir = filepath.Join(t.TempDir(), "new", "folder")
	defer func() { Dir = "" }()
	f := line("accuracy")
	printed := charttest.Capture(t, &os.Stdout, func() {
		f.Show()
		f.Show() // overwrites
	})
	path := filepath.Join(Dir, "accuracy.html")
	if want := "wrote " + path + "\n"; printed != want+want {
		t.Errorf("printed %q", printed)
	}
	files, err := os.ReadDir(Dir)
	expect.That(t, err == nil && len(files) == 1 && files[0].Name() == "accuracy.html", "%v, %v: want accuracy.html alone", files, err)
	expect.Error(t, ".html, .json, .png or .svg, not \".gif\"")(f.Save(filepath.Join(Dir, "a.gif")))
	expect.Error(t, "chart: ")(f.Save(filepath.Join(path, "b.json"))) // a folder that is a file
	expect.OK(t, f.Save(filepath.Join(Dir, "a.json")))
	t.Setenv("FEDKIT_PYTHON", filepath.Join(Dir, "no-python"))
	expect.Error(t, "pip install vl-convert-python")(f.Save(filepath.Join(Dir, "a.png")))
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
		if printed := charttest.Capture(t, &os.Stderr, show); printed != "chart error: plot: accuracy: no history given\n" {
			t.Errorf("printed %q", printed)
		}
	}
	if printed := charttest.Capture(t, &os.Stderr, new(table.Table).Show); printed != "chart error: table: it has no lines\n" {
		t.Errorf("printed %q", printed)
	}
	Dir = filepath.Join(Dir, "file")
	expect.OK(t, os.WriteFile(Dir, nil, 0o600))
	if printed := charttest.Capture(t, &os.Stderr, line("a").Show); !strings.HasPrefix(printed, ErrorPrefix+"chart: ") {
		t.Errorf("printed %q", printed)
	}
}

func TestMake(t *testing.T) {
	f := Make("plot: accuracy", func(f *Figure) error { f.Title = "kept"; return errors.New("no history given") })
	if err := f.Err(); err == nil || err.Error() != "plot: accuracy: no history given" || f.Title != "kept" {
		t.Errorf("%v of %q", err, f.Title)
	}
	f = Make("plot: accuracy", func(*Figure) error { panic("index out of range") })
	if err := f.Err(); err == nil || err.Error() != "plot: accuracy: could not be drawn: index out of range" {
		t.Error(err)
	}
}

func TestFormsInNotebook(t *testing.T) {
	c := charttest.InCell(t)
	line("a").Show()
	Row{line("a"), line("b")}.Show()
	expect.Must(t, len(c.Outputs) == 2 && c.Outputs[0].ID != c.Outputs[1].ID && c.Syncs == 2,
		"%d outputs, %d syncs: want one for each Show", len(c.Outputs), c.Syncs)
	for _, o := range c.Outputs {
		expect.That(t, o.Forms[mimeVegaLite] != nil && o.Forms["text/plain"] != nil && len(o.Forms) == 2 && o.Metadata[mimeVegaLite] != nil,
			"forms %v", o.Forms)
	}
}

// What is drawn again stays in its place.
func TestDisplay(t *testing.T) {
	c := charttest.InCell(t)
	var words, drawing Display
	for i, text := range []string{"one", "two"} {
		expect.OK(t, errors.Join(words.Text(text, i == 1), drawing.Show(Row{line("a")}, i == 1)))
	}
	for i, o := range c.Outputs {
		expect.That(t, o.ID == c.Outputs[i%2].ID, "output %d has id %q", i, o.ID)
	}
	expect.That(t, c.Outputs[0].ID != c.Outputs[1].ID && c.Outputs[2].Forms["text/plain"] == "two" && c.Syncs == 2, "%+v, %d syncs", c.Outputs, c.Syncs)
	c.Err = errors.New("pipe closed")
	expect.Error(t, "pipe closed")(words.Text("three", false))
}

// Only what stays has dots under the pointer: with them, a browser takes twice as long, and the line beside a live figure waits.
func TestDraft(t *testing.T) {
	c := charttest.InCell(t)
	long := &Figure{Series: []Series{{Name: "FedAvg"}}}
	for i := range 2 * fewPoints {
		long.Series[0].X, long.Series[0].Y = append(long.Series[0].X, float64(i)), append(long.Series[0].Y, 1)
	}
	var d Display
	for _, final := range []bool{false, true} {
		expect.OK(t, d.Show(Row{long}, final))
		if last := c.Outputs[len(c.Outputs)-1]; strings.Contains(fmt.Sprint(last.Forms[mimeVegaLite]), "nearest") != final {
			t.Errorf("final %v: %v", final, last.Forms[mimeVegaLite])
		}
	}
}

// An error is an output of its own, and a line on standard error.
func TestErrorsInNotebook(t *testing.T) {
	c := charttest.InCell(t)
	for _, show := range []func(){
		Failed(errors.New("history <1> is nil")).Show,
		table.Make("plot: table", func(*table.Table) error { return errors.New("history <1> is nil") }).Show,
	} {
		c.Outputs = nil
		printed := charttest.Capture(t, &os.Stderr, show)
		expect.Must(t, strings.HasPrefix(printed, ErrorPrefix) && strings.HasSuffix(printed, "history <1> is nil\n") && len(c.Outputs) == 1,
			"printed %q, %d outputs", printed, len(c.Outputs))
		forms := c.Outputs[0].Forms
		if box := forms["text/html"].(string); !strings.Contains(box, "history &lt;1&gt; is nil") || forms["text/plain"] != strings.TrimSuffix(printed, "\n") {
			t.Errorf("%v", forms)
		}
	}
	c.Err = errors.New("pipe closed")
	if printed := charttest.Capture(t, &os.Stderr, line("a").Show); !strings.Contains(printed, "pipe closed") {
		t.Errorf("printed %q", printed)
	}
}

package chart

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	want := "wrote " + path + "\n"
	expect.That(t, printed == want+want, "printed %q", printed)
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
	err := f.Err()
	expect.That(t, err != nil && err.Error() == "plot: accuracy: no history given" && f.Title == "kept", "%v of %q", err, f.Title)
	f = Make("plot: accuracy", func(*Figure) error { panic("index out of range") })
	err = f.Err()
	expect.That(t, err != nil && err.Error() == "plot: accuracy: could not be drawn: index out of range", "%v", err)
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
		last := c.Outputs[len(c.Outputs)-1]
		expect.That(t, strings.Contains(fmt.Sprint(last.Forms[mimeVegaLite]), "nearest") == final, "final %v: %v", final, last.Forms[mimeVegaLite])
	}
}

// An error is an output of its own, and on standard error only if the notebook does not answer.
func TestErrorsInNotebook(t *testing.T) {
	c := charttest.InCell(t)
	for _, show := range []func(){
		Failed(errors.New("history <1> is nil")).Show,
		table.Make("plot: table", func(*table.Table) error { return errors.New("history <1> is nil") }).Show,
	} {
		c.Outputs = nil
		printed := charttest.Capture(t, &os.Stderr, show)
		expect.Must(t, printed == "" && len(c.Outputs) == 1, "printed %q, %d outputs", printed, len(c.Outputs))
		forms := c.Outputs[0].Forms
		box := forms["text/html"].(string)
		text := forms["text/plain"].(string)
		expect.That(t, strings.Contains(box, "history &lt;1&gt; is nil") && strings.HasPrefix(text, ErrorPrefix) && strings.HasSuffix(text, "history <1> is nil"), "%v", forms)
	}
	c.Err = errors.New("pipe closed")
	if printed := charttest.Capture(t, &os.Stderr, line("a").Show); !strings.Contains(printed, "pipe closed") {
		t.Errorf("printed %q", printed)
	}
}

// needVLConvert skips a test on a machine without vl-convert.
func needVLConvert(t *testing.T) (python string) {
	python = cmp.Or(os.Getenv("FEDKIT_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import vl_convert").Run(); err != nil {
		t.Skipf("%s has no vl-convert (%v): pip install vl-convert-python", python, err)
	}
	return python
}

// Figures of every kind, those whose specifications other tests compare, compile by themselves, and are drawn with all of their colors
// and titles.
func TestEveryKindIsDrawn(t *testing.T) {
	python := needVLConvert(t)
	files := slices.Concat(expect.Value(filepath.Glob("testdata/*.json"))(t), expect.Value(filepath.Glob("../plot/testdata/*.json"))(t))
	all := converter + `    for line in sys.argv[2:]:
        print(json.dumps(draw(json.load(open(line)), "svg").decode()))
`
	all = strings.Replace(all, "    sys.stdout.buffer.write(draw(json.load(sys.stdin), sys.argv[1]))\n", "", 1)
	out, err := exec.Command(python, append([]string{"-c", all, "svg"}, files...)...).Output()
	if exit, ok := err.(*exec.ExitError); ok {
		t.Fatalf("%s", exit.Stderr)
	}
	lines := json.NewDecoder(bytes.NewReader(out))
	for _, file := range files {
		var svg string
		var spec object
		expect.OK(t, lines.Decode(&svg))
		expect.OK(t, json.Unmarshal(expect.Value(os.ReadFile(file))(t), &spec))
		if i := strings.Index(svg, "NaN"); i >= 0 || strings.Contains(svg, "undefined") {
			t.Errorf("%s: %.200s", file, svg[max(0, i-100):])
		}
		views, _ := spec["concat"].([]any)
		for _, view := range append(views, spec) {
			title, _ := view.(object)["title"].(object)
			for _, part := range []string{"text", "subtitle"} {
				says, _ := title[part].(string)
				expect.That(t, strings.Contains(html.UnescapeString(svg), says), "%s has no %q", file, says)
			}
			for _, color := range drawn(view, nil) {
				expect.That(t, strings.Contains(svg, color), "%s: nothing is drawn in %s", file, color)
			}
		}
	}
}

// drawn lists the colors of names that have data, which a layer may have from the view around it.
func drawn(v, data any) (colors []string) {
	switch v := v.(type) {
	case []any:
		for _, w := range v {
			colors = append(colors, drawn(w, data)...)
		}
	case object:
		if own, has := v["data"].(object); has {
			data = own["values"]
		}
		encoding, _ := v["encoding"].(object)
		color, _ := encoding["color"].(object)
		if scale, ok := color["scale"].(object); ok { // the pointer's rule has one color
			for i, name := range scale["domain"].([]any) {
				if slices.ContainsFunc(data.([]any), func(row any) bool { return row.(object)["s"] == name }) {
					colors = append(colors, strings.Replace(scale["range"].([]any)[i].(string), own, "#333333", 1))
				}
			}
		}
		colors = append(colors, drawn(v["layer"], data)...)
	}
	return colors
}

// Pictures are those of the specification, two pixels for each CSS pixel.
func TestPictures(t *testing.T) {
	needVLConvert(t)
	dir := t.TempDir()
	f := sized(300, 200)
	for _, form := range []string{"a.png", "a.svg", "a.html"} {
		expect.OK(t, f.Save(filepath.Join(dir, form)))
	}
	img := expect.Value(png.Decode(bytes.NewReader(expect.Value(os.ReadFile(filepath.Join(dir, "a.png")))(t))))(t)
	size := img.Bounds().Size()
	expect.That(t, size.X >= 600 && size.X <= 800 && size.Y >= 400 && size.Y <= 600, "%v pixels", size)
	_, _, _, alpha := img.At(0, 0).RGBA()
	expect.That(t, alpha == 0xffff, "the background is not white")
	svg := string(expect.Value(os.ReadFile(filepath.Join(dir, "a.svg")))(t))
	expect.That(t, strings.HasPrefix(svg, "<svg"), "%.100s", svg)
}

// sized is a figure of this size.
func sized(width, height int) *Figure {
	f := line("a")
	f.Width, f.Height = width, height
	return f
}

// What the patch replaces are the sizes that a compiled row begins with, in Vega-Lite's order: one for all figures if these
// have the same size, else one for each.
func TestRowsFollowTheCell(t *testing.T) {
	for _, c := range []struct {
		row  Row
		want []string
	}{
		{Row{sized(300, 200), sized(300, 200)}, []string{"0 childWidth", "1 childHeight"}},
		{Row{sized(300, 200), sized(300, 100)}, []string{"0 childWidth", "1 concat_0_height", "2 concat_1_height"}},
		{Row{sized(300, 200), sized(400, 200)}, []string{"0 childHeight", "1 concat_0_width", "2 concat_1_width"}},
		{Row{sized(300, 200), sized(400, 100)}, []string{"0 concat_0_width", "1 concat_0_height", "2 concat_1_width", "3 concat_1_height"}},
		{Row{matrix(8), matrix(8)}, []string{"0 childWidth", "1 childHeight"}},
		{Row{matrix(8), sized(300, 200)}, []string{"0 concat_0_width", "1 concat_0_height", "2 concat_1_width", "3 concat_1_height"}},
	} {
		var got []string
		for _, p := range c.row.VegaLite()["usermeta"].(object)["embedOptions"].(object)["patch"].([]any) {
			p := p.(object)
			if at, ok := strings.CutPrefix(p["path"].(string), "/signals/"); ok && at != "-" {
				got = append(got, at+" "+p["value"].(object)["name"].(string))
			}
		}
		expect.That(t, slices.Equal(got, c.want), "replaces %q, want %q", got, c.want)
	}
}

// matrix is a figure whose cells keep their shape.
func matrix(n int) *Figure {
	s := square(n)
	names := strings.Split(strings.Repeat("a", n), "")
	return &Figure{X: Axis{Names: names}, Y: Axis{Names: names}, Width: 20 * n, Height: 20 * n, Series: []Series{s}}
}

// A figure alone is as wide as the cell has room for, up to half as much again as it asks for, and a little higher then. A matrix keeps
// its shape, and rows with names their height.
func TestFiguresFollowTheCell(t *testing.T) {
	params := func(f *Figure) string { return fmt.Sprint(f.VegaLite()["params"]) }
	got := params(sized(300, 200))
	expect.That(t, strings.Contains(got, "name:width") && strings.Contains(got, "floor(300 * shrink)") && strings.Contains(got, "floor(200 * sqrt(max(1, shrink)))"), "%v", got)
	rows := sized(300, 200)
	rows.Y.Names = []string{"a", "b"}
	expect.That(t, !strings.Contains(params(rows), "height"), "%v", params(rows))
	got = params(matrix(8))
	expect.That(t, strings.Contains(got, "8 * max(1, floor(20 * shrink))") && strings.Contains(got, "expr:8 * max(1, floor(20 * shrink)) * 1 name:height"),
		"%v", got)
}

// Text, axes and what is drawn in ink have the page's color. Other text can be read on any background.
func TestFiguresFollowTheTheme(t *testing.T) {
	border := Series{Name: "border", Mark: Segments, Ink: true}
	border.Cell(0, 2, 1, 1)
	spec := (&Figure{Title: "t", Series: []Series{border, {Name: "a", X: []float64{0, 2}, Y: []float64{1, 2}}}}).VegaLite()
	config := spec["config"].(object)
	expect.That(t, config["background"] == "transparent", "background %v", config["background"])
	for part, options := range config {
		options, _ := options.(object)
		for name, value := range options {
			expect.That(t, !strings.HasSuffix(strings.ToLower(name), "color") || value == "currentColor" || value == hex(faint),
				"%s of %s is %v", name, part, value)
		}
	}
	for _, background := range []color.NRGBA{white, dark} {
		if r := contrast(faint, background); r < 3 {
			t.Errorf("notes have a contrast of %.2f to %s", r, hex(background))
		}
	}
	layer := spec["layer"].([]any)[0].(object)
	colors := layer["encoding"].(object)["color"].(object)["scale"].(object)["range"].([]any)
	expect.That(t, slices.Equal(colors, []any{"currentColor", hex(base[0])}), "colors %v", colors)
}

// Long words are broken at spaces, to lines that fit.
func TestLongNames(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 20))
	f := &Figure{Y: Axis{Names: []string{"short", long}}, Series: []Series{{Mark: Dots, X: []float64{0, 1}, Y: []float64{0, 1}}}}
	s := expect.Value(Row{f}.prepare())(t)
	name := s.panels[0].y.label(1)
	lines := strings.Split(name, "\n")
	expect.That(t, len(lines) >= 3 && strings.ReplaceAll(name, "\n", " ") == long && s.panels[0].around() <= 250, "%q", name)
	expect.That(t, f.Y.Names[1] == long, "the figure itself has changed")
	f.Title = long
	f.Note = "short"
	title := f.VegaLite()["title"].(object)
	e, ok := title["text"].(object)
	expect.That(t, ok && strings.Contains(e["expr"].(string), "shrink < 0.98 ? ") && title["subtitle"] == "short", "%v", title)
}

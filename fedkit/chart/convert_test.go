package chart

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

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
				if says, _ := title[part].(string); !strings.Contains(html.UnescapeString(svg), says) {
					t.Errorf("%s has no %q", file, says)
				}
			}
			for _, color := range drawn(view) {
				expect.That(t, strings.Contains(svg, color), "%s: nothing is drawn in %s", file, color)
			}
		}
	}
}

// drawn lists the colors of names that have data.
func drawn(v any) (colors []string) {
	switch v := v.(type) {
	case []any:
		for _, w := range v {
			colors = append(colors, drawn(w)...)
		}
	case object:
		encoding, _ := v["encoding"].(object)
		if color, ok := encoding["color"].(object); ok {
			scale := color["scale"].(object)
			for i, name := range scale["domain"].([]any) {
				if slices.ContainsFunc(v["data"].(object)["values"].([]any), func(row any) bool { return row.(object)["s"] == name }) {
					colors = append(colors, strings.Replace(scale["range"].([]any)[i].(string), own, "#333333", 1))
				}
			}
		}
		colors = append(colors, drawn(v["layer"])...)
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
	if size := img.Bounds().Size(); size.X < 600 || size.X > 800 || size.Y < 400 || size.Y > 600 {
		t.Errorf("%v pixels", size)
	}
	if _, _, _, alpha := img.At(0, 0).RGBA(); alpha != 0xffff {
		t.Error("the background is not white")
	}
	if svg := string(expect.Value(os.ReadFile(filepath.Join(dir, "a.svg")))(t)); !strings.HasPrefix(svg, "<svg") {
		t.Errorf("%.100s", svg)
	}
}

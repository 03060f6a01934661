package chart

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

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
		{Row{sized(300, 200), sized(300, 200)}, []string{"0 childWidth"}},
		{Row{sized(300, 200), sized(300, 100)}, []string{"0 childWidth"}},
		{Row{sized(300, 200), sized(400, 200)}, []string{"1 concat_0_width", "2 concat_1_width"}}, // 0 is childHeight
		{Row{sized(300, 200), sized(400, 100)}, []string{"0 concat_0_width", "2 concat_1_width"}},
		{Row{matrix(8), matrix(8)}, []string{"0 childWidth", "1 childHeight"}},
		{Row{matrix(8), sized(300, 200)}, []string{"0 concat_0_width", "1 concat_0_height", "2 concat_1_width"}},
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

// A figure alone is as wide as it wants to be, or as the cell has room for. A matrix keeps its shape.
func TestFiguresFollowTheCell(t *testing.T) {
	params := func(f *Figure) string { return fmt.Sprint(f.VegaLite()["params"]) }
	if got := params(sized(300, 200)); !strings.Contains(got, "name:width") || !strings.Contains(got, "floor(300 * shrink)") || strings.Contains(got, "height") {
		t.Error(got)
	}
	if got := params(matrix(8)); !strings.Contains(got, "8 * max(1, floor(20 * shrink))") || !strings.Contains(got, "expr:8 * max(1, floor(20 * shrink)) * 1 name:height") {
		t.Error(got)
	}
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
	if colors := layer["encoding"].(object)["color"].(object)["scale"].(object)["range"].([]any); !slices.Equal(colors, []any{"currentColor", hex(base[0])}) {
		t.Errorf("colors %v", colors)
	}
}

// Long words are broken at spaces, to lines that fit.
func TestLongNames(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 20))
	f := &Figure{Y: Axis{Names: []string{"short", long}}, Series: []Series{{Mark: Dots, X: []float64{0, 1}, Y: []float64{0, 1}}}}
	s := expect.Value(Row{f}.prepare())(t)
	name := s.panels[0].y.label(1)
	if lines := strings.Split(name, "\n"); len(lines) < 3 || strings.ReplaceAll(name, "\n", " ") != long || s.panels[0].around() > 250 {
		t.Errorf("%q", name)
	}
	expect.That(t, f.Y.Names[1] == long, "the figure itself has changed")
	f.Title = long
	f.Note = "short"
	title := f.VegaLite()["title"].(object)
	if e, ok := title["text"].(object); !ok || !strings.Contains(e["expr"].(string), "shrink < 0.98 ? ") || title["subtitle"] != "short" {
		t.Errorf("%v", title)
	}
}

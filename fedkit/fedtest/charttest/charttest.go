// Package charttest checks charts in tests: specifications against golden files, and PNG images against specifications.
package charttest

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

var update = flag.Bool("update", false, "write the golden specifications anew")

// Chart is a figure, or a row of them.
type Chart interface {
	VegaLite() map[string]any // the specification
	PNG() ([]byte, error)     // the picture
	Err() error               // why it cannot be drawn
}

// Golden checks the chart's specification, and compares it with testdata/name.json. The flag -update writes the file.
func Golden(t *testing.T, name string, c Chart) {
	t.Helper()
	Spec(t, c)
	got, err := json.MarshalIndent(c.VegaLite(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the specification is not that of %s; look at it and run the test with -update if it is right:\n%s", path, got)
	}
}

// Spec fails the test unless the specification has the right schema, holds only what gob and JSON can carry, is light,
// and has columns of the same length in every row of data.
func Spec(t *testing.T, c Chart) {
	t.Helper()
	spec := c.VegaLite()
	if spec["$schema"] != "https://vega.github.io/schema/vega-lite/v5.json" {
		t.Fatalf("schema %v, error %v", spec["$schema"], c.Err())
	}
	walk(spec, "spec", func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if steps, ok := v["transform"].([]any); ok {
				for _, row := range v["data"].(map[string]any)["values"].([]any) {
					columns(t, path, row.(map[string]any), steps[0].(map[string]any)["flatten"].([]any))
				}
			}
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s = %v", path, v)
			}
		case []any, string, bool:
		default:
			t.Errorf("%s is a %T", path, v)
		}
	})
	if err := gob.NewEncoder(new(bytes.Buffer)).Encode(spec); err != nil {
		t.Error("gob:", err)
	}
	if b, err := json.Marshal(spec); err != nil || len(b) > 40_000 { // 30 kB of data, and what says how to draw them
		t.Errorf("JSON: %d bytes, error %v", len(b), err)
	}
}

func columns(t *testing.T, path string, row map[string]any, fields []any) {
	t.Helper()
	n := -1
	for _, field := range fields {
		column := row[field.(string)].([]any)
		if n >= 0 && len(column) != n {
			t.Errorf("%s: column %s has %d values, others %d", path, field, len(column), n)
		}
		n = len(column)
	}
	if n < 1 {
		t.Errorf("%s: an empty row", path)
	}
}

func walk(v any, path string, visit func(path string, v any)) {
	visit(path, v)
	switch v := v.(type) {
	case map[string]any:
		for k, w := range v {
			walk(w, path+"."+k, visit)
		}
	case []any:
		for i, w := range v {
			walk(w, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	}
}

// Drawn fails the test unless the PNG is light, the same each time, and has the color of every name in the specification,
// as one of its layers draws it, in more than a few pixels.
func Drawn(t *testing.T, c Chart) {
	t.Helper()
	file, err := c.PNG()
	if err != nil {
		t.Fatal(err)
	}
	if len(file) > 45_000 {
		t.Errorf("%d bytes", len(file))
	}
	if again, err := c.PNG(); err != nil || !bytes.Equal(file, again) {
		t.Error("the second PNG differs:", err)
	}
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string]bool{}
	walk(c.VegaLite(), "spec", func(_ string, v any) {
		layer, _ := v.(map[string]any)
		encoding, _ := layer["encoding"].(map[string]any)
		colors, ok := encoding["color"].(map[string]any)
		if !ok {
			return
		}
		scale := colors["scale"].(map[string]any)
		for i, name := range scale["domain"].([]any) {
			for _, row := range layer["data"].(map[string]any)["values"].([]any) {
				if name := name.(string); row.(map[string]any)["s"] == name {
					drawn[name] = drawn[name] || has(img, on(scale["range"].([]any)[i].(string), opacity(encoding)))
				}
			}
		}
	})
	for name, ok := range drawn {
		if !ok {
			t.Errorf("nothing is drawn in the color of %q", name)
		}
	}
}

// opacity is how a layer is drawn before anybody clicks.
func opacity(encoding map[string]any) float64 {
	o, ok := encoding["opacity"].(map[string]any)
	if !ok {
		return 1 // of a line, in a layer of its own
	}
	if c, ok := o["condition"].(map[string]any); ok {
		o = c
	}
	return o["value"].(float64)
}

// on returns a color, "#rrggbb" or that of text, as it looks on white.
func on(hex string, opacity float64) color.NRGBA {
	if hex == "currentColor" {
		hex = "#333333"
	}
	n, _ := strconv.ParseInt(hex[1:], 16, 32)
	mix := func(c int64) uint8 { return uint8(255 + opacity*(float64(c)-255) + 0.5) }
	return color.NRGBA{mix(n >> 16), mix(n >> 8 & 255), mix(n & 255), 255}
}

// has says whether a color, or one very near to it, is in the image more than a few times.
func has(img image.Image, want color.NRGBA) bool {
	n := 0
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := img.At(x, y).RGBA()
			d := math.Abs(float64(r>>8)-float64(want.R)) + math.Abs(float64(g>>8)-float64(want.G)) + math.Abs(float64(bl>>8)-float64(want.B))
			if d < 12 {
				n++
			}
		}
	}
	return n > 20
}

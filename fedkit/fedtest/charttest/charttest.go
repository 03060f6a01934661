// Package charttest checks charts in tests, and their specifications against golden files.
package charttest

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden specifications again")

// Chart is a figure, or a row of them.
type Chart interface {
	VegaLite() map[string]any // the specification
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
			if steps, ok := v["transform"].([]any); ok && v["data"] != nil {
				flat, _ := steps[0].(map[string]any)["flatten"].([]any)
				if flat == nil { // after the filter of a pick
					flat = steps[1].(map[string]any)["flatten"].([]any)
				}
				for _, row := range v["data"].(map[string]any)["values"].([]any) {
					columns(t, path, row.(map[string]any), flat)
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

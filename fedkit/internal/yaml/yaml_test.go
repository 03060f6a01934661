package yaml

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/bounds"
)

func TestRead(t *testing.T) {
	got, err := Read([]byte(`
base: &b {z: 1, a: [true, -2, 0.5, 1e-3, ~, "x y", 2001-01-01, 12:30]}
more:
  y: 0
  <<: [*b, {a: hidden, c: 3}]
  z: own
again: *b
`))
	list := []any{true, -2, 0.5, "1e-3", nil, "x y", "2001-01-01", "12:30"}
	b := Map{{"z", 1}, {"a", list}}
	want := Map{{"base", b}, {"more", Map{{"y", 0}, {"a", list}, {"c", 3}, {"z", "own"}}}, {"again", b}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v\nwant %v", got, err, want)
	}
	if p := Plain(got).(map[string]any)["again"]; !reflect.DeepEqual(p, map[string]any{"z": 1, "a": list}) {
		t.Errorf("%v", p)
	}
	if got, err := Read([]byte("# nothing\n")); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// laughs is a file of a kilobyte with 9^8 values.
func laughs() string {
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range 7 {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","))
	}
	return text
}

// Files that would exhaust memory or time are refused, with a short error.
func TestHostileFiles(t *testing.T) {
	const n = 100_000
	for text, want := range map[string]string{
		laughs():                          "more than 100000 values, those that aliases stand for included",
		"a: &a [*a]":                      "more than 100 lists and maps inside one another",
		"a: &a {b: *a}":                   "more than 100 lists",
		"a: " + strings.Repeat("[", n):    "exceeded max depth",
		"a: " + strings.Repeat("{a: ", n): "exceeded max depth",
		strings.Repeat("[", 200) + strings.Repeat("]", 200): "line 1: more than 100 lists",
		"a:\n  " + strings.Repeat("- ", n) + "a":            "exceeded max depth",
		strings.Repeat("? ", n) + "a":                       "exceeded max depth",
		strings.Repeat("- 1\n", n+1):                        "more than 100000 values",
		strings.Repeat("#", 1<<20+1):                        "it has 1048577 bytes: must be at most 1048576",
		"a: 1\na: 2":                                        `line 2: "a" is given twice in one map`,
		"[a]: 1":                                            "line 1: a key must be a word",
		"<<: 1":                                             "line 1: <<: must be a map",
		"a: 1\n---\nb: 2":                                   "it has more than one document",
		"a: *b":                                             "unknown anchor 'b'",
		"a: [":                                              "line 1: ",
	} {
		if v, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.60q: %v, error %.300v, want %s", text, v, err, want)
		}
	}
}

// Values that are read have a bounded size, and can be JSON.
func FuzzRead(f *testing.F) {
	f.Add([]byte("base: {strategy: FedAvg}\nvary:\n  strategy.Local.LR: [0.1, 1e-3]\n"))
	f.Add([]byte("a: &a {b: [1, 'x', \"y\\n\"]}\nc: {<<: *a, d: !!str 1}\n? k\n: |\n  text\n"))
	f.Add([]byte(laughs()))
	f.Add([]byte(strings.Repeat("[", 1000)))
	f.Fuzz(func(t *testing.T, file []byte) {
		var v any
		var err error
		bounds.Check(t, len(file), func() { v, err = Read(file) })
		if err != nil {
			return
		}
		if n := count(v); n > mostValues {
			t.Fatalf("%d values", n)
		}
		_, _ = json.Marshal(Plain(v))
	})
}

func count(value any) (n int) {
	switch v := value.(type) {
	case Map:
		for _, i := range v {
			n += count(i.Value)
		}
	case []any:
		for _, e := range v {
			n += count(e)
		}
	}
	return n + 1
}

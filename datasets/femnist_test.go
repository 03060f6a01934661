package datasets

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// leafJSON is a LEAF file of these writers, numbers written as LEAF's program writes them: byte/255, and 1.0 for white.
func leafJSON(writers ...writer) []byte {
	var users, samples, data []string
	for _, w := range writers {
		var x []string
		for row := range slices.Chunk(w.bytes, len(w.bytes)/len(w.labels)) {
			numbers := make([]string, len(row))
			for i, b := range row {
				numbers[i] = strconv.FormatFloat(float64(b)/255, 'f', -1, 64)
				if b == 0 || b == 255 {
					numbers[i] += ".0"
				}
			}
			x = append(x, "["+strings.Join(numbers, ", ")+"]")
		}
		y := strings.ReplaceAll(fmt.Sprint(w.labels), " ", ", ")
		users = append(users, fmt.Sprintf("%q", w.name))
		samples = append(samples, strconv.Itoa(len(w.labels)))
		data = append(data, fmt.Sprintf(`%q: {"x": [%s], "y": %s}`, w.name, strings.Join(x, ", "), y))
	}
	return fmt.Appendf(nil, `{"users": [%s], "num_samples": [%s], "user_data": {%s}}`,
		strings.Join(users, ", "), strings.Join(samples, ", "), strings.Join(data, ", "))
}

// written is a writer's n images of f pixels.
func written(name string, n, f int) writer {
	w := writer{name: name}
	for i := range n {
		for j := range f {
			w.bytes = append(w.bytes, uint8(31*i+j+len(name)))
		}
		w.labels = append(w.labels, int32((i+61)%62))
	}
	return w
}

func TestFEMNIST(t *testing.T) {
	a, b, c := written("f1_a", 3, 784), written("f22_b", 2, 784), written("c", 1, 784)
	root := putIn(t, "femnist", map[string][]byte{"train/all_data_0.json": leafJSON(b), "train/all_data_1.json": leafJSON(a, c), "train/readme.txt": nil,
		"test/all_data_0.json": leafJSON(c, a), "test/all_data_1.json": leafJSON(b)})
	t.Setenv("FEDKIT_CACHE", t.TempDir())
	t.Setenv("FEDKIT_DATA", root)
	for range 2 { // the same every time
		d := expect.Value(Name("femnist").Make())(t)
		must.M(d.Check())
		if want := []int32{0, 0, 1, 1, 1, 2}; !slices.Equal(d.Train.Owner, want) {
			t.Errorf("owners %v, want %v", d.Train.Owner, want)
		}
		if want := []int32{2, 1, 1, 1, 0, 0}; !slices.Equal(d.Test.Owner, want) {
			t.Errorf("owners of the test part %v, want %v", d.Test.Owner, want)
		}
		if want := slices.Concat(b.bytes, a.bytes, c.bytes); !bytes.Equal(d.Train.Bytes, want) {
			t.Error("pixels differ")
		}
		if want := slices.Concat(c.labels, a.labels, b.labels); !slices.Equal(d.Test.Labels, want) {
			t.Errorf("labels %v, want %v", d.Test.Labels, want)
		}
	}
}

func TestFEMNISTIsNotThere(t *testing.T) {
	root := putIn(t, "femnist", map[string][]byte{"train/a.json": leafJSON(written("a", 1, 784))})
	expect.Error(t, "datasets: femnist: no train/*.json", filepath.Join(root, "femnist"), "LEAF's program")(
		(&Loader{Cache: t.TempDir(), Data: root}).Make(context.Background(), "femnist"))
	root = putIn(t, "femnist", map[string][]byte{"train/a.json": leafJSON(written("a", 1, 783)), "test/a.json": nil})
	expect.Error(t, filepath.Join("train", "a.json")+" is damaged at byte ")((&Loader{Cache: t.TempDir(), Data: root}).Make(context.Background(), "femnist"))
}

// Every byte comes back. The second file uses other forms that JSON allows.
func TestLEAFNumbers(t *testing.T) {
	var w writer
	for i := range 256 {
		w.bytes = append(w.bytes, uint8(i))
	}
	w.name, w.labels = "all", []int32{7}
	got, err := readLEAF(bytes.NewReader(leafJSON(w)), leafImages(256, 62))
	expect.That(t, err == nil && len(got) == 1 && bytes.Equal(got[0].bytes, w.bytes), "%v, error %v", got, err)
	python := `{"users": ["a \"b\" \u00e4"], "num_samples": [2], "more": {"x": [true, false, null, -1.5E+3, "]"]},` +
		` "user_data": {"a \"b\" \u00e4": {"y": [0, 61], "x": [[1.0, 0.00392156862745098], [39.215686274509803e-3, 0.0]]}}}` + "\n"
	got, err = readLEAF(strings.NewReader(python), leafImages(2, 62))
	if err != nil || got[0].name != `a "b" ä` || !bytes.Equal(got[0].bytes, []byte{255, 1, 10, 0}) || !slices.Equal(got[0].labels, []int32{0, 61}) {
		t.Errorf("%v, error %v", got, err)
	}
}

func TestReadLEAFRefuses(t *testing.T) {
	user := func(x, y string) string { return fmt.Sprintf(`{"user_data": {"a": {"x": %s, "y": %s}}}`, x, y) }
	good := user("[[0, 1]]", "[1]")
	for file, want := range map[string]string{
		"":                          "ends after 0 bytes",
		"<html>":                    "is damaged at byte 0: invalid character '<'",
		"{}":                        `has no "user_data"`,
		good[:len(good)-1]:          "ends after 46 bytes",
		good[:20]:                   "ends after 20 bytes",
		good + "{":                  "is damaged at byte 48: something follows the end",
		good + "\x00":               `is damaged at byte 47: invalid character '\x00'`,
		user("[[0, 1]]", "[62]"):    "label 62: must be a whole number in [0, 62)",
		user("[[0, 1]]", "[-1]"):    "label -1",
		user("[[0, 1]]", "[1.5]"):   "label 1.5",
		user("[[0, 1]]", "[1, 2]"):  `user "a": 1 images but 2 labels: must be equal`,
		user("[[0, 1, 0]]", "[1]"):  `is damaged at byte 48: user "a": image 0 has 3 pixels: must have 2`,
		user("[[0]]", "[1]"):        "image 0 has 1 pixels: must have 2",
		user("[[0, 1.01]]", "[1]"):  "image 0 has pixel 1.01: must be one of 0, 1/255, …, 1",
		user("[[0, 0.5]]", "[1]"):   "pixel 0.5",
		user("[[0, 255]]", "[1]"):   "pixel 255",
		user("[[0, 1e999]]", "[1]"): `user "a": 1e999: must be a number`,
		user("[[0, NaN]]", "[1]"):   `is damaged at byte 25: user "a": invalid character 'N'`,
		user("[[0 1]]", "[1]"):      `is damaged at byte 25: user "a": invalid character '1' after array element`,
		user("[[0, 1],]", "[1]"):    `is damaged at byte 25: user "a": invalid character ']'`,
		user(`["a"]`, "[1]"):        "a string: must be an array",
		`{"` + strings.Repeat("a", 300) + `": 1}`:                        "a name of more than 256 bytes",
		`{"a": ` + strings.Repeat("[", 99):                               "ends after 105 bytes",
		`{"a": ` + strings.Repeat("[", 1e5):                              "exceeded max depth",
		`{"user_data": {"a": {"X": [[0, 1]], "y": [1]}}}`:                "0 images but 1 labels",
		`{"user_data": {"a": {"x": null, "y": []}}}`:                     `user "a": null: must be an array`,
		`{"user_data": {"a": {"x": [[0, 1]], "x": [[0, 1]], "y": [1]}}}`: "2 images but 1 labels",
		user(strings.Repeat("[", 1e5), "[1]"):                            "exceeded max depth",
		user("[[0, null]]", "[1]"):                                       "null: must be a number",
		user("[null]", "[1]"):                                            "image 0 has 0 pixels: must have 2",
		user("[[0, 1]]", "[null]"):                                       "null: must be a number",
		user("[[0, 1]]", "null"):                                         `user "a": null: must be an array`,
		user(`[[0, "1"]]`, "[1]"):                                        `"1": must be a number`,
		user("[[0, [1]]]", "[1]"):                                        "[1]: must be a number",
		`{"user_data": null}`:                                            "a value that does not begin with {",
		`{"user_data": {"a": 1}}`:                                        "a value that does not begin with {",
		`{"user_data": {"a": null}}`:                                     `user "a": a value that does not begin with {`,
		`{"user_data": {1: {}}}`:                                         "is damaged at byte 15: invalid character '1'",
		`{"user_data": {"a" {}}}`:                                        `user "a": invalid character '{' after object key`,
		`{"user_data": {}]`:                                              "is damaged at byte 16: invalid character ']'",
		good[:len(good)-1] + ",}":                                        "is damaged at byte 47: invalid character '}'",
		`{"a": "b`:                                                       "ends after 8 bytes",
		`{"a": truth}`:                                                   "is damaged at byte 5: invalid character 't' in literal true",
		"{\"a\nb\": 1}":                                                  "is damaged at byte 1: invalid character",
	} {
		expect.Error(t, want)(readLEAF(strings.NewReader(file), leafImages(2, 62)))
	}
}

func FuzzLEAF(f *testing.F) {
	good := leafJSON(written("a", 2, 3), written("b", 1, 3))
	f.Add(good)
	f.Add(good[:len(good)-2])
	f.Add([]byte(`{"user_data": {"\u0061": {"x": [[1.0, 0.0, 1]], "y": [61]}}, "hierarchies": [[null, true, false, "\""]]}`))
	f.Add([]byte(`{"user_data": {"a": {"x": [[1e400, -0, 1]], "y": [61]}}}`))
	f.Add([]byte(`{"a": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[`))
	f.Add([]byte(`{"a": "` + "\\"))
	f.Add([]byte{})
	f.Add([]byte(`{"user_data": {"a": {"x": ["` + strings.Repeat("s", window) + `"], "y": ["\n"]}}}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		images, errImages := readLEAF(bytes.NewReader(file), leafImages(3, 62))
		characters, errCharacters := readLEAF(bytes.NewReader(file), leafCharacters())
		for _, read := range []struct {
			writers []writer
			err     error
			width   int
		}{{images, errImages, 3}, {characters, errCharacters, window}} {
			expect.Must(t, read.err == nil || read.writers == nil, "writers and an error")
			n := 0
			for _, w := range read.writers {
				n += len(w.bytes) + len(w.labels)
				expect.Must(t, len(w.bytes) == read.width*len(w.labels), "%d bytes, %d labels", len(w.bytes), len(w.labels))
			}
			expect.Must(t, n <= len(file), "%d values from %d bytes", n, len(file))
		}
	})
}

func BenchmarkLEAF(b *testing.B) {
	var writers []writer
	for i := range 20 {
		w := written(fmt.Sprintf("f%d", i), 200, 784)
		for j := range w.bytes { // mostly paper, as handwriting is
			if j%7 != 0 {
				w.bytes[j] = 255
			}
		}
		writers = append(writers, w)
	}
	file := leafJSON(writers...)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		expect.Value(readLEAF(bytes.NewReader(file), leafImages(784, 62)))(b)
	}
}

package parquet_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"fedkit.example/datasets"
	"fedkit.example/datasets/parquet"
	"fedkit.example/fedkit/fedtest/expect"
)

// file writes rows into a new file.
func file[T any](t testing.TB, rows ...T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.parquet")
	expect.OK(t, pq.WriteFile(path, rows, pq.Compression(&pq.Zstd)))
	return path
}

type flower struct {
	Length  float64                `parquet:"length"`
	Petals  []float32              `parquet:"petals,list"`
	Scan    [][]uint16             `parquet:"scan,list"`
	Garden  string                 `parquet:"garden,dict"`
	Species *int64                 `parquet:"species"`
	Blooms  bool                   `parquet:"blooms"`
	Seen    time.Time              `parquet:"seen,timestamp"`
	Where   struct{ X, Y float64 } `parquet:"where"`
	Count   uint32                 `parquet:"count"`
}

// flowers are five rows whose numbers count.
func flowers() (all []flower) {
	for i := range 5 {
		x, species := float32(i), int64(10-i%2)
		all = append(all, flower{Length: float64(i), Petals: []float32{x + 0.25, x + 0.5}, Scan: [][]uint16{{uint16(i)}, {200}}, Garden: []string{"north", "south"}[i/3],
			Species: &species, Blooms: i == 2, Count: math.MaxUint32})
	}
	return all
}

func TestTable(t *testing.T) {
	path := file(t, flowers()...)
	d := expect.Value(parquet.Table{File: path, Test: path, Label: "species", Owner: "garden", Features: []string{"blooms", "petals", "length", "scan", "count"}}.Make())(t)
	if d.Name != "t" || !slices.Equal(d.Shape, []int{7}) || d.Classes != 2 || !slices.Equal(d.Train.Labels, []int32{1, 0, 1, 0, 1}) || !slices.Equal(d.Train.Owner, []int32{0, 0, 0, 1, 1}) ||
		!slices.Equal(d.Test.Row(2, nil), []float32{2, 2.25, 2.5, 2, 200, 1, math.MaxUint32}) {
		t.Errorf("%+v", d)
	}
	d = expect.Value(parquet.Table{File: path, Label: "length", Regression: true, Features: []string{"petals"}, Standardize: true, Name: "petals", Shape: []int{1, 2}}.Make())(t)
	if d.Name != "petals" || d.Train.Len() != 4 || len(d.Train.Targets) != 4 || math.Abs(float64(d.Train.Floats[0]+d.Train.Floats[2]+d.Train.Floats[4]+d.Train.Floats[6])) > 1e-6 {
		t.Errorf("%+v", d)
	}
}

// The same table as CSV gives the same data set, the last column being that of labels.
func TestTableAgreesWithCSV(t *testing.T) {
	type row struct {
		A float32 `parquet:"a"`
		B int16   `parquet:"b"`
		Y string  `parquet:"y"`
	}
	var rows []row
	text := "a,b,y\n"
	for i := range 40 {
		r := row{float32(i) / 3, int16(-i), []string{"yes", "no", "perhaps"}[i%3]}
		rows, text = append(rows, r), text+fmt.Sprintf("%v,%v,%v\n", r.A, r.B, r.Y)
	}
	csv := filepath.Join(t.TempDir(), "t.csv")
	expect.OK(t, os.WriteFile(csv, []byte(text), 0o644))
	want := expect.Value(datasets.CSV{File: csv, Standardize: true, Seed: 3}.Make())(t)
	got := expect.Value(parquet.Table{File: file(t, rows...), Standardize: true, Seed: 3}.Make())(t)
	g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want)
	expect.That(t, g == w, "%s\nwant %s", g, w)
}

// The index of pandas, which is the last column of a table that was filtered or has named rows, is no label and no feature.
func TestIndexOfPandas(t *testing.T) {
	type row struct {
		U, V  float64
		Y     int64
		Id    int64
		Level int64 `parquet:"__index_level_0__"`
		Also  int64 `parquet:"Unnamed: 0"`
	}
	var rows []row
	for i := range int64(10) {
		rows = append(rows, row{float64(i), float64(-i), i % 2, i, i, i})
	}
	range3 := `{"index_columns": [{"kind": "range", "name": null, "start": 0, "stop": 10, "step": 1}]}`
	const index, last = ` was left out as the index of pandas; Features, Label and Owner may name it`, `was taken for the labels; Label names another`
	for _, c := range []struct {
		parquet.Table
		metadata, said string
		features       int
	}{
		{parquet.Table{}, `{"index_columns": ["Id", "__index_level_0__"]}`, `["Id" "__index_level_0__" "Unnamed: 0"]` + index + "\nthe last column, \"Y\", " + last, 2},
		{parquet.Table{}, range3, `["__index_level_0__" "Unnamed: 0"]` + index + "\nthe last column, \"Id\", " + last, 3}, // which others pass on
		{parquet.Table{Label: "Y"}, `{"index_columns": ["Id"]}`, `["Id" "__index_level_0__" "Unnamed: 0"]` + index, 2},
		{parquet.Table{Label: "Y"}, `{"index_columns": "damaged"`, `["__index_level_0__" "Unnamed: 0"]` + index, 3},
		{parquet.Table{Label: "Y", Owner: "Id"}, `{"index_columns": ["Id"]}`, `["__index_level_0__" "Unnamed: 0"]` + index, 2},
		{parquet.Table{Label: "Y", Features: []string{"Id", "U"}}, `{"index_columns": ["Id"]}`, "", 2},
		{parquet.Table{Features: []string{"U"}}, `{"index_columns": ["Id"]}`, "the last column, \"Y\", " + last, 1},
	} {
		c.File, c.UnseenLabels = filepath.Join(t.TempDir(), "t.parquet"), true // Id has another one in each row
		expect.OK(t, pq.WriteFile(c.File, rows, pq.KeyValueMetadata("pandas", c.metadata)))
		stderr := os.Stderr
		os.Stderr = expect.Value(os.Create(c.File + ".said"))(t)
		d, err := c.Make()
		os.Stderr = stderr
		expect.OK(t, err)
		said := strings.ReplaceAll(string(expect.Value(os.ReadFile(c.File+".said"))(t)), "datasets: "+c.File+": ", "")
		expect.That(t, strings.TrimSpace(said) == c.said && d.Features() == c.features,
			"%+v, %s: %d features, said %q, want %d and %q", c.Table, c.metadata, d.Features(), said, c.features, c.said)
	}
}

// The files that pandas writes are read.
func TestTableOfPandas(t *testing.T) {
	python := os.Getenv("FEDKIT_PYTHON")
	if python == "" {
		t.Skip("FEDKIT_PYTHON does not name a Python with pandas and pyarrow")
	}
	path := filepath.Join(t.TempDir(), "t.parquet")
	if said, err := exec.CommandContext(t.Context(), python, "-c", `
import sys, numpy as np, pandas as pd
pd.DataFrame({"x": np.arange(6.) / 4, "list": [np.arange(3) + i for i in range(6)], "who": list("aabbcc"), "y": pd.Categorical(list("uvuvuv"))}).to_parquet(sys.argv[1])
`, path).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, said)
	}
	d := expect.Value(parquet.Table{File: path, Test: path, Label: "y", Owner: "who"}.Make())(t)
	if !slices.Equal(d.Train.Row(5, nil), []float32{1.25, 5, 6, 7}) || !slices.Equal(d.Train.Labels, []int32{0, 1, 0, 1, 0, 1}) || !slices.Equal(d.Train.Owner, []int32{0, 0, 1, 1, 2, 2}) {
		t.Errorf("%+v", d.Train)
	}
}

func TestBadTable(t *testing.T) {
	type xy struct {
		X *float64 `parquet:"x"`
		Y int32    `parquet:"y"`
	}
	type listed struct {
		X []int32 `parquet:"x,list"`
		Y int32   `parquet:"y"`
	}
	one, inf, good := 1.0, math.Inf(1), file(t, flowers()...)
	ok := file(t, xy{&one, 0}, xy{&one, 1}, xy{&one, 1})
	text := filepath.Join(t.TempDir(), "t.csv")
	expect.OK(t, os.WriteFile(text, []byte("a,b\n1,2\n"), 0o644))
	for want, table := range map[string]parquet.Table{
		"parquet.Table: File is empty: must be":                                              {},
		"t.csv: is not a Parquet file, or is incomplete":                                     {File: text},
		"no such.parquet: no such file":                                                      {File: "no such.parquet"},
		`Label = "z": must be one of the columns ["x" "y"]`:                                  {File: ok, Label: "z"},
		`Owner = "y": must be a column without another use`:                                  {File: ok, Owner: "y"},
		`Features = "z": must be one of the columns`:                                         {File: ok, Features: []string{"z"}},
		`column "garden" has values of type STRING: must be numbers or bools; Features`:      {File: good},
		`column "seen" has values of type TIMESTAMP(`:                                        {File: good, Features: []string{"seen"}},
		`column "where" has the parts ["X" "Y"]: must be one value, or a list of them; Fea`:  {File: good, Features: []string{"where"}},
		`column "length" has values of type DOUBLE: must be whole numbers, bools or words; `: {File: good, Label: "length", Features: []string{"count"}},
		`column "petals" has values of type lists of FLOAT: must be whole numbers, bools`:    {File: good, Owner: "petals", Features: []string{"length"}},
		`row 1, column "x": the value is missing: must be there`:                             {File: file(t, xy{&one, 0}, xy{nil, 1})},
		`row 1, column "x": +Inf: must be a finite float32; Features names those to read`:    {File: file(t, xy{&one, 0}, xy{&inf, 1})},
		`row 1, column "x": a list of 1 values: must have 2, as in row 0`:                    {File: file(t, listed{[]int32{1, 2}, 0}, listed{[]int32{1}, 1})},
		`row 0, column "x": the value is missing`:                                            {File: file(t, listed{nil, 0})},
		`has no row: must have one per example`:                                              {File: file[xy](t)},
		`column "y": all labels are "0": must be at least 2`:                                 {File: file(t, xy{&one, 0}, xy{&one, 0})},
		`has the columns ["y"]: must have at least one with features`: {File: file(t, struct {
			Y int32 `parquet:"y"`
		}{1})},
		`t.parquet is there twice: must be once, or its rows would be`: {Files: []string{ok, ok}},
		`must be those of`: {File: ok, Test: file(t, listed{[]int32{1, 2}, 0})},
		`Share = 0.5: must be 0 if a file has the test rows`: {File: ok, Test: ok, Share: 0.5},
		`Share = 0.2 of 3 rows`:                              {File: ok},
		`Shape = [2 2]: must have the product 1`:             {File: ok, Shape: []int{2, 2}},
	} {
		if strings.HasPrefix(want, "Share = 0.2") {
			table.Share = 0.1
			want = "Share = 0.1 of 3 rows: must leave at least one row"
		}
		_, err := table.Make()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "datasets: ") || len(err.Error()) > 500 {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A small file may stand for very many equal rows. They are refused before they fill the memory.
func TestBombInParquet(t *testing.T) {
	expect.Long(t, "reads 32 million values")
	rows := make([]struct{ X, Y int32 }, 1<<20)
	var b bytes.Buffer
	w := pq.NewGenericWriter[struct{ X, Y int32 }](&b, pq.Compression(&pq.Zstd))
	for range 33 {
		expect.Value(w.Write(rows))(t)
	}
	expect.OK(t, w.Close())
	path := filepath.Join(t.TempDir(), "bomb.parquet")
	expect.OK(t, os.WriteFile(path, b.Bytes(), 0o644))
	expect.Error(t, "more than 33554432 numbers")(parquet.Table{File: path}.Make())
}

// Shards are one table, and images are bytes.
func TestImages(t *testing.T) {
	type picture struct {
		Bytes []byte  `parquet:"bytes"`
		Path  *string `parquet:"path,optional"`
	}
	type digit struct {
		Image  *picture `parquet:"image,optional"`
		Hand   int64    `parquet:"hand"` // a number that is not read
		Writer string   `parquet:"writer"`
		Label  int64    `parquet:"label"`
	}
	of := func(writer string, label int64, values ...uint8) digit {
		return digit{Image: &picture{Bytes: gray(t, values...)}, Writer: writer, Label: label}
	}
	files := []string{file(t, of("b", 1, 1, 2), of("a", 0, 3, 4)), file(t, of("a", 1, 5, 6))}
	d := expect.Value(parquet.Table{Files: files, TestFiles: files[1:], Owner: "writer", Name: "digits"}.Make())(t)
	if !slices.Equal(d.Shape, []int{1, 2, 1}) || !slices.Equal(d.Train.Bytes, []uint8{1, 2, 3, 4, 5, 6}) || !slices.Equal(d.Train.Owner, []int32{1, 0, 0}) || !slices.Equal(d.Test.Labels, []int32{1}) ||
		d.Train.Scale != 1.0/255 || d.Check() != nil {
		t.Errorf("%+v", d)
	}
	if d := expect.Value(parquet.Table{Files: files, Shape: []int{2}}.Make())(t); !slices.Equal(d.Shape, []int{2}) || d.Test.Len() != 1 {
		t.Errorf("%+v", d)
	}
	two := file(t, struct {
		A, B picture
		C    int64
	}{})
	for want, table := range map[string]parquet.Table{
		"File = a and Files = [\"b\"]: must be only one":                           {File: "a", Files: []string{"b"}},
		"Test = a and TestFiles = [\"b\"]: must be only one":                       {File: "a", Test: "a", TestFiles: []string{"b"}},
		`has the columns of images ["image"]: Features must be one of`:             {Files: files, Features: []string{"image", "hand"}},
		`has the columns of images ["A" "B"]: Features must be one of them`:        {File: two},
		`column "image" has the parts ["bytes" "path"]: must be one value, or a l`: {Files: files, Label: "image"},
		"Standardize = true: must be false for images":                             {Files: files, Standardize: true},
		"Shape = [3]: must have the product 2, the number":                         {Files: files, Shape: []int{3}},
		"Train: row 3: has 1×3 pixels: must have 1×2, as the first image has":      {Files: append(files, file(t, of("c", 2, 1, 2, 3)))},
		"Test: row 0: has 1×3 pixels: must have 1×2, as the first image has":       {Files: files, Test: file(t, of("c", 2, 1, 2, 3))},
		"Train: row 0: is not a PNG or JPEG image":                                 {File: file(t, digit{Image: &picture{Bytes: []byte("GIF")}})},
		`row 1, column "image": the value is missing: must be there`:               {File: file(t, of("b", 1, 1, 2), digit{})},
		`must be those of`: {Label: "label", Files: append(files, file(t, struct {
			Hand  int64 `parquet:"hand"`
			Label int64 `parquet:"label"`
		}{}))},
	} {
		if _, err := table.Make(); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "datasets: ") || strings.Contains(err.Error(), "Size scales") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The next characters of texts are predicted, in windows or one by one.
func TestTexts(t *testing.T) {
	type line struct {
		Text string `parquet:"text"`
		Role string `parquet:"role"`
		Next string `parquet:"next"`
		Act  int64  `parquet:"act"`
	}
	long := strings.Repeat("To be, or not to be ", 4)
	path := file(t, line{"ab…c", "Iago", "", 1}, line{"", "Bianca", "", 1}, line{long + "xy", "Bianca", "", 2})
	d := expect.Value(parquet.Table{File: path, Test: path, Text: "text", Owner: "role"}.Make())(t)
	at := func(c string) int32 { return int32(strings.Index(datasets.Characters, c)) }
	if l := d.Train.Labels; !slices.Equal(d.Shape, []int{80}) || d.Classes != 80 || d.Train.Len() != 3 || !slices.Equal(d.Train.Owner, []int32{1, 0, 0}) || !slices.Equal(l[:3], []int32{at("b"), at("c"), -1}) ||
		!slices.Equal(l[159:162], []int32{at("x"), at("y"), -1}) || d.Check() != nil {
		t.Errorf("%+v", d)
	}
	path = file(t, line{long, "Iago", "x", 1}, line{long, "Bianca", " ", 1})
	twin := file(t, line{long, "Iago", "x", 1}, line{long, "Bianca", " ", 1})
	d = expect.Value(parquet.Table{Files: []string{path, twin}, Text: "text", Label: "next", Share: 0.5}.Make())(t)
	if !slices.Equal(d.Shape, []int{80}) || d.Classes != 80 || !slices.Equal(d.Train.Labels, []int32{at(" "), at("x")}) && !slices.Equal(d.Train.Labels, []int32{at("x"), at(" ")}) || len(d.Test.Bytes) != 160 {
		t.Errorf("%+v", d)
	}
	for want, table := range map[string]parquet.Table{
		`Text = "text", Features = ["act"], Regression = false: must be no`:    {Features: []string{"act"}},
		`Text = "text", Features = [], Regression = true: must be no feat`:     {Regression: true},
		`Text = "words": must be one of the columns`:                           {Text: "words"},
		`Text = "role": must be a column without another use`:                  {Text: "role", Label: "role"},
		`column "act" has values of type INT(64,true): must be words`:          {Text: "act"},
		"Standardize = true, Shape = []: must be false and [80] for texts":     {Standardize: true},
		"Standardize = false, Shape = [8 10]: must be false and [80] for":      {Shape: []int{8, 10}},
		`Train: row 0: the label has 4 bytes: must be 1 characters`:            {Label: "role"},
		`Train: row 2: the text has 3 bytes: must be 80 characters`:            {Label: "next", Files: []string{path, file(t, line{"abc", "", "x", 1})}},
		`Train: row 0: the text has the character '#': must be one of Charact`: {Label: "next", Files: []string{file(t, line{"#" + long[1:], "", "x", 1})}},
		`Test: row 0: the label has the character '#': must be one of Charact`: {Label: "next", TestFiles: []string{file(t, line{long, "", "#", 1})}},
		`Train: no examples`: {Files: []string{file(t, line{Text: "a"})}},
	} {
		if table.Files == nil {
			table.File = path
		}
		if table.Text == "" {
			table.Text = "text"
		}
		expect.Error(t, "datasets: ", want)(table.Make())
	}
}

// gray is a PNG of one row of pixels.
func gray(t testing.TB, values ...uint8) []byte {
	t.Helper()
	var b bytes.Buffer
	expect.OK(t, png.Encode(&b, &image.Gray{Pix: values, Stride: len(values), Rect: image.Rect(0, 0, len(values), 1)}))
	return b.Bytes()
}

// Damaged files are refused without a panic.
func FuzzTable(f *testing.F) {
	for _, rows := range [][]flower{flowers(), flowers()[:1]} {
		var b bytes.Buffer
		if err := pq.Write(&b, rows); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	for _, content := range hostile(f) {
		f.Add(content)
	}
	path := filepath.Join(f.TempDir(), "fuzz.parquet")
	f.Fuzz(func(t *testing.T, content []byte) {
		expect.OK(t, os.WriteFile(path, content, 0o644))
		d, err := parquet.Table{File: path, Label: "species", Owner: "garden", Features: []string{"petals", "scan", "length"}}.Make()
		if err == nil {
			err = d.Check()
		} else if len(err.Error()) < 2000 {
			return
		}
		expect.OK(t, err)
	})
}

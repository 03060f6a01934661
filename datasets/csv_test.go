package datasets

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/bounds"
	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// saved writes a file into a new folder and returns its path.
func saved(t testing.TB, name, content string) string {
	t.Helper()
	return filepath.Join(tree(t, map[string]string{name: content}), name)
}

const flowers = `length,width,species,garden
1,10,setosa,north
2,20,virginica,north
3,30,setosa,south
4,40, virginica ,south
5,50,setosa,10
`

func TestCSV(t *testing.T) {
	d := must.M1(CSV{File: saved(t, "flowers.csv.gz", string(zipped([]byte("\ufeff"+flowers)))), Label: "species", Owner: "garden"}.Make())
	expect.That(t, d.Name == "flowers" && slices.Equal(d.Shape, []int{2}) && d.Classes == 2 && d.Train.Len() == 4 && d.Test.Len() == 1,
		"%s %v, %d classes, %d and %d rows", d.Name, d.Shape, d.Classes, d.Train.Len(), d.Test.Len())
	held := d.Test.Floats[0] // in row 1 to 5
	for i := range d.Train.Len() {
		x, row := d.Train.Row(i, nil), i+1
		if float32(row) >= held {
			row++
		}
		if !slices.Equal(x, []float32{float32(row), 10 * float32(row)}) || int(d.Train.Labels[i]) != (row+1)%2 || int(d.Train.Owner[i]) != []int{1, 1, 2, 2, 0}[row-1] {
			t.Errorf("row %d: %v, label %d, owner %d", row, x, d.Train.Labels[i], d.Train.Owner[i])
		}
	}
}

// What is given explicitly: a test file, the columns, a shape, labels that are numbers.
func TestCSVOptions(t *testing.T) {
	train := "9, 1,2,3,4, -3\n10, 5,6,7,8, 12.0\n"
	test := "10, 1,1,1,1, 12\n"
	d, err := CSV{File: saved(t, "a.csv", train), Test: saved(t, "b.csv", test), NoHeader: true, Skip: []string{"1"}, Shape: []int{2, 2, 1}, Name: "squares"}.Make()
	expect.OK(t, err)
	if d.Name != "squares" || d.Features() != 4 || !slices.Equal(d.Train.Labels, []int32{0, 1}) || !slices.Equal(d.Test.Labels, []int32{1}) ||
		!slices.Equal(d.Train.Row(1, nil), []float32{5, 6, 7, 8}) {
		t.Errorf("%+v", d)
	}
	d, err = CSV{File: saved(t, "a.csv", train), NoHeader: true, Label: "6", Owner: "1", Regression: true, Share: 0.5}.Make()
	expect.That(t, err == nil && d.Classes == 0 && d.Train.Targets[0]+d.Test.Targets[0] == 9 && d.Train.Labels == nil,
		"%+v, error %v", d, err)
}

func TestCSVStandardize(t *testing.T) {
	d := must.M1(CSV{File: saved(t, "t.csv", "a,b,y\n1,7,0\n3,7,1\n"), Test: saved(t, "u.csv", "a,b,y\n5,9,1\n"), Standardize: true}.Make())
	expect.That(t, slices.Equal(d.Train.Floats, []float32{-1, 0, 1, 0}) && slices.Equal(d.Test.Floats, []float32{3, 2}),
		"%v, %v", d.Train.Floats, d.Test.Floats)
}

// Of every owner's rows of every label the same share is held back; the seed chooses which.
func TestHeldRows(t *testing.T) {
	s := Split{Labels: make([]int32, 100), Owner: make([]int32, 100), Floats: make([]float32, 100)}
	for i := range s.Labels {
		s.Labels[i], s.Owner[i] = int32(i%2), int32(i/10)
	}
	a, b := s.held(0.2, 1, false), s.held(0.2, 2, false)
	expect.That(t, !slices.Equal(a, b) && slices.Equal(a, s.held(0.2, 1, false)), "the seed does not decide")
	count := map[[2]int32]int{}
	for i, held := range a {
		if held {
			count[[2]int32{s.Labels[i], s.Owner[i]}]++
		}
	}
	for key, n := range count {
		expect.That(t, n == 1 && len(count) == 20, "label and owner %v: %d rows, of %d pairs", key, n, len(count))
	}
	d := &Dataset{Shape: []int{1}, Train: s}
	err := d.holdBack(0.29, 0, false)
	expect.That(t, err == nil && d.Train.Len() == 71 && d.Test.Len() == 29, "%d and %d rows, error %v", d.Train.Len(), d.Test.Len(), err)
}

// said returns what is printed on the standard error stream meanwhile.
func said(t *testing.T, f func()) string {
	t.Helper()
	file := expect.Value(os.Create(filepath.Join(t.TempDir(), "said")))(t)
	was := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = was }()
	f()
	expect.OK(t, file.Close())
	return string(expect.Value(os.ReadFile(file.Name()))(t))
}

// Labels that only test rows have would be classes which no model can learn: they are named, with those of training that are spelled
// almost so, and can be allowed.
func TestUnseenLabels(t *testing.T) {
	rows := func(labels ...string) Rows { return Rows{Features: make([]float32, len(labels)), Labels: labels} }
	const allow = ": must have none; Share without Test splits the training rows instead, UnseenLabels allows such labels"
	for _, c := range []struct {
		test []string
		want string
	}{
		{[]string{"<=50K.", ">50K.", ">50K."}, `["<=50K." ">50K."] (is ">50K." the ">50K" of training rows?)`},
		{[]string{">50k"}, `[">50k"] (is ">50k" the ">50K" of training rows?)`},
		{[]string{"-1", "-1"}, `["-1"]`},
		{strings.Split("a b c d e f g h i j", " "), `["a" "b" "c" "d" "e" "f" "g" "h"] … (10)`},
	} {
		table := Table{Train: rows(">50K", "<=50K", "<=50K"), Test: rows(append(c.test, "<=50K")...)}
		want := `datasets: Table: column "Labels": test rows have labels that no training row has, ` + c.want + allow
		_, err := table.Make()
		expect.That(t, err != nil && err.Error() == want, "%v\nwant %s", err, want)
		table.UnseenLabels = true
		if d := expect.Value(table.Make())(t); d.Train.Len() != 3 || d.Test.Len() != len(c.test)+1 || d.Classes < 3 {
			t.Errorf("%+v", d)
		}
	}
	file := CSV{File: saved(t, "train.csv", "a,y\n1,dog\n2,cat\n"), Test: saved(t, "test.csv", "a,y\n1,dog\n2,Zebra\n"), Label: "y"}
	expect.Error(t, `train.csv: column "y": test rows have labels that no training row has, ["Zebra"]: must`)(file.Make())
	file.UnseenLabels = true
	if d := expect.Value(file.Make())(t); d.Classes != 3 {
		t.Errorf("%+v", d)
	}
	dir := tree(t, map[string]string{"train/cat/a.png": gray(0), "train/dog/a.png": gray(1), "test/cat/a.png": gray(2), "test/Dog/a.png": gray(3)})
	images := ImageFolder{Dir: filepath.Join(dir, "train"), Test: filepath.Join(dir, "test")}
	expect.Error(t, `column "folder": test rows have labels that no training row has, ["Dog"] (is "Dog" the "dog" of training rows?)`)(images.Make())
	images.UnseenLabels = true
	if d := expect.Value(images.Make())(t); d.Classes != 3 {
		t.Errorf("%+v", d)
	}
	if d := expect.Value(Table{Train: rows("1", "2"), Test: rows("2.0", "1")}.Make())(t); d.Classes != 2 { // the same numbers
		t.Errorf("%+v", d)
	}
}

// A row of each label stays for training, and other rows are held back instead. If no two rows have the same label, none can be
// held back, unless that is allowed.
func TestHeldRowsOfRareLabels(t *testing.T) {
	labels := []string{"a", "b", "c", "d", "e", "e", "e", "e", "f", "f", "g", "h"}
	for seed := range uint64(20) {
		rows := Rows{Features: make([]float32, len(labels)), Labels: labels}
		d := expect.Value(Table{Train: rows, Share: 0.25, Seed: seed}.Make())(t)
		if _, classes := places(d.Train.Labels); classes != 8 || d.Test.Len() != 3 || slices.Min(d.Test.Labels) < 4 || slices.Max(d.Test.Labels) > 5 {
			t.Errorf("seed %d: trains on %v, is tested on %v", seed, d.Train.Labels, d.Test.Labels)
		}
	}
	ids := CSV{File: saved(t, "ids.csv", "a,id\n"+numbered(50)), Label: "id"}
	expect.Error(t, "ids: Share = 0.2 of 50 rows: no two have the same label, and one of each must stay for training; is this the column of labels? UnseenLabels")(ids.Make())
	ids.UnseenLabels = true
	if d := expect.Value(ids.Make())(t); d.Classes != 50 || d.Test.Len() != 10 {
		t.Errorf("%+v", d)
	}
}

// What a file's first line and first column are taken for is said, or asked: pandas writes row numbers without a name, and iris.data has
// no header.
func TestColumnsOfCSV(t *testing.T) {
	for _, c := range []struct {
		CSV
		content, said string
		features      int
	}{
		{CSV{Label: "y"}, "a,y\n1,0\n2,1\n3,1\n", "", 1},
		{CSV{}, "a,y\n1,0\n2,1\n3,1\n", "t.csv: the last column, \"y\", was taken for the labels; Label names another\n", 1},
		{CSV{Label: "y"}, ",a,y\n7,1,0\n2,2,1\nx,3,1\n", "t.csv: the first column, \"\", was left out as the row numbers that pandas writes; rename it to keep it\n", 1},
		{CSV{Label: "y"}, "Unnamed: 0,a,y\n0,1,0\n1,2,1\n2,3,1\n", "t.csv: the first column, \"Unnamed: 0\", was left out", 1},
		{CSV{Label: "Unnamed: 0"}, "Unnamed: 0,a,y\n0,1,0\n1,2,1\n1,3,1\n", "", 2},
		{CSV{Label: "0"}, "0,1,2\n0,1,0\n1,2,1\n1,3,1\n", "", 2},
		{CSV{NoHeader: true, Label: "3"}, "5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,virginica\n", "", 2},
		{CSV{}, "5.1,2019,y\n5.1,3.5,a\n7.0,3.2,b\n", "", 0},
	} {
		c.File, c.Share = saved(t, "t.csv", c.content), 0.4
		var d *Dataset
		var err error
		if got := said(t, func() { d, err = c.Make() }); !strings.Contains(got, c.said) || (got == "") != (c.said == "") || strings.Count(got, "\n") > 1 {
			t.Errorf("%q: said %q, want %q", c.content, got, c.said)
		}
		if c.features == 0 {
			expect.Error(t, `the first line has numbers for the names of features, ["5.1" "2019"]: must be words; NoHeader if that line is data, Label if it is a header`)(d, err)
		} else if expect.OK(t, err); d.Features() != c.features || d.Train.Len()+d.Test.Len() != 3 {
			t.Errorf("%q: %+v", c.content, d)
		}
	}
}

func TestBadCSV(t *testing.T) {
	long := strings.Repeat("x", 1e6)
	for want, test := range map[string]struct {
		CSV
		content string
	}{
		`line 3, column "b": "n/a": must be a finite number; Skip leaves a column out`: {content: "a,b,y\n1,2,0\n1,n/a,1\n"},
		`line 2, column "a": "": must be a finite number`:                              {content: "a,b,y\n,2,0\n"},
		`line 2, column "a": "NaN": must be a finite`:                                  {content: "a,y\nNaN,0\n"},
		`line 2, column "a": "-inf": must be a finite`:                                 {content: "a,y\n-inf,0\n"},
		`line 2, column "a": "1e39": must be a finite`:                                 {content: "a,y\n1e39,0\n"},
		`line 4 has 4 fields: must have 3, as the first line has`:                      {content: "a,b,y\n1,2,0\n\n1,2,3,0\n"},
		`line 3 has 2 fields: must have 3`:                                             {content: "a,b,y\n1,2,0\n1,2\n"},
		`is empty: must have a line per example`:                                       {content: ""},
		`has no line after its header`:                                                 {content: "a,b,y\n"},
		`column 2 of the first line has no name`:                                       {content: "a,,y\n0,1,0\n"},
		`two columns are named "0": names must differ, or NoHeader`:                    {content: "0,0,1\n1,2,3\n"},
		`Label = "z": must be one of the columns ["a" "y"]`:                            {content: "a,y\n1,0\n", CSV: CSV{Label: "z"}},
		`Owner = "y": must be a column without another use`:                            {content: "a,y\n1,0\n", CSV: CSV{Owner: "y"}},
		`Skip = "x": must be one of the columns`:                                       {content: "a,y\n1,0\n", CSV: CSV{Skip: []string{"x"}}},
		`has the columns ["a;y"], separated by commas: must have at least one with`:    {content: "a;y\n1;0\n"},
		`line 2, column "y": must not be empty`:                                        {content: "a,y\n1,\n"},
		`line 3, column "y": "1.5": must be a whole number or a word; Regression`:      {content: "a,y\n1,1\n1,1.5\n"},
		`line 2, column "y": "nan": must be a whole number or a word`:                  {content: "a,y\n1,nan\n1,2\n"},
		`line 3, column "y": "b": must be a finite number, for Regression`:             {content: "a,y\n1,1\n1,b\n", CSV: CSV{Regression: true}},
		`column "y": all labels are "0": must be at least 2 different ones`:            {content: "a,y\n1,0\n1,0\n"},
		`Shape = [2 2]: must have the product 3, the number of columns`:                {content: "a,b,c,y\n1,2,3,0\n", CSV: CSV{Shape: []int{2, 2}}},
		`Shape = [-1 -1]: must have the product 1`:                                     {content: "a,y\n1,0\n", CSV: CSV{Shape: []int{-1, -1}}},
		`CSV: Share = 1: must be in (0, 1), or 0 for the default of 0.2`:               {content: "a,y\n1,0\n", CSV: CSV{Share: 1}},
		`CSV: Share = NaN: must be in (0, 1)`:                                          {content: "a,y\n1,0\n", CSV: CSV{Share: math.NaN()}},
		`Share = 0.2 of 2 rows: must leave at least one row for training and one`:      {content: "a,y\n1,0\n1,1\n"},
		`Share = 0.5: must be 0 if a file has the test rows, here t.csv`:               {content: "a,y\n1,0\n", CSV: CSV{Share: 0.5, Test: "t.csv"}},
		`line 2, column 2: bare " in non-quoted-field`:                                 {content: "a,y\n1\",0\n"},
		`["a" "b" "c" "d" "e" "f" "g" "h"] … (9)`:                                      {content: "a,b,c,d,e,f,g,h,i\n", CSV: CSV{Label: "z"}},
		`column "y" has 65537 different labels: must be at most 65536; Regression`:     {content: "a,y\n" + numbered(65537)},
		`is a Parquet file: must be comma-separated text; parquet.Table reads it`:      {content: "PAR1\x15\x04\x15\x00"},
		`is a zip archive, such as .npz and .xlsx are: must be comma-separated text`:   {content: "PK\x03\x04\x14\x00\x00"},
		`is a PNG image: must be comma-separated text; ImageFolder reads folders`:      {content: "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"},
		`is an NPY file: must be comma-separated text; NPY reads it`:                   {content: npyFile("<f4", "(1, 1)", false, []float32{1})},
		`is binary: must be comma-separated text`:                                      {content: "\x7fELF\x02\x01\x00\x00\n"},
		`is gzipped twice: must be comma-separated text`:                               {content: string(zipped(zipped([]byte(flowers))))},
		`is text in UTF-16: must be comma-separated text`:                              {content: "\xff\xfea\x00,\x00y\x00\n\x00"},
		`two columns are named "PAR1"`:                                                 {content: "PAR1,PAR1\n1,2\n"},
		`line 2, column "a": "xxx`:                                                     {content: "a,y\n" + long + ",0\n"},
		`line 2, column "xxx`:                                                          {content: long + ",y\nx,0\n"},
		`line 3, column "y": "1.500`:                                                   {content: "a,y\n1,0\n1,1.5" + strings.Repeat("0", 1e6) + "\n"},
		`unexpected EOF`:                                                               {content: string(zipped([]byte(flowers))[:50])},
	} {
		test.File = saved(t, "t.csv", test.content)
		_, err := test.Make()
		option := strings.HasPrefix(want, "CSV: ") || strings.Contains(want, "Share")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "datasets: ") || !option && !strings.Contains(err.Error(), "t.csv") || len(err.Error()) > 500 {
			t.Errorf("%.200q: error %v, want %q and the file's name", test.content, err, want)
		}
	}
	if _, err := (CSV{}).Make(); err == nil || err.Error() != "datasets: CSV: File is empty: must be the path of a file" {
		t.Error(err)
	}
	expect.Error(t, "no such.csv")((CSV{File: "no such.csv"}).Make())
	other := CSV{File: saved(t, "a.csv", "a,y\n1,0\n"), Test: saved(t, "b.csv", "b,y\n1,0\n")}
	expect.Error(t, `b.csv: has the columns ["b" "y"]: must be those of `+other.File+`, ["a" "y"]`)(other.Make())
}

// A table of 100,000 columns is read in about the time of its numbers, whether they are features or left out.
func TestWideCSV(t *testing.T) {
	const columns = 100_000
	names := make([]string, columns)
	for i := range names {
		names[i] = fmt.Sprintf("a rather long name of a column: %d", i)
	}
	file := saved(t, "wide.csv", strings.Join(names, ",")+"\n"+strings.Repeat(strings.Repeat("1,", columns-1)+"0\n"+strings.Repeat("1,", columns-1)+"1\n", 3))
	bounds.Check(t, 1<<20, func() {
		d, err := CSV{File: file, Skip: names[:columns/2]}.Make()
		if err != nil {
			t.Error(err)
		} else if d.Features() != columns/2-1 || d.Train.Len() != 5 {
			t.Errorf("%v, %d rows", d.Shape, d.Train.Len())
		}
	})
}

// Small files whose field, blank lines or rows would fill the memory are refused.
func TestBombsInCSV(t *testing.T) {
	defer func(row int, all int64) { longestRow, unpackedAlways = row, all }(longestRow, unpackedAlways)
	longestRow, unpackedAlways = 1<<20, 4<<20
	for text, want := range map[string]string{
		"x":     "has a row of more than 1 MiB: must be at most as many; is a quotation mark missing?",
		"\n":    "has a row of more than 1 MiB",
		"1,0\n": "unpacks to more than 4 MiB and 200 times its size: must be at most that; unpack it first",
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, "a,y\n1,0\n")
		for range 6 {
			_, _ = io.WriteString(z, strings.Repeat(text, 1<<20))
		}
		_ = z.Close()
		bounds.Check(t, 1<<19, func() { // lists of millions of rows have grown
			err := (CSV{}).read(new(csvFile), &b)
			expect.That(t, err != nil && strings.Contains(err.Error(), want) && len(err.Error()) <= 200, "%.300v, want %s", err, want)
		})
	}
}

// numbered returns n lines whose labels are 0, …, n−1.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "1,%d\n", i)
	}
	return b.String()
}

func TestRanks(t *testing.T) {
	for _, test := range []struct {
		names []string
		want  []int32
		n     int
	}{
		{[]string{"10", "9", "-1", "9.0"}, []int32{2, 1, 0, 1}, 3},
		{[]string{"10", "9", "b"}, []int32{0, 1, 2}, 3},
		{[]string{"9007199254740993", "9007199254740992"}, []int32{1, 0}, 2}, // beyond what a float64 tells apart
		{[]string{"nan", "inf"}, []int32{1, 0}, 2},
	} {
		if got, n := ranks(test.names); !slices.Equal(got, test.want) || n != test.n {
			t.Errorf("%q: %v of %d, want %v of %d", test.names, got, n, test.want, test.n)
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte(flowers), false)
	f.Add([]byte("1,2,3\n4,5,6\n"), true)
	f.Add([]byte(",a,y\n0,1,2\n1,3,4\n"), false)
	f.Add([]byte("a,\"b\ny\",c\r\n1,2,x\r\n\r\n3,4,\"y\"\n"), false)
	f.Add(zipped([]byte(flowers)), false)
	f.Add([]byte("a,y\n1,\"0"), false)
	f.Add([]byte("\ufeffa,y\n0x1p-2,1e400\n"), false)
	f.Fuzz(func(t *testing.T, content []byte, noHeader bool) {
		c := CSV{File: "fuzz.csv", NoHeader: noHeader}
		in := &csvFile{}
		var err error
		bounds.Check(t, len(content), func() { err = c.read(in, bytes.NewReader(content)) })
		if err != nil {
			if len(err.Error()) > 2000 {
				t.Fatal(err)
			}
			return
		}
		n, features := len(in.Labels), len(in.names)-1
		if in.index {
			features--
		}
		expect.Must(t, n != 0 && len(in.Features) == n*features, "%d labels, %d features of %d columns", n, len(in.Features), len(in.names))
		if _, err := (Table{Train: in.Rows}).Make(); err != nil && !strings.Contains(err.Error(), "Share") && !strings.Contains(err.Error(), "labels") {
			t.Fatal(err)
		}
	})
}

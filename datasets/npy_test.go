package datasets

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/bounds"
	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// npyFile returns an NPY file, version 1.
func npyFile(descr, shape string, fortran bool, values any) string {
	order := map[bool]string{true: "True", false: "False"}[fortran]
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	b = append(b, header...)
	b, err := binary.Append(b, binary.LittleEndian, values)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// in returns the same with files of a folder.
func (a NPY) in(dir string) NPY {
	for _, path := range []*string{&a.X, &a.Y, &a.Owner, &a.TestX, &a.TestY, &a.TestOwner} {
		if *path != "" {
			*path = filepath.Join(dir, *path)
		}
	}
	return a
}

func TestNPY(t *testing.T) {
	dir := tree(t, map[string]string{
		"x.npy":     npyFile("<f8", "(5, 2)", false, []float64{0, 0, 1, 10, 2, 20, 3, 30, 4, 40}),
		"y.npy":     npyFile("<i8", "(5,)", false, []int64{0, 2, 0, 2, 0}),
		"r.npy":     npyFile("<f4", "(5, 1)", false, []float32{0, 0.5, 1, 1.5, 2}),
		"who.npy":   npyFile("|u1", "(5,)", false, []uint8{7, 7, 8, 8, 9}),
		"image.npy": npyFile("|u1", "(5, 1, 2)", true, []uint8{0, 1, 2, 3, 4, 100, 101, 102, 103, 104}),
		"first.npy": npyFile("|u1", "(5, 2, 1, 1)", false, []uint8{0, 100, 1, 101, 2, 102, 3, 103, 4, 104}),
	})
	d, err := NPY{X: "x.npy", Y: "y.npy", Owner: "who.npy"}.in(dir).Make()
	expect.OK(t, err)
	expect.That(t, d.Name == "x" && slices.Equal(d.Shape, []int{2}) && d.Classes == 3 && d.Train.Len() == 4 && d.Test.Len() == 1, "%+v", d)
	i := int(d.Test.Floats[0])
	if d.Test.Floats[1] != 10*d.Test.Floats[0] || int(d.Test.Labels[0]) != []int{0, 2, 0, 2, 0}[i] || int(d.Test.Owner[0]) != []int{7, 7, 8, 8, 9}[i] {
		t.Errorf("%+v", d.Test)
	}
	d, err = NPY{X: "image.npy", Y: "r.npy", TestX: "image.npy", TestY: "r.npy", Name: "images"}.in(dir).Make()
	if err != nil || d.Name != "images" || !slices.Equal(d.Shape, []int{1, 2, 1}) || d.Classes != 0 || d.Train.Targets[1] != 0.5 ||
		!slices.Equal(d.Train.Bytes[:4], []uint8{0, 100, 1, 101}) {
		t.Errorf("%+v, error %v", d, err)
	}
	d, err = NPY{X: "first.npy", Y: "y.npy", TestX: "first.npy", TestY: "y.npy", ChannelsFirst: true}.in(dir).Make()
	expect.That(t, err == nil && slices.Equal(d.Shape, []int{1, 1, 2}) && slices.Equal(d.Train.Bytes[:4], []uint8{0, 100, 1, 101}),
		"%+v, error %v", d, err)
}

// Images that plainly have their channels first are not taken for strips with 28 channels; a series of 9 channels is none of them.
func TestNPYChannelsFirst(t *testing.T) {
	for want, shapes := range map[bool][][]int{
		true:  {{1, 28, 28}, {3, 32, 32}, {3, 16, 16}, {4, 64, 64}, {3, 480, 640}},
		false: {{28, 28, 1}, {32, 32, 3}, {16, 16, 64}, {1, 128, 9}, {1, 50, 100}, {4, 4, 512}, {1, 1, 2048}, {3, 7, 7}, {2, 32, 32}, {8, 8, 8}},
	} {
		for _, shape := range shapes {
			got := hasChannelsFirst(shape)
			expect.That(t, got == want, "%v has channels first: %v, want %v", shape, got, want)
		}
	}
	dir := tree(t, map[string]string{"x.npy": npyFile("|u1", "(2, 3, 8, 10)", false, make([]uint8, 480)), "y.npy": npyFile("<i8", "(2,)", false, []int64{0, 1})})
	a := NPY{X: "x.npy", Y: "y.npy", TestX: "x.npy", TestY: "y.npy"}.in(dir)
	expect.Error(t, "x.npy has shape [2 3 8 10]: must be [n, height, width, channels], or set ChannelsFirst for [n, channels, height, width]")(a.Make())
	a.ChannelsFirst = true
	d := expect.Value(a.Make())(t)
	expect.That(t, slices.Equal(d.Shape, []int{8, 10, 3}), "shape %v, want [8 10 3]", d.Shape)
}

// What a model sees of bytes and of other integers is Scale times them: tokens as they are, images of 16 bits in [0, 1].
func TestNPYScale(t *testing.T) {
	dir := tree(t, map[string]string{
		"bytes.npy": npyFile("|u1", "(2, 3)", false, []uint8{0, 1, 255, 7, 8, 9}),
		"long.npy":  npyFile("<i8", "(2, 3)", false, []int64{0, 1, 255, 7, 8, 9}),
		"y.npy":     npyFile("<i8", "(2,)", false, []int64{0, 1}),
	})
	by255 := float32(1.0 / 255)
	for scale, want := range map[float64][]float32{0: nil, 1: {7, 8, 9}, 0.5: {3.5, 4, 4.5}} {
		for _, x := range []string{"bytes.npy", "long.npy"} {
			d, err := NPY{X: x, Y: "y.npy", TestX: x, TestY: "y.npy", Scale: scale}.in(dir).Make()
			if scale == 0 {
				want = map[string][]float32{"bytes.npy": {by255 * 7, by255 * 8, by255 * 9}, "long.npy": {7, 8, 9}}[x]
			}
			expect.That(t, err == nil && slices.Equal(d.Test.Row(1, nil), want) && (d.Test.Bytes != nil) == (x == "bytes.npy"),
				"%s times %v: %+v, %v, want %v", x, scale, d, err, want)
		}
	}
}

// Labels that may be meant otherwise are read as they are, and it is said what would make them the others.
func TestNPYSays(t *testing.T) {
	dir := tree(t, map[string]string{
		"x.npy":      npyFile("<f4", "(4, 1)", false, []float32{1, 2, 3, 4}),
		"y.npy":      npyFile("<i8", "(4,)", false, []int64{0, 1, 1, 0}),
		"gap.npy":    npyFile("<i8", "(4,)", false, []int64{0, 7, 7, 300}),
		"whole.npy":  npyFile("<f8", "(4, 1)", false, []float64{0, 1, 2, 1}),
		"real.npy":   npyFile("<f8", "(4,)", false, []float64{0, 1, 2, 0.5}),
		"single.npy": npyFile("<f4", "(4, 2)", false, []float32{0, 1, 1, 0, 1, 0, 0, 1}),
		"int.npy":    npyFile("<i8", "(4, 2)", false, []int64{0, 1, 1, 0, 1, 0, 0, 1}),
		"masked.npy": npyFile("<i8", "(4, 2)", false, []int64{0, 1, 1, -1, 1, 0, 0, 1}),
	})
	for _, c := range []struct {
		NPY
		want    string
		outputs []int
	}{
		{NPY{Y: "y.npy"}, "", []int{2}},
		{NPY{Y: "gap.npy"}, "3 different whole numbers were taken for labels of 301 classes; np.unique(y, return_inverse=True)[1] makes labels", []int{301}},
		{NPY{Y: "whole.npy"}, "3 different whole numbers were taken for targets of a regression; y.astype(int) makes them labels", []int{1}},
		{NPY{Y: "real.npy"}, "", []int{1}},
		{NPY{Y: "single.npy"}, "2 different whole numbers were taken for targets of a regression in each of 2 columns; y.argmax(1) makes labels of rows with a single 1, and Tags", []int{2}},
		{NPY{Y: "int.npy"}, "2 different whole numbers were taken for labels of 2 classes in each of 2 columns; y.argmax(1) makes labels", []int{2, 2}},
		{NPY{Y: "int.npy", Tags: true}, "", []int{2}},
		{NPY{Y: "masked.npy"}, "", []int{2, 2}},
	} {
		c.X = "x.npy"
		var d *Dataset
		var err error
		if got := said(t, func() { d, err = c.in(dir).Make() }); !strings.Contains(got, c.want) || (got == "") != (c.want == "") || got != "" && !strings.Contains(got, c.Y) {
			t.Errorf("%s: said %q, want %q", c.Y, got, c.want)
		}
		if expect.OK(t, err); !slices.Equal(d.Outputs(), c.outputs) {
			t.Errorf("%s: outputs %v, want %v", c.Y, d.Outputs(), c.outputs)
		}
	}
	unseen := NPY{X: "x.npy", Y: "y.npy", TestX: "x.npy", TestY: "gap.npy"}.in(dir)
	expect.Error(t, `gap.npy: test rows have labels that no training row has, ["300" "7"]: must have none`)(unseen.Make())
	unseen.UnseenLabels = true
	if d := expect.Value(unseen.Make())(t); d.Classes != 301 {
		t.Errorf("%d classes", d.Classes)
	}
}

func TestNPZ(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range map[string]string{
		"x_train": npyFile("<f4", "(5, 1)", false, []float32{0, 1, 2, 3, 4}), "y_train": npyFile("|b1", "(5,)", false, []bool{true, false, true, true, false}),
	} {
		w := must.M1(z.Create(name + ".npy"))
		expect.Value(w.Write([]byte(content)))(t)
	}
	z.Close()
	dir := tree(t, map[string]string{"toy.npz": b.String()})
	d, err := NPY{X: "toy.npz:x_train", Y: "toy.npz:y_train"}.in(dir).Make()
	expect.That(t, err == nil && d.Name == "toy" && d.Classes == 2 && d.Train.Len() == 4, "%+v, error %v", d, err)
	for path, name := range map[string]string{"toy.npz:x_test": "x_test", "toy.npz": ""} {
		_, err = NPY{X: path, Y: "toy.npz:y_train"}.in(dir).Make()
		want := fmt.Sprintf(`toy.npz has no array %q: must be named after a colon, one of [`, name)
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%v, want %s", err, want)
	}
}

func TestBadNPY(t *testing.T) {
	good := npyFile("<f4", "(3, 2)", false, []float32{0, 1, 2, 3, 4, 5})
	dir := tree(t, map[string]string{
		"x.npy":         good,
		"y.npy":         npyFile("<i4", "(3,)", false, []int32{0, 1, 1}),
		"targets.npy":   npyFile("<f4", "(3,)", false, []float32{0, 1, 1}),
		"image.npy":     npyFile("|u1", "(3, 2)", false, []uint8{0, 1, 2, 3, 4, 5}),
		"wide.npy":      npyFile("<f4", "(3, 1)", false, []float32{0, 1, 2}),
		"negative.npy":  npyFile("<i4", "(3,)", false, []int32{0, 1, -1}),
		"large.npy":     npyFile("<u8", "(3,)", false, []uint64{0, 1 << 63, 1}),
		"two.npy":       npyFile("<i4", "(2,)", false, []int32{0, 1}),
		"nan.npy":       npyFile("<f4", "(3, 2)", true, []float32{0, 1, 2, 3, float32(math.NaN()), 5}),
		"huge.npy":      npyFile("<f8", "(3, 2)", false, []float64{0, 1, 2, 1e39, 4, 5}),
		"short.npy":     good[:len(good)-4],
		"cut.npy":       good[:len(good)-3],
		"long.npy":      good + "\x00",
		"bomb.npy":      npyFile("<f4", "(1000000000, 2)", false, []float32{1}),
		"overflow.npy":  npyFile("<f4", "(4611686018427387904, 4)", false, []float32{1}),
		"empty.npy":     npyFile("<f4", "(0, 2)", false, []float32{}),
		"flat.npy":      npyFile("<f4", "(3,)", false, []float32{0, 1, 2}),
		"scalar.npy":    npyFile("<f4", "()", false, []float32{0}),
		"complex.npy":   npyFile("<c8", "(1, 1)", false, []complex64{1}),
		"half.npy":      npyFile("<f2", "(1, 1)", false, []int16{1}),
		"objects.npy":   npyFile("|O", "(1, 1)", false, []int64{1}),
		"header.npy":    "\x93NUMPY\x02\x00\xff\xff\xff\xff  ",
		"damaged.npy":   "\x93NUMPY\x01\x00\x02\x00{}",
		"not.npy":       "hello, world, this is no array",
		"nothing.npy":   "",
		"one class.npy": npyFile("<i4", "(3,)", false, []int32{0, 0, 0}),
		"threes.npy":    npyFile("<i4", "(3,)", false, []int32{3, 3, 3}),
		"x.parquet":     "PAR1\x15\x04\x15\x00",
		"dims.npy":      npyFile("<f4", "("+strings.Repeat("1,", 30000)+")", false, []float32{1}),
		"type.npy":      npyFile(strings.Repeat("x", 60000), "(1, 1)", false, []float32{1}),
		"records.npy":   strings.Replace(good, "'<f4'", "[('a','<f4')]", 1),
		"size.npy":      npyFile("<f4", "(99999999999999999999, 2)", false, []float32{1}),
		"twice.npy":     string(zipped(zipped([]byte(good)))),
		"not.npz":       "hello",
	})
	x := func(path string) NPY { return NPY{X: path, Y: "y.npy"} }
	y := func(path string) NPY { return NPY{X: "x.npy", Y: path} }
	for _, test := range []struct {
		NPY
		want string
	}{
		{x("nan.npy"), "nan.npy: row 1, value 1 is NaN: must be a finite float32"},
		{x("huge.npy"), "huge.npy: row 1, value 1 is +Inf: must be a finite float32"},
		{x("short.npy"), "short.npy ends before its 6 values are complete: unexpected EOF"},
		{x("cut.npy"), "cut.npy ends before its 6 values are complete: unexpected EOF"},
		{x("bomb.npy"), "bomb.npy ends before its 2000000000 values are complete: unexpected EOF"},
		{x("long.npy"), "long.npy continues after its 6 values: nothing may follow"},
		{x("overflow.npy"), "overflow.npy has shape [4611686018427387904 4]: every dimension must be at least 1, and all together at most 2147483648 values"},
		{x("empty.npy"), "empty.npy has shape [0 2]: every dimension must be at least 1"},
		{x("flat.npy"), "flat.npy has shape [3]: must be [n, f], [n, height, width] or [n, height, width, channels]"},
		{x("scalar.npy"), "scalar.npy has shape []: must be [n, f]"},
		{x("complex.npy"), "complex.npy holds values of type <c8: must be bool, int, uint, float32 or float64"},
		{x("half.npy"), "half.npy holds values of type <f2: must be"},
		{x("objects.npy"), "objects.npy holds values of type |O: must be"},
		{x("header.npy"), "header.npy has a header of 4294967295 bytes: must be at most 65536"},
		{x("damaged.npy"), `damaged.npy is damaged, or holds no plain array: its header is "{}"`},
		{x("not.npy"), "not.npy is not an NPY file"},
		{x("nothing.npy"), "nothing.npy is not an NPY file"},
		{x("missing.npy"), "missing.npy: no such file"},
		{x("x.parquet"), "x.parquet is a Parquet file: must be an NPY file"},
		{x("twice.npy"), "twice.npy is gzipped twice: must be an NPY file"},
		{x("dims.npy"), "dims.npy has more than 64 dimensions"},
		{x("type.npy"), "type.npy is damaged, or holds no plain array: its header is \"{'descr': 'xxx"},
		{x("records.npy"), "records.npy is damaged, or holds no plain array: its header is"},
		{x("size.npy"), "size.npy has shape [9223372036854775807 2]: every dimension must be"},
		{x("not.npz:x"), "not.npz: zip: not a valid zip file"},
		{y("two.npy"), "two.npy has shape [2]: must be [3], one value per row of"},
		{y("negative.npy"), "negative.npy: row 2 is -1 (int32): must be a whole number in [0, 65536)"},
		{y("large.npy"), "large.npy: row 1 is 9.223372036854776e+18 (uint64): must be a whole number in [0, 65536)"},
		{y("one class.npy"), "Classes = 1: must be at least 2"},
		{NPY{X: "x.npy", Y: "threes.npy", Share: 0.4}, "x: Labels: all are 3: must be at least 2 different ones"},
		{NPY{X: "x.npy", Y: "y.npy", Owner: "targets.npy"}, "targets.npy: row 0 is 0 (float32): must be a whole number in [0, 2147483648)"},
		{NPY{X: "x.npy", Y: "y.npy", ChannelsFirst: true}, "x.npy has shape [3 2]: must be [n, channels, height, width], for ChannelsFirst"},
		{NPY{X: "x.npy", Y: "y.npy", TestX: "wide.npy", TestY: "y.npy"}, "wide.npy: examples have shape [1]: must be [2], as in"},
		{NPY{X: "x.npy", Y: "y.npy", TestX: "image.npy", TestY: "y.npy"}, "image.npy: must both be of uint8, or neither"},
		{NPY{X: "x.npy", Y: "y.npy", TestX: "x.npy", TestY: "targets.npy"}, "targets.npy: must both be whole numbers, for classes, or both floats"},
		{NPY{X: "x.npy", Y: "y.npy", TestX: "x.npy"}, `must both be files, or neither`},
		{NPY{X: "x.npy", Y: "y.npy", Owner: "y.npy", TestX: "x.npy", TestY: "y.npy"}, `NPY: TestOwner = "": must be a file if TestX and Owner are, and only then`},
		{NPY{X: "x.npy", Y: "y.npy", Share: -1}, "NPY: Share = -1: must be in (0, 1)"},
		{NPY{X: "x.npy", Y: "y.npy", Share: 0.1}, "Share = 0.1 of 3 rows: must leave at least one row"},
		{NPY{X: "x.npy", Y: "y.npy", Scale: math.Inf(1)}, "NPY: Scale = +Inf: must be a finite float32"},
		{NPY{Y: "y.npy"}, "NPY: X is empty: must be the path of a file"},
		{NPY{X: "x.npy"}, "NPY: Y is empty: must be the path of a file"},
	} {
		if _, err := test.in(dir).Make(); err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "datasets: ") || len(err.Error()) > 400 || strings.Contains(err.Error(), "runtime") {
			t.Errorf("%+v:\nerror %v\nwant  %s", test.NPY, err, test.want)
		}
	}
}

// A small file that unpacks to far more than files of numbers do is refused after a part of it.
func TestBombs(t *testing.T) {
	defer func(was int64) { unpackedAlways = was }(unpackedAlways)
	unpackedAlways = 4 << 20
	header := npyFile("|u1", "(2000000000, 1)", false, []uint8{})
	var packed, gz bytes.Buffer
	archive := zip.NewWriter(&packed)
	member := must.M1(archive.Create("x.npy"))
	for _, w := range []io.Writer{member, gzip.NewWriter(&gz)} {
		_, _ = io.WriteString(w, header)
		for range 20 {
			_, _ = w.Write(make([]byte, 1<<20))
		}
		if c, is := w.(io.Closer); is {
			_ = c.Close()
		}
	}
	_ = archive.Close()
	dir := tree(t, map[string]string{"x.npz": packed.String(), "x.npy": gz.String()})
	for _, path := range []string{"x.npz:x", "x.npy"} {
		bounds.Check(t, 0, func() {
			want := "unpacks to more than 4 MiB and 200 times its size"
			expect.Error(t, want)(openArray(filepath.Join(dir, path)))
		})
	}
}

// NumPy's files are read with the values that NumPy reports.
func TestNPYAgreesWithNumPy(t *testing.T) {
	dir := t.TempDir()
	lines := numpy(t, `
import sys, numpy as np
rng = np.random.default_rng(1)
for i, (dtype, shape, order) in enumerate([(d, s, o)
        for d in ["?", "u1", "i1", "<u2", ">i2", "<i4", ">u4", "<i8", ">u8", "<f4", ">f4", "<f8", ">f8"]
        for s in [(5, 3), (5, 2, 3), (5, 2, 3, 4)] for o in "CF"]):
    x = rng.uniform(-100, 100, shape) if "f" in dtype else rng.integers(0, 100, shape)
    x = np.asarray(x.astype(dtype), order=order)
    y = rng.integers(0, 4, 5)
    (np.savez if i % 2 else np.savez_compressed)(f"{sys.argv[1]}/{i}.npz", x=x, y=y)
    seen = x.astype("f4") / np.float32(255 if dtype == "u1" else 1)
    first = len(shape) == 4
    if first:
        seen = seen.transpose(0, 2, 3, 1)
    print(first, *map(int, y), *(float(v).hex() for v in seen.ravel()))
`, dir)
	for i, line := range lines {
		fields := strings.Fields(line)
		path := filepath.Join(dir, fmt.Sprintf("%d.npz", i))
		a := NPY{X: path + ":x", Y: path + ":y", ChannelsFirst: fields[0] == "True"}
		s, shape := expect.Values(a.part(a.X, a.Y, ""))(t)
		d := &Dataset{Shape: shape}
		got := []string{fields[0]}
		for _, l := range s.Labels {
			got = append(got, fmt.Sprint(l))
		}
		for row := range s.Labels {
			for k, v := range s.Row(row, nil) {
				var want float64
				if _, err := fmt.Sscan(fields[6+row*d.Features()+k], &want); err != nil || math.Abs(float64(v)-want) > 1e-7*math.Abs(want) {
					t.Fatalf("array %d, row %d, value %d: %v, want %v, %v", i, row, k, v, want, err)
				}
			}
		}
		expect.That(t, slices.Equal(got, fields[:6]) && len(fields) == 6+5*d.Features(), "array %d: %v, want %v", i, got, fields)
	}
	expect.That(t, len(lines) == 13*3*2, "%d arrays", len(lines))
}

func FuzzNPY(f *testing.F) {
	f.Add([]byte(npyFile("<f4", "(2, 2)", false, []float32{1, 2, 3, 4})))
	f.Add([]byte(npyFile(">i2", "(2, 2, 1)", true, []int16{1, 2, 3, 4})))
	f.Add([]byte(npyFile("|b1", "(3,)", false, []bool{true, false, true})))
	f.Add([]byte(npyFile("<f8", "(99999999, 99999999)", false, []float64{1})))
	f.Add([]byte(npyFile("<U3", "(1,)", false, []int32{1, 2, 3})))
	f.Add([]byte("\x93NUMPY\x09\x00\x02\x00\x00\x00{}"))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\x00\x00{'descr': '"))
	f.Add(zipped([]byte(npyFile("|u1", "(1, 1)", false, []uint8{1}))))
	f.Fuzz(func(t *testing.T, file []byte) {
		var a *array
		var err error
		bounds.Check(t, len(file), func() { a, err = readNPY(bytes.NewReader(file)) })
		if err != nil {
			if strings.Contains(err.Error(), "runtime") || len(err.Error()) > 400 {
				t.Fatal(err)
			}
			return
		}
		n := 1
		for _, k := range a.shape {
			n *= k
		}
		expect.Must(t, n == a.values.Len(), "%d values of shape %v", a.values.Len(), a.shape)
		var s Split
		if shape, err := a.images(len(a.shape) == 4); err == nil && a.fill(&s, 0) == nil {
			d := &Dataset{Shape: shape}
			got := max(len(s.Bytes), len(s.Floats))
			expect.Must(t, got == n && got%d.Features() == 0, "%d features of shape %v", got, shape)
		}
		_, _ = a.whole(0, 10)
	})
}

// numpy returns the lines that a script prints, run with the Python that FEDKIT_PYTHON names, which has NumPy.
func numpy(t *testing.T, script string, args ...string) []string {
	t.Helper()
	python := os.Getenv("FEDKIT_PYTHON")
	if python == "" {
		t.Skip("FEDKIT_PYTHON does not name a Python with NumPy")
	}
	out, err := exec.CommandContext(t.Context(), python, append([]string{"-c", script}, args...)...).CombinedOutput()
	expect.Must(t, err == nil, "%v\n%s", err, out)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

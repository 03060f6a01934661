package weights

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// tensorPickle is a state dict with one tensor "w", as PyTorch pickles it, for the values of a storage and of a view.
func tensorPickle(kind string, n, offset int, size, stride string) string {
	return "\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n" + kind + "\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK" +
		string([]byte{byte(n)}) + "tQK" + string([]byte{byte(offset)}) + size + stride + "\x89ccollections\nOrderedDict\n)RtRs."
}

// zipped is a file of torch.save with a pickle and a storage.
func zipped(t testing.TB, pickle string, data []byte, order string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{"data.pkl": pickle, "data/0": string(data), "byteorder": order} {
		if text == "" {
			continue
		}
		w := expect.Value(z.CreateHeader(&zip.FileHeader{Name: "m/" + name}))(t)
		_, err := w.Write([]byte(text))
		expect.OK(t, err)
	}
	expect.OK(t, z.Close())
	return b.Bytes()
}

// torchRows reads the only tensor of a file, of 2 × 1.
func torchRows(b []byte) ([]float32, error) {
	arrays, err := torchArrays(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	a, err := Pretrained{}.view(small.Params[0], arrays["w"])
	if err != nil {
		return nil, err
	}
	values := make([]float32, 2)
	return values, a.values(values)
}

// Nothing is called, and what does not describe tensors is refused.
func TestDamagedPyTorch(t *testing.T) {
	const whole, unit = "K\x02K\x01\x86", "K\x01K\x01\x86"
	halves := []byte{0, 0x3c, 0, 0xc0, 0, 0x38} // 1, −2, 0.5
	for name, c := range map[string]struct{ pickle, order, want string }{
		"whole":               {tensorPickle("HalfStorage", 3, 0, whole, unit), "little", "[1 -2]"},
		"a view":              {tensorPickle("HalfStorage", 3, 2, whole, "K\x00K\x01\x86"), "", "[0.5 0.5]"},
		"another order":       {tensorPickle("HalfStorage", 3, 0, whole, unit), "big", `byteorder = "big": must be little`},
		"no pickle":           {"", "", "zip = no data.pkl: must be a file of torch.save"},
		"a command":           {"\x80\x02cposix\nsystem\nX\x02\x00\x00\x00ls\x85R.", "", "pickle: global = posix.system: must be one of a dictionary of tensors: no other is called"},
		"a builtin":           {"\x80\x02c__builtin__\neval\n.", "", "pickle: global = __builtin__.eval"},
		"an object of torch":  {"\x80\x02ctorch\nload\n.", "", "pickle: global = torch.load"},
		"a whole model":       {"\x80\x02c__main__\nNet\n.", "", "pickle: global = __main__.Net"},
		"another protocol":    {"\x80\x04\x95.", "", "pickle: protocol = 4: must be 2"},
		"an operation":        {"\x80\x02i", "", "pickle: operation = 0x69 at byte 2: must be one that a dictionary of tensors takes"},
		"cut":                 {"\x80\x02X\xff\xff\xff\xffw", "", "pickle: bytes = 1: must be 4294967295 more: it is cut"},
		"without end":         {"\x80\x02}", "", "pickle: bytes = 0: must be 1 more"},
		"a number":            {"\x80\x02K\x01.", "", "pickle: its value = no dictionary: must be a state dict"},
		"a number by name":    {"\x80\x02}X\x01\x00\x00\x00wK\x01s.", "", `pickle: entry = "w", a int64: must be the name of a tensor`},
		"an empty stack":      {"\x80\x02\x86.", "", "pickle: stack = empty"},
		"no mark":             {"\x80\x02t.", "", "pickle: stack = no mark"},
		"no memory":           {"\x80\x02h\x05.", "", "pickle: memo = 5"},
		"items of nothing":    {"\x80\x02NN)s.", "", "pickle: items = 2"},
		"half an item":        {"\x80\x02}(Nu.", "", "pickle: items = 1"},
		"an odd key":          {"\x80\x02})Ns.", "", "pickle: key = a weights.tuple: must be a name"},
		"attributes of none":  {"\x80\x02N}b.", "", "pickle: attributes = of no dictionary"},
		"a call of nothing":   {"\x80\x02N)R.", "", `pickle: call = "" with 0 values`},
		"a call too much":     {"\x80\x02ccollections\nOrderedDict\nN\x85R.", "", `pickle: call = "collections OrderedDict" with 1 values`},
		"another id":          {"\x80\x02NQ.", "", "pickle: persistent id = 0 values"},
		"a long number":       {"\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.", "", "pickle: number = 9 bytes"},
		"another shape":       {tensorPickle("HalfStorage", 3, 0, "K\x03\x85", "K\x01\x85"), "", "shape = [3]: must be [2 1]"},
		"another type":        {tensorPickle("LongStorage", 3, 0, whole, unit), "", "dtype = I64: must be F32, F16 or BF16"},
		"an unknown type":     {tensorPickle("QInt8Storage", 3, 0, whole, unit), "", "pickle: global = torch.QInt8Storage"},
		"another length":      {tensorPickle("HalfStorage", 4, 0, whole, unit), "", "zip: data/0 = 6 bytes: must be 8, as its tensors say"},
		"beyond its storage":  {tensorPickle("HalfStorage", 3, 3, whole, unit), "", "must be within the 3 values of its storage"},
		"strides beyond":      {tensorPickle("HalfStorage", 3, 0, whole, "K\x04K\x01\x86"), "", "stride = [4 1]: must be within the 3 values of its storage"},
		"axes without stride": {tensorPickle("HalfStorage", 3, 0, whole, "K\x01\x85"), "", "with 6 values: must be that of a tensor"},
	} {
		got := fmt.Sprint(torchRows(zipped(t, c.pickle, halves, c.order)))
		if !strings.Contains(got, c.want) || strings.HasPrefix(c.want, "[1") && !strings.HasSuffix(got, "<nil>") {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	broken := zipped(t, tensorPickle("HalfStorage", 3, 0, whole, unit), halves, "")
	broken[bytes.Index(broken, halves)]++
	expect.Error(t, "checksum")(torchRows(broken))
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	expect.Value(z.Create("m/data.pkl"))(t)
	expect.OK(t, z.Close())
	expect.Error(t, "zip: data.pkl = 0 bytes by method 8: must be stored as it is")(torchRows(packed.Bytes()))
}

// For any pickle: no panic, and no more tensors than it has bytes.
func FuzzPickle(f *testing.F) {
	for _, file := range []string{"testdata/net.pt", "testdata/half.pt"} {
		z := expect.Value(zip.OpenReader(file))(f)
		r := expect.Value(z.File[0].Open())(f)
		f.Add(expect.Value(io.ReadAll(r))(f))
		expect.OK(f, z.Close())
	}
	f.Add([]byte(tensorPickle("HalfStorage", 3, 0, "K\x02K\x01\x86", "K\x01K\x01\x86")))
	f.Fuzz(func(t *testing.T, b []byte) {
		arrays, err := unpickle(b)
		if err == nil && len(arrays) > len(b) {
			t.Errorf("%d tensors of %d bytes", len(arrays), len(b))
		}
		for _, a := range arrays {
			n := 1
			for _, d := range a.shape {
				n *= min(d, 1<<10)
			}
			if n <= 1<<10 && a.n <= 1<<10 {
				a.load = func() ([]byte, error) { return make([]byte, a.n*int(sizes[a.dtype])), nil }
				_ = a.values(make([]float32, n))
			}
		}
	})
}

// For any file: no panic, and no tensor of another size than asked for.
func FuzzPyTorch(f *testing.F) {
	for _, file := range []string{"testdata/net.pt", "testdata/half.pt"} {
		f.Add(expect.Value(os.ReadFile(file))(f))
	}
	f.Add(zipped(f, tensorPickle("HalfStorage", 3, 0, "K\x02K\x01\x86", "K\x01K\x01\x86"), make([]byte, 6), "little"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if values, err := torchRows(b); err == nil && len(values) != 2 {
			t.Errorf("%d values", len(values))
		}
	})
}

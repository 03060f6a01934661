package weights

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/bounds"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/file"
)

var small = &fedkit.Task{Name: "small", Params: []fedkit.Param{{Name: "w", Shape: []int{2, 1}}, {Name: "b", Shape: []int{}}}}

// crafted is a file with a given header and a number of bytes after it.
func crafted(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

// rows reads the models of a file in memory, as LoadSafeTensors does.
func rows(b []byte) ([]float32, error) {
	r, err := read(b)
	if err != nil {
		return nil, err
	}
	values, err := r.rows(prefixes(max(1, len(r.tensors)/len(small.Params))), small)
	if err != nil {
		return nil, err
	}
	return values, r.done()
}

const (
	headerW = `"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}`
	headerB = `"b":{"dtype":"F32","shape":[],"data_offsets":[8,12]}`
)

func TestDamagedSafeTensors(t *testing.T) {
	both := "{" + headerW + "," + headerB + "}"
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"whole":             {crafted(both, 12), ""},
		"with spaces":       {crafted(both+"     ", 12), ""},
		"in another order":  {crafted(`{"w":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]},"b":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 12), ""},
		"empty":             {nil, "file = 0 bytes: must be a safetensors file: at least 8"},
		"without a header":  {crafted("", 0), `header: invalid: its first byte = "": must be {`},
		"long header":       {append(bytes.Repeat([]byte{255}, 8), both...), "length of the header = 18446744073709551615: must be that of a safetensors file: at most"},
		"cut in the header": {crafted(both, 0)[:20], "length of the header ="},
		"cut in the data":   {crafted(both, 11), `tensor "b": data_offsets = [8 12]: must be [8, …] and end by 11`},
		"more data":         {crafted(both, 13), "data = 13 bytes: must be 12, where the last tensor ends"},
		"not JSON":          {crafted("{"+headerW, 8), "header: unexpected end of JSON input"},
		"a list":            {crafted("["+"]", 0), `its first byte = "[": must be {`},
		"a gap":             {crafted(`{`+headerW+`,"b":{"dtype":"F32","shape":[],"data_offsets":[9,13]}}`, 13), `tensor "b": data_offsets = [9 13]: must be [8, …] and end by 13`},
		"an overlap":        {crafted(`{`+headerW+`,"b":{"dtype":"F32","shape":[],"data_offsets":[4,8]}}`, 8), `tensor "b": data_offsets = [4 8]: must be [8, …] and end by 8`},
		"backwards":         {crafted(`{`+headerW+`,"b":{"dtype":"F32","shape":[],"data_offsets":[8,4]}}`, 8), `tensor "b": data_offsets = [8 4]`},
		"before the data":   {crafted(`{"w":{"dtype":"F32","shape":[2,1],"data_offsets":[-8,0]}}`, 0), `tensor "w": data_offsets = [-8 0]`},
		"another dtype":     {crafted(`{"w":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}`, 8), `tensor "w": dtype = BF16: must be F32`},
		"an unknown dtype":  {crafted(`{"w":{"dtype":"F4","shape":[16],"data_offsets":[0,8]}}`, 8), `tensor "w": invalid: dtype = F4: must be one of BF16, BOOL, F16, F32`},
		"a dtype of others": {crafted(`{"w":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},`+headerB+"}", 12), `tensor "w": dtype = F64: must be F32`},
		"a long shape":      {crafted(`{"w":{"dtype":"F32","shape":[3,1],"data_offsets":[0,8]}}`, 8), `tensor "w": invalid: shape = [3 1]: must be 8 bytes of F32`},
		"an endless shape":  {crafted(`{"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}}`, 8), "shape = [4611686018427387904 4]"},
		"a negative shape":  {crafted(`{"w":{"dtype":"F32","shape":[-2,-1],"data_offsets":[0,8]}}`, 8), "shape = [-2 -1]"},
		"another shape":     {crafted(`{"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},`+headerB+"}", 12), `tensor "w": shape = [1 2]: must be [2 1]`},
		"one missing":       {crafted("{"+headerW+"}", 8), `tensor = no "b": must be there`},
		"one more":          {crafted("{"+headerW+","+headerB+`,"c":{"dtype":"I32","shape":[1],"data_offsets":[12,16]}}`, 16), `tensor = "c": must be a parameter of the task's model`},
		"odd metadata":      {crafted(`{"__metadata__":{"schema":1}}`, 0), "header: __metadata__: json: cannot unmarshal"},
	} {
		values, err := rows(c.file)
		expect.Outcome(t, c.want)(err)
		expect.That(t, c.want != "" || len(values) == 3, "%s: %v", name, values)
	}
}

// A newer file is refused by name.
func TestNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	expect.OK(t, file.Stream(path, (&writer{header: map[string]any{metadata: map[string]string{"schema": "2"}}}).write))
	expect.Error(t, "schema = 2: must be 1: a newer fedkit wrote the file")(LoadSafeTensors(path, small))
}

// For any file: no panic, and no more models than it has room for.
func FuzzSafeTensors(f *testing.F) {
	f.Add(crafted("{"+headerW+","+headerB+"}", 12))
	f.Add(crafted(`{"__metadata__":{"schema":"1"},"0/w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}`, 8))
	f.Add(crafted(`{"w":{"dtype":"F32","shape":[0,4611686018427387904],"data_offsets":[0,0]}}`, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		if values, err := rows(b); err == nil && (len(values)%3 != 0 || 4*len(values) > len(b)) {
			t.Errorf("%d values of %d bytes", len(values), len(b))
		}
		if r, err := read(b); err == nil {
			for name, one := range r.tensors {
				if n := len(one.data) / int(sizes[one.DType]); decoders[one.DType] != nil && n > 0 &&
					(Pretrained{}).fill(make([]float32, n), fedkit.Param{Name: name, Shape: one.Shape}, one) == nil && n > len(b)/2 {
					t.Errorf("%d values of %d bytes", n, len(b))
				}
			}
		}
	})
}

// A sparse file of 4 TB is refused before it is read, and so is a header that does not fit.
func TestTensorLargerThanTheMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.safetensors")
	begin := crafted(`{"assign":{"dtype":"I32","shape":[1000000000000],"data_offsets":[0,4000000000000]}}`, 0)
	expect.OK(t, os.WriteFile(path, begin, 0o600))
	expect.OK(t, os.Truncate(path, int64(len(begin))+4e12))
	bounds.Check(t, len(begin), func() {
		expect.Error(t, "weights: "+path+": a file of 4000000000091 bytes takes 8000.0 GB of memory: must be at most the ")(LoadModels(path, small))
	})
	real := room.Free
	room.Free = func() float64 { return 100 }
	t.Cleanup(func() { room.Free = real })
	expect.Error(t, "header: takes 0 MB of memory")(rows(crafted("{"+headerW+","+headerB+"}", 12)))
}

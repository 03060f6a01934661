package datasets

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// idx returns an idx file of unsigned bytes.
func idx(dims []int, values ...byte) []byte {
	b := []byte{0, 0, idxUint8, byte(len(dims))}
	for _, n := range dims {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return append(b, values...)
}

func TestReadIDX(t *testing.T) {
	dims := []int{2, 3}
	good := idx(dims, 1, 2, 3, 4, 5, 6)
	got, err := (&file{dims: dims}).all(bytes.NewReader(good))
	expect.That(t, err == nil && bytes.Equal(got, good), "%v, error %v; want %v", got, err, good)
	altered := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for _, test := range []struct {
		file []byte
		want string
	}{
		{nil, "ends after 0 of 18 bytes"},
		{good[:7], "ends after 7 of 18 bytes"},
		{good[:12], "ends after 12 of 18 bytes"},
		{good[:17], "ends after 17 of 18 bytes"},
		{append(bytes.Clone(good), 0), "continues after its 18 bytes: nothing may follow"},
		{altered(1, 9), "is not an idx file: begins with 00 09, not 00 00"},
		{altered(2, 0x0d), "holds values of type 0x0d: must be 0x08 (unsigned bytes)"},
		{altered(3, 3), "has 3 dimensions: must have 2"},
		{altered(7, 3), "has dimensions [3 3]: must be [2 3]"},
		{altered(8, 0xff), "has dimensions [2 4278190083]: must be [2 3]"},
	} {
		expect.Error(t, test.want)((&file{dims: dims}).all(bytes.NewReader(test.file)))
	}
}

// zeros is an endless reader of zeros.
type zeros struct{ n int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.n += int64(len(p))
	return len(p), nil
}

func TestReadIDXStopsAtItsSize(t *testing.T) {
	endless := &zeros{}
	dims := []int{4, 4}
	_, err := (&file{dims: dims}).all(io.MultiReader(bytes.NewReader(idx(dims)), endless))
	expect.That(t, err != nil && endless.n <= 17, "read %d bytes of values, error %v", endless.n, err)
}

func FuzzIDX(f *testing.F) {
	dims := []int{2, 2, 2}
	good := idx(dims, 1, 2, 3, 4, 5, 6, 7, 8)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(append(bytes.Clone(good), 9))
	f.Add(idx([]int{1 << 30, 1 << 30, 1 << 30}))
	f.Add(idx([]int{8}, 1, 2, 3, 4, 5, 6, 7, 8))
	f.Add(zipped(good))
	f.Add(zipped(good)[:20])
	f.Add([]byte{0x1f, 0x8b})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := gunzip(bytes.NewReader(b))
		if err != nil {
			return
		}
		content, err := (&file{dims: dims}).all(r)
		expect.Must(t, (err == nil) == (len(content) == len(good)), "%d bytes, error %v", len(content), err)
		expect.Must(t, err != nil || bytes.HasPrefix(content, idx(dims)), "accepted % x", content)
		expect.Must(t, !bytes.HasPrefix(b, idx(dims)) || (err == nil) == (len(b) == len(good)), "% x: error %v", b, err)
	})
}

package datasets

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit/fedtest/bounds"
	"fedkit.example/fedkit/fedtest/expect"
)

// memory makes readers believe that so many bytes are free.
func memory(t testing.TB, bytes float64) {
	real := room.Free
	room.Free = func() float64 { return bytes }
	t.Cleanup(func() { room.Free = real })
}

// sparse writes a file that ends in so many zeros, which take no room on a disk.
func sparse(t testing.TB, path, begin string, size int64) {
	t.Helper()
	expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	expect.OK(t, os.WriteFile(path, []byte(begin), 0o600))
	expect.OK(t, os.Truncate(path, size))
}

// pngHead is a gray PNG image of a size, without its pixels.
func pngHead(width, height uint32) string {
	b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), width), height)
	b = append(b, 8, 0, 0, 0, 0)
	return "\x89PNG\r\n\x1a\n\x00\x00\x00\x0d" + string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// Files that are larger than the memory, or unpack to more, are refused by name and with both sizes, before they are read.
func TestFilesLargerThanTheMemory(t *testing.T) {
	memory(t, 3e8)
	dir := t.TempDir()
	in := func(path string) string { return filepath.Join(dir, path) }
	y := npyFile("<i4", "(2,)", false, []int32{0, 1})
	expect.OK(t, os.WriteFile(in("y.npy"), []byte(y), 0o600))
	head := npyFile("<f8", "(2, 1000000000)", false, []float64{1, 2})
	sparse(t, in("x.npy"), head, 16_000_000_000)
	var bomb bytes.Buffer
	z := zip.NewWriter(&bomb)
	w := expect.Value(z.Create("x.npy"))(t)
	expect.Value(w.Write([]byte(npyFile("<f8", "(2, 10000000)", false, make([]float64, 1<<17)))))(t)
	expect.OK(t, z.Close())
	expect.OK(t, os.WriteFile(in("bomb.npz"), bomb.Bytes(), 0o600))
	sparse(t, in("text.txt"), "ROMEO\nO, she doth teach\n", 1e11)
	sparse(t, in("huge/cat/1.png"), pngHead(4, 4), 1e11)
	sparse(t, in("two/cat/1.png"), pngHead(20_000, 20_000), 2_100_000) // 400 million pixels, 1.6 GB in color
	sparse(t, in("two/dog/1.png"), pngHead(20_000, 20_000), 2_100_000)
	sparse(t, in("tall/cat/1.png"), pngHead(1, 1_000_000), 1000)
	for i := range 20 {
		sparse(t, in("many/cat/"+string(rune('a'+i))+".png"), pngHead(5000, 4000), 200_000)
	}
	expect.OK(t, os.MkdirAll(in("device/cat"), 0o700))
	expect.OK(t, os.Symlink("/dev/zero", in("device/cat/1.png")))
	sparse(t, in("table.csv"), "a,b\n1,2\n"+strings.Repeat("1", 5000), 1e11)
	for _, c := range []struct {
		make interface{ Make() (*Dataset, error) }
		want string
	}{
		{NPY{X: in("x.npy"), Y: in("y.npy")}, in("x.npy") + " has 2000000000 values and takes 36.0 GB of memory: must be at most the 300 MB that are free"},
		{NPY{X: in("bomb.npz:x"), Y: in("y.npy")}, in("bomb.npz:x") + " has 20000000 values and takes 360 MB of memory: must be at most the 300 MB"},
		{Text{File: in("text.txt")}, in("text.txt") + " has 100000000000 bytes and takes 2400.0 GB of memory: must be at most the 300 MB that are free"},
		{ImageFolder{Dir: in("huge")}, in("huge/cat/1.png") + " has 100000000000 bytes and takes 100.0 GB of memory: must be at most the 300 MB"},
		{ImageFolder{Dir: in("two")}, "has 2 images of shape [20000 20000 1] and takes 800 MB of memory: must be at most the 300 MB"},
		{ImageFolder{Dir: in("two"), Size: []int{4, 4}}, in("two/cat/1.png") + ": is an image of 20000×20000 pixels, which takes 6.4 GB of memory: must be at most the 300 MB"},
		{ImageFolder{Dir: in("tall"), Size: []int{224, 224}}, in("tall/cat/1.png") + ": is an image of 1000000×1 pixels, which takes 7.2 GB of memory"},
		{ImageFolder{Dir: in("many")}, "has 20 images of shape [4000 5000 1] and takes 400 MB of memory"},
		{ImageFolder{Dir: in("device")}, "device/cat/1.png is not a regular file"},
		{CSV{File: in("table.csv")}, "table.csv: has a row of more than 35 MiB: must be at most as many"},
	} {
		bounds.Check(t, 1<<18, func() { expect.Error(t, "datasets: ", c.want)(c.make.Make()) })
	}
	sparse(t, in("users.json"), `{"users": [], "user_data": {}`, 1e11)
	expect.Error(t, "users.json takes 100.0 GB of memory")(readWriterFile(in("users.json"), leafCharacters()))
	expect.Error(t, "takes 400 MB of memory")((&file{dims: []int{4e8}}).all(strings.NewReader("")))
	memory(t, 1e5)
	rows := "a,b\n" + strings.Repeat("1.25,2\n", 1<<14)
	expect.OK(t, os.WriteFile(in("rows.csv"), []byte(rows), 0o600))
	expect.Error(t, "rows.csv: line 2: reading on takes 1 MB of memory: must be at most the 0 MB that are free")(CSV{File: in("rows.csv")}.Make())
}

// NumPy's format has three versions.
func TestVersionsOfNPY(t *testing.T) {
	file := []byte(npyFile("<f4", "(1, 2)", false, []float32{1, 2}))
	later := slices.Concat([]byte("\x93NUMPY\x03\x00"), file[8:10], []byte{0, 0}, file[10:])
	for version := range 10 {
		file[6], later[6] = byte(version), byte(version)
		_, err := readNPY(bytes.NewReader(file))
		_, last := readNPY(bytes.NewReader(later))
		expect.That(t, (err == nil) == (version == 1) && (last == nil) == (version == 2 || version == 3),
			"version %d: %v, %v", version, err, last)
		if version == 9 {
			expect.Error(t, "is an NPY file of version 9: must be one of version 1, 2 or 3")(err)
		}
	}
}

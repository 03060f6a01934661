package datasets

import (
	"archive/tar"
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

const cifarRow = 1 + 3*cifarPixels // a record of CIFAR-10

// tinyCIFAR is c with ten images per class and file, of classes in descending order; byte j of image i in file f is a mix of
// the three. Superclass k has the classes 5k to 5k + 4.
func tinyCIFAR(c *published, mirrors ...string) (tiny *published, files map[string][]byte, archive []byte) {
	files = map[string][]byte{}
	for f := range c.files {
		var b []byte
		for i := range c.classes {
			if class := c.classes - 1 - i; c.classes == 100 {
				b = append(b, byte(class/5), byte(class))
			} else {
				b = append(b, byte(class))
			}
			for j := range 3 * cifarPixels {
				b = append(b, byte(7*f+31*i+j+j/256))
			}
		}
		files[c.files[f].name], c.files[f].size = b, len(b)
	}
	var buffer bytes.Buffer
	t := tar.NewWriter(&buffer)
	add := func(name string, content []byte) {
		t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))})
		t.Write(content)
	}
	add(c.archive.folder+"/batches.meta.txt", []byte("airplane\n"))
	for i := range c.files { // in another order
		name := c.files[len(c.files)-1-i].name
		add(c.archive.folder+"/"+name, files[name])
	}
	t.Close()
	archive = zipped(buffer.Bytes())
	c.archive.sha256, c.archive.size, c.mirrors = sumOf(archive), int64(len(archive)), mirrors
	return c, files, archive
}

// putIn writes files into the folder under a new root, and returns the root.
func putIn(t testing.TB, folder string, files map[string][]byte) (root string) {
	t.Helper()
	root = t.TempDir()
	must.M(os.MkdirAll(filepath.Join(root, folder), 0o755))
	for name, content := range files {
		path := filepath.Join(root, folder, name)
		must.M(os.MkdirAll(filepath.Dir(path), 0o755))
		must.M(os.WriteFile(path, content, 0o644))
	}
	return root
}

func checkTinyCIFAR(t *testing.T, d *Dataset, name string) {
	t.Helper()
	must.M(d.Check())
	_, files, _ := tinyCIFAR(row("cifar-10"))
	expect.That(t, d.Name == name && d.Train.Len() == 50 && d.Test.Len() == 10,
		"%q with %d and %d rows", d.Name, d.Train.Len(), d.Test.Len())
	// Image 3 of the second file, row 5, column 6, color 2, and the same byte of the test file.
	in, out := 3*cifarRow+1+2*cifarPixels+5*32+6, (5*32+6)*3+2
	if got, want := d.Train.Bytes[13*3*cifarPixels+out], files["data_batch_2.bin"][in]; got != want {
		t.Errorf("a training byte is %d, want %d", got, want)
	}
	if got, want := d.Test.Bytes[3*3*cifarPixels+out], files["test_batch.bin"][in]; got != want {
		t.Errorf("a test byte is %d, want %d", got, want)
	}
	if want := []int32{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}; !slices.Equal(d.Train.Labels[40:], want) || !slices.Equal(d.Test.Labels, want) {
		t.Errorf("labels %v, test %v", d.Train.Labels[40:], d.Test.Labels)
	}
}

func TestCIFARFromFolders(t *testing.T) {
	c, files, archive := tinyCIFAR(row("cifar-10"))
	none := t.TempDir()
	packed := map[string][]byte{c.archive.name: archive}
	for name, test := range map[string]struct {
		l    *Loader
		want string
	}{
		"unpacked":                   {&Loader{Cache: none, Data: putIn(t, c.archive.folder, files)}, "cifar-10 (unverified)"},
		"unpacked in its folder":     {&Loader{Cache: none, Data: putIn(t, "cifar-10/"+c.archive.folder, files)}, "cifar-10 (unverified)"},
		"archive":                    {&Loader{Cache: none, Data: putIn(t, "", packed)}, "cifar-10"},
		"archive in the cache":       {&Loader{Cache: putIn(t, "cifar-10", packed)}, "cifar-10"},
		"cache goes before the data": {&Loader{Cache: putIn(t, "cifar-10", packed), Data: putIn(t, c.archive.folder, files)}, "cifar-10"},
	} {
		t.Run(name, func(t *testing.T) {
			test.l.Offline = true
			checkTinyCIFAR(t, expect.Value(test.l.load(context.Background(), c))(t), test.want)
		})
	}
}

func TestCIFARRefusesDamagedFiles(t *testing.T) {
	c, files, archive := tinyCIFAR(row("cifar-10"))
	good := files["data_batch_3.bin"]
	altered := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for _, test := range map[string]struct {
		file []byte
		want string
	}{
		"empty":       {nil, "data_batch_3.bin ends after 0 of 30730 bytes"},
		"truncated":   {good[:len(good)-1], "data_batch_3.bin ends after 30729 of 30730 bytes"},
		"too long":    {append(bytes.Clone(good), 1), "data_batch_3.bin continues after its 30730 bytes"},
		"no label":    {altered(cifarRow, 10), "data_batch_3.bin has label 10 at image 1: must be below 10"},
		"other label": {altered(0, 8), "there are 6 training images of class 8: must be 5"},
	} {
		changed := map[string][]byte{}
		for name, content := range files {
			changed[name] = content
		}
		changed["data_batch_3.bin"] = test.file
		expect.Error(t, test.want, "datasets: cifar-10: ")((&Loader{Cache: putIn(t, c.archive.folder, changed), Offline: true}).load(context.Background(), c))
	}
	for _, archive := range map[string][]byte{"truncated": archive[:len(archive)/2], "altered": append([]byte{0}, archive[1:]...), "not one": []byte("<html>")} {
		expect.Error(t, c.archive.name+" has SHA-256 ")((&Loader{Cache: putIn(t, "", map[string][]byte{c.archive.name: archive}), Offline: true}).load(context.Background(), c))
	}
	delete(files, "test_batch.bin")
	expect.Error(t, "test_batch.bin")((&Loader{Cache: putIn(t, c.archive.folder, files), Offline: true}).load(context.Background(), c))
}

// Classes are the fine labels, and Coarse has the superclass of each.
func TestCIFAR100(t *testing.T) {
	c, files, archive := tinyCIFAR(row("cifar-100"))
	for name, root := range map[string]string{
		"cifar-100":              putIn(t, "cifar-100", map[string][]byte{c.archive.name: archive}),
		"cifar-100 (unverified)": putIn(t, c.archive.folder, files),
	} {
		d := expect.Value((&Loader{Cache: root, Offline: true}).load(context.Background(), c))(t)
		expect.OK(t, d.Check())
		expect.That(t, d.Name == name && d.Classes == 100 && d.Train.Len() == 100 && d.Test.Len() == 100 && d.Train.Labels[7] == 92,
			"%q: %q, %d classes, %d and %d rows, labels %v", name, d.Name, d.Classes, d.Train.Len(), d.Test.Len(), d.Train.Labels)
		for class, superclass := range d.Coarse {
			expect.Must(t, superclass == class/5 && len(d.Coarse) == 100, "%q: superclasses %v", name, d.Coarse)
		}
		in, out := 3*(cifarRow+1)+2+2*cifarPixels+5*32+6, (5*32+6)*3+2
		expect.That(t, d.Test.Bytes[3*3*cifarPixels+out] == files["test.bin"][in], "%q: a byte is not where it belongs", name)
	}
	for at, test := range map[int]struct {
		to   byte
		want string
	}{
		0:            {20, "test.bin has coarse label 20 at image 0: must be below 20"},
		1:            {100, "test.bin has label 100 at image 0: must be below 100"},
		cifarRow + 1: {3, "there are images of class 98 in the superclasses 19 and 3: must be in one"},
	} {
		bad := map[string][]byte{"train.bin": files["train.bin"], "test.bin": bytes.Clone(files["test.bin"])}
		bad["test.bin"][at] = test.to
		expect.Error(t, test.want, "datasets: cifar-100: ")((&Loader{Cache: putIn(t, c.archive.folder, bad), Offline: true}).load(context.Background(), c))
	}
}

// Channel means and standard deviations over the official training pixels are 0.4914 0.4822 0.4465 and 0.2470 0.2435
// 0.2616, the numbers commonly used to normalize; encoding again shifts them by less than 0.002.
func TestCIFAR10(t *testing.T) {
	l := realData(t, row("cifar-10").archive.folder)
	d := expect.Value(l.Make(context.Background(), "cifar-10"))(t)
	must.M(d.Check())
	expect.That(t, d.Train.Len() == 50000 && d.Test.Len() == 10000 && d.Features() == 3072 && d.Classes == 10,
		"%d train and %d test rows, %d features, %d classes", d.Train.Len(), d.Test.Len(), d.Features(), d.Classes)
	for channel, want := range [][2]float64{{0.4914, 0.2470}, {0.4822, 0.2435}, {0.4465, 0.2616}} {
		var sum, squares, n float64
		for i := channel; i < len(d.Train.Bytes); i += 3 {
			x := float64(d.Train.Bytes[i]) / 255
			sum, squares, n = sum+x, squares+x*x, n+1
		}
		mean := sum / n
		if sd := math.Sqrt(squares/n - mean*mean); math.Abs(mean-want[0]) > 2e-3 || math.Abs(sd-want[1]) > 2e-3 {
			t.Errorf("channel %d: mean %.4f, standard deviation %.4f; want %v", channel, mean, sd, want)
		}
	}
	if want := []int32{6, 9, 9, 4, 1}; d.Name == "cifar-10" && !slices.Equal(d.Train.Labels[:5], want) {
		t.Errorf("labels begin %v, want %v", d.Train.Labels[:5], want)
	}
	if x := d.Train.Row(0, nil); slices.Max(x) > 1 || slices.Min(x) < -1 || slices.Min(x) > -0.5 {
		t.Errorf("a model sees [%v, %v]", slices.Min(x), slices.Max(x))
	}
}

func BenchmarkCIFAR10(b *testing.B) {
	l := realData(b, row("cifar-10").archive.folder)
	b.SetBytes(60000 * cifarRow)
	b.ReportAllocs()
	for b.Loop() {
		expect.Value(l.Make(context.Background(), "cifar-10"))(b)
	}
}

func FuzzCIFAR(f *testing.F) {
	_, files, _ := tinyCIFAR(row("cifar-10"))
	good := files["test_batch.bin"][:2*cifarRow]
	f.Add(good)
	f.Add(good[:cifarRow])
	f.Add(good[:len(good)-1])
	f.Add(append(bytes.Clone(good), 0))
	f.Add(bytes.Repeat([]byte{255}, len(good)))
	f.Add([]byte{})
	f.Add(append(append([]byte{19}, good[:cifarRow]...), append([]byte{0}, good[cifarRow:]...)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		pixels, labels := make([]uint8, 2*3*cifarPixels), make([]int32, 2)
		if len(b) == 2*cifarRow {
			err := cifarImages(b, 10, 0, pixels, labels)
			if valid := b[0] < 10 && b[cifarRow] < 10; (err == nil) != valid {
				t.Fatalf("error %v", err)
			}
			expect.Must(t, err != nil || pixels[len(pixels)-1] == b[len(b)-1] && pixels[1] == b[1+cifarPixels],
				"pixels are not where they belong")
		}
		if row := 1 + cifarRow; len(b) == 2*row {
			err := cifarImages(b, 100, 20, pixels, labels)
			if valid := max(b[0], b[row]) < 20 && max(b[1], b[row+1]) < 100; (err == nil) != valid || valid && labels[1] != int32(b[row+1]) {
				t.Fatalf("two labels: error %v", err)
			}
		}
		// The size is checked before.
		content, err := (&file{size: 2 * cifarRow}).decode(bytes.NewReader(b))
		expect.Must(t, (err == nil) == (len(b) == 2*cifarRow) || bytes.HasPrefix(b, []byte("\x1f\x8b")),
			"%d of %d bytes, error %v", len(content), len(b), err)
	})
}

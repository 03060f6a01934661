package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// realData skips the test if FEDKIT_DATA has no such folder of published files. The loader never uses the network.
func realData(t testing.TB, folder string) *Loader {
	if _, err := os.Stat(filepath.Join(realFiles, folder)); realFiles == "" || err != nil {
		t.Skipf("FEDKIT_DATA names no folder with the published files of %s: %v", folder, err)
	}
	return &Loader{Cache: t.TempDir(), Data: realFiles, Offline: true}
}

// Mean and standard deviation of the training pixels are 0.1307 and 0.3081, the numbers with which PyTorch's MNIST
// example normalizes. The label counts are those of the official files.
func TestMNIST(t *testing.T) {
	d := must.M1(realData(t, "mnist").Make(context.Background(), "mnist"))
	expect.OK(t, d.Check())
	expect.That(t, d.Train.Len() == 60000 && d.Test.Len() == 10000 && d.Features() == 784 && d.Classes == 10,
		"%d train and %d test rows, %d features, %d classes", d.Train.Len(), d.Test.Len(), d.Features(), d.Classes)
	var sum, squares float64
	for _, b := range d.Train.Bytes {
		x := float64(b) / 255
		sum, squares = sum+x, squares+x*x
	}
	n := float64(len(d.Train.Bytes))
	mean := sum / n
	if sd := math.Sqrt(squares/n - mean*mean); math.Abs(mean-0.1307) > 5e-5 || math.Abs(sd-0.3081) > 5e-5 {
		t.Errorf("mean %.4f, standard deviation %.4f; want 0.1307 and 0.3081", mean, sd)
	}
	for i, want := range []int32{5, 0, 4, 1, 9} {
		got := d.Train.Labels[i]
		expect.That(t, got == want, "training label %d is %d, want %d", i, got, want)
	}
}

func TestMNISTByName(t *testing.T) {
	l := realData(t, "mnist")
	t.Setenv("FEDKIT_CACHE", l.Cache)
	t.Setenv("FEDKIT_DATA", l.Data)
	d, err := Name("MNIST").Make()
	expect.That(t, err == nil && d.Name == "mnist", "error %v", err)
}

func BenchmarkMNIST(b *testing.B) {
	l := realData(b, "mnist")
	b.SetBytes(60000*785 + 10000*785)
	for b.Loop() {
		expect.Value(l.Make(context.Background(), "mnist"))(b)
	}
}

// Every row of four idx files makes a data set of files with its names, its shape and the kind of checksum that it has. Offline, it says
// what was tried.
func TestRowsOfIDXFiles(t *testing.T) {
	for _, p := range named {
		if len(p.files) != 4 || p.archive.name != "" {
			continue
		}
		tiny, files := row(Name(p.name)), map[string][]byte{}
		for i := range tiny.files {
			f := &tiny.files[i]
			f.dims = append([]int{2}, f.dims[1:]...)
			content := idx(f.dims, make([]byte, f.bytes()-f.header())...)
			content[len(content)-1] = byte(p.classes - 1)
			files[f.name+".gz"] = zipped(content)
			if f.gz != "" {
				f.gz = sumOf(files[f.name+".gz"])
			} else {
				f.sha256 = sumOf(content)
			}
		}
		d := expect.Value((&Loader{Cache: putIn(t, p.name, files), Offline: true}).load(t.Context(), tiny))(t)
		if d.Name != p.name || !slices.Equal(d.Shape, p.shape) || d.Classes != 10 || !slices.Equal(d.Test.Labels, []int32{0, 9}) || d.Train.Row(1, nil)[783] != 9.0/255 {
			t.Errorf("%s: %s %v, labels %v", p.name, d.Name, d.Shape, d.Test.Labels)
		}
		l := &Loader{Cache: t.TempDir(), Offline: true}
		expect.Error(t, "datasets: "+p.name+": no train-images-idx3-ubyte (nor .gz)", filepath.Join(l.Cache, p.name), "not allowed (Offline)")(l.Make(t.Context(), Name(p.name)))
	}
}

// If checksums are published for the .gz files only, only those files are accepted: not the same content unpacked, or
// compressed in another way.
func TestPublishedGzipOnly(t *testing.T) {
	p, plain := tiny()
	gz := map[string][]byte{}
	for i := range p.files {
		f := &p.files[i]
		gz[f.name+".gz"] = zipped(plain[f.name])
		f.sha256, f.gz = "", sumOf(gz[f.name+".gz"])
	}
	checkTiny(t, expect.Value((&Loader{Cache: putIn(t, "tiny", gz), Offline: true}).load(context.Background(), p))(t))

	other := append([]byte{}, gz["test-images.gz"]...)
	other[9] = 3 // the gzip header's operating system
	for _, file := range map[string][]byte{"unpacked": plain["test-images"], "packed elsewhere": other} {
		gz["test-images.gz"] = file
		want := "the published test-images.gz has " + p.files[2].gz
		expect.Error(t, want)((&Loader{Cache: putIn(t, "tiny", gz), Offline: true}).load(context.Background(), p))
	}
}

func TestFashionMNIST(t *testing.T) {
	for _, f := range row("fashion-mnist").files {
		if sum, err := hex.DecodeString(f.gz); err != nil || len(sum) != sha256.Size || f.sha256 != "" {
			t.Errorf("%s: SHA-256 %q of the .gz, %q of the content", f.name, f.gz, f.sha256)
		}
	}
	l := realData(t, "fashion-mnist")
	d := must.M1(l.Make(context.Background(), "fashion-mnist"))
	if err := d.Check(); err != nil || d.Train.Len() != 60000 || d.Test.Len() != 10000 {
		t.Errorf("%d train and %d test rows, error %v", d.Train.Len(), d.Test.Len(), err)
	}
	var counts [10]int
	for _, label := range d.Train.Labels {
		counts[label]++
	}
	for label, n := range counts {
		expect.That(t, n == 6000, "%d training images of class %d, want 6000", n, label)
	}
}

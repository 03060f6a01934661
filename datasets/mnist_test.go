package datasets

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// realData skips the test if FEDKIT_DATA has no such folder of published files. The loader never uses the network.
func realData(t testing.TB, folder string) *Loader {
	data := os.Getenv("FEDKIT_DATA")
	if data == "" {
		t.Skipf("FEDKIT_DATA is not set: it names a folder with the published files, here those of %s", folder)
	}
	if _, err := os.Stat(filepath.Join(data, folder)); err != nil {
		t.Skipf("FEDKIT_DATA has no %s: %v", folder, err)
	}
	return &Loader{Cache: t.TempDir(), Data: data, Offline: true}
}

// Mean and standard deviation of the training pixels are 0.1307 and 0.3081, the numbers with which PyTorch's MNIST
// example normalizes. The label counts are those of the official files.
func TestMNIST(t *testing.T) {
	d, err := realData(t, "mnist").MNIST(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	if d.Train.Len() != 60000 || d.Test.Len() != 10000 || d.Features() != 784 || d.Classes != 10 {
		t.Errorf("%d train and %d test rows, %d features, %d classes", d.Train.Len(), d.Test.Len(), d.Features(), d.Classes)
	}
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
		if got := d.Train.Labels[i]; got != want {
			t.Errorf("training label %d is %d, want %d", i, got, want)
		}
	}
}

func TestMNISTByName(t *testing.T) {
	l := realData(t, "mnist")
	t.Setenv("FEDKIT_CACHE", l.Cache)
	d, err := ByName("MNIST")
	if err != nil || d.Name != "mnist" {
		t.Errorf("error %v", err)
	}
}

func BenchmarkMNIST(b *testing.B) {
	l := realData(b, "mnist")
	b.SetBytes(60000*785 + 10000*785)
	for b.Loop() {
		if _, err := l.MNIST(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

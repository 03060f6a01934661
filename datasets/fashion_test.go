package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

// If checksums are published for the .gz files only, only those files are accepted: not the same content unpacked, or
// compressed in another way.
func TestPublishedGzipOnly(t *testing.T) {
	p, plain := tiny()
	gz := map[string][]byte{}
	for i := range p.files {
		f := &p.files[i]
		gz[f.name+".gz"] = zipped(plain[f.name])
		sum := sha256.Sum256(gz[f.name+".gz"])
		f.sha256, f.gz = "", hex.EncodeToString(sum[:])
	}
	d, err := (&Loader{Cache: put(t, gz), Offline: true}).load(context.Background(), p)
	checkTiny(t, d, err)

	other := append([]byte{}, gz["test-images.gz"]...)
	other[9] = 3 // the gzip header's operating system
	for name, file := range map[string][]byte{"unpacked": plain["test-images"], "packed elsewhere": other} {
		gz["test-images.gz"] = file
		_, err := (&Loader{Cache: put(t, gz), Offline: true}).load(context.Background(), p)
		if want := "the published test-images.gz has " + p.files[2].gz; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}

func TestFashionMNIST(t *testing.T) {
	for _, f := range fashionMNIST().files {
		if sum, err := hex.DecodeString(f.gz); err != nil || len(sum) != sha256.Size || f.sha256 != "" {
			t.Errorf("%s: SHA-256 %q of the .gz, %q of the content", f.name, f.gz, f.sha256)
		}
	}
	l := realData(t, "fashion-mnist")
	d, err := l.FashionMNIST(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Check(); err != nil || d.Train.Len() != 60000 || d.Test.Len() != 10000 {
		t.Errorf("%d train and %d test rows, error %v", d.Train.Len(), d.Test.Len(), err)
	}
	var counts [10]int
	for _, label := range d.Train.Labels {
		counts[label]++
	}
	for label, n := range counts {
		if n != 6000 {
			t.Errorf("%d training images of class %d, want 6000", n, label)
		}
	}
}

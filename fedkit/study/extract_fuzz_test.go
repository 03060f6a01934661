package study

import (
	"os"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/bounds"
	"github.com/klauspost/compress/zstd"
)

// Arbitrary bytes give an error, or runs with valid histories.
func FuzzReadExtract(f *testing.F) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile("testdata/extract.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"fedkit":"extract","schema":5}` + "\n" + `{"round":1}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var rs Runs
		var err error
		packed := z.EncodeAll(SealExtract(text), nil)
		bounds.Check(t, len(text), func() { rs, err = readExtract(packed) })
		if err != nil {
			return
		}
		for _, r := range rs {
			h, err := r.Light()
			if err != nil || h.Check() != nil {
				t.Errorf("%s: %v, %v", r.ID, err, h.Check())
			}
		}
	})
}

// A round in which the server alone trained, of clients without test examples, has no totals over clients.
func TestExtractOfTheServersRounds(t *testing.T) {
	kept := evaluated([]fedkit.Record{{Round: 1, Server: &fedkit.ServerResult{Steps: 1}, Global: &fedkit.Score{Accuracy: 0.5, Examples: 2}}})
	if len(kept) != 1 || kept[0].Summary != nil || kept[0].Global == nil {
		t.Errorf("%+v", kept)
	}
}

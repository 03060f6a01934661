package study

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/bounds"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/klauspost/compress/zstd"
)

// tuned returns a run of an extract with an accuracy and a loss on test rows, and the same on validation rows if they are not 0.
func tuned(rate string, seed uint64, test, validation float64) *Run {
	r := history.Record{Round: 1, Global: &history.Score{Accuracy: history.Float(test), Loss: history.Float(1 - test)}}
	if validation > 0 {
		r.Validation = &history.Validation{Global: &history.Score{Accuracy: history.Float(validation), Loss: history.Float(1 - validation)}}
	}
	h := &fedkit.History{Name: "FedAvg", Seed: seed, Rounds: []fedkit.Record{r}}
	return &Run{Name: "FedAvg", Labels: []Label{{Key: "η", Value: rate}}, About: h, extract: h}
}

func TestBest(t *testing.T) {
	rs := Runs{tuned("0.1", 1, 0.9, 0.5), tuned("0.1", 2, 0.9, 0.5), tuned("0.3", 1, 0.8, 0.5), tuned("0.3", 2, 0.8, 0.6)}
	failed := tuned("1", 1, 0.9, 0.9)
	failed.Error = "it blew up"
	diverged := Runs{tuned("3", 1, 0.9, 0.9), tuned("3", 2, 0.9, 0)}
	diverged[1].extract.Rounds[0].Validation = &history.Validation{}
	for name, c := range map[string]struct {
		runs Runs
		by   compare.Quantity
		want string
		on   datasets.Part
	}{
		"validation":             {rs, compare.Quantity{}, "0.3", datasets.ValidationPart},
		"lower is better":        {rs, compare.Loss, "0.3", datasets.ValidationPart},
		"test rows alone":        {append(slices.Clone(rs[:3]), tuned("0.3", 2, 0.8, 0)), compare.Accuracy, "0.1", datasets.TestPart},
		"a run failed":           {append(slices.Clone(rs), failed, tuned("1", 2, 0.9, 0.9)), compare.Accuracy, "0.3", datasets.ValidationPart},
		"a run has no figure":    {append(slices.Clone(rs), diverged...), compare.Accuracy, "0.3", datasets.ValidationPart},
		"the first of the equal": {Runs{rs[1], rs[2]}, compare.Accuracy, "0.1", datasets.ValidationPart},
	} {
		best, on, err := c.runs.Best("η", c.by)
		if err != nil || len(best) != len(c.runs.Where("η", c.want)) || !best[0].Is("η", c.want) || on != c.on {
			t.Errorf("%s: %v on part %d, %v; want η %s on part %d", name, best, on, err, c.want, c.on)
		}
	}
	expect.Invalid(t, `study: best ρ: invalid: key = "ρ": must be a label or option of the runs`)(rs.Best("ρ", compare.Accuracy))
	expect.Invalid(t, "runs = 2 with 0.1, and 1 with 0.3: must be the same number for each value")(rs[:3].Best("η", compare.Accuracy))
	expect.Error(t, "no value can be chosen: each has a run that failed, or whose accuracy, validation is not finite")(diverged.Best("η", compare.Accuracy))
}

// An extract keeps the scores on validation rows, and so the choice.
func TestBestOfAnExtract(t *testing.T) {
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.Validation{Of: partition.IID{Clients: 4}}, model.MLP()))(t)
	st := New(t.TempDir())
	st.Log = io.Discard
	for _, lr := range []float64{0.001, 0.1} {
		st.Add(fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: lr}}, fedkit.Options{Rounds: 2}, "η", lr)
	}
	runs, file := expect.Value(st.Run(t.Context()))(t), filepath.Join(t.TempDir(), "some.runs")
	expect.OK(t, runs.Extract(file))
	best, on, err := expect.Value(Open(file))(t).Best("η", compare.Clients)
	if err != nil || !best[0].Is("η", 0.1) || on != datasets.ValidationPart {
		t.Errorf("%v on part %d, %v", best, on, err)
	}
}

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
	kept := evaluated([]fedkit.Record{{Round: 1, Server: &fedkit.ServerResult{Steps: 1}, Global: &fedkit.Score{Accuracy: 0.5, Examples: 2}}}, false)
	expect.That(t, len(kept) == 1 && kept[0].Summary == nil && kept[0].Global != nil, "%+v", kept)
}

package study_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/bounds"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	algorithms "fedkit.example/notebooks/examples"
	"github.com/janpfeifer/must"
	"github.com/klauspost/compress/zstd"
)

// extracted are the runs of an extract of these in a folder.
func extracted(runs study.Runs, dir string) study.Runs {
	path := filepath.Join(dir, "some.runs")
	must.M(runs.Extract(path))
	return must.M1(study.Open(path))
}

// The bytes of links are those since the last evaluation, as all bytes are.
func TestExtractHasLinks(t *testing.T) {
	st := study.New(t.TempDir())
	st.Add(ten(), &algorithms.HierFAVG{Local: fedkit.Local{Batch: 16, LR: 0.1}}, fedkit.Options{Rounds: 5, EvalEvery: 2})
	runs, _ := run(t, st)
	whole, short := must.M1(runs[0].History()), must.M1(extracted(runs, t.TempDir())[0].History())
	one := whole.Rounds[0].Links
	if len(short.Rounds) != 3 || len(one) != 4 {
		t.Fatal(short.Rounds, one)
	}
	for i, r := range short.Rounds {
		for name, n := range r.Links {
			if want := one[name] * fedkit.Float([]int{2, 2, 1}[i]); n != want || len(r.Links) != len(one) {
				t.Errorf("round %d: %v bytes %s, want %v", r.Round, n, name, want)
			}
		}
	}
	for _, q := range []compare.Quantity{compare.Link("client_to_edge"), compare.Sent} {
		if a, b := q.Of(whole)[0], q.Of(short)[0]; a != b || !(a > 0) {
			t.Errorf("%s: %v, and %v in the extract", q.Name, a, b)
		}
	}
}

// An extract has what identifies runs and how they ended, without their folder.
func TestExtractSaysWhichRuns(t *testing.T) {
	fed, st := must.M1(ten().HoldOut(2, 1)), study.New(t.TempDir())
	o := fedkit.Options{Rounds: 5, EvalEvery: 2, Metrics: []fedkit.Metric{metric.MacroF1{}}}
	st.Add(fed, avg(0.1), o, "η", 0.1)
	st.Add(fed, &strategy.IFCA{K: 2, Local: fedkit.Local{Batch: 16, LR: 0.1}}, o)
	st.Add(fed, avg(math.MaxFloat32), o, "η", "huge")
	runs, _ := run(t, st)
	all := extracted(runs, t.TempDir())
	if must.M(os.RemoveAll(st.Dir)); len(all) != 3 || len(all.Failed()) != 1 {
		t.Fatal(all)
	}
	for i, r := range all {
		if want := runs[i]; r.ID != want.ID || r.Key != want.Key || r.Name != want.Name || !slices.Equal(r.Labels, want.Labels) || r.Error != want.Error || r.Rounds != want.Rounds {
			t.Errorf("%+v\nwant %+v", r, want)
		}
		if r.Is("Local.LR", 0.1) != runs[i].Is("Local.LR", 0.1) || r.Size() != 0 {
			t.Errorf("%s: other options, or %d bytes", r.ID, r.Size())
		}
	}
	expect.Error(t, "it is in an extract")(all.Remove())
}

// An extract's histories have the numbers of the original histories.
func TestExtractHasTheNumbers(t *testing.T) {
	dir := t.TempDir()
	st := study.New(filepath.Join(dir, "runs"))
	for seed := range uint64(3) {
		st.Add(ten(), avg(0.1), fedkit.Options{Rounds: 7, EvalEvery: 3, Seed: seed})
	}
	three(st, ten(), &strategy.IFCA{K: 2, Local: fedkit.Local{Batch: 16, LR: 0.1}}, 4)
	runs, _ := run(t, st)
	all := extracted(runs, dir)
	for _, q := range []compare.Quantity{compare.Accuracy, compare.Best, compare.Clients, compare.Worst, compare.Loss, compare.Rounds,
		compare.Down, compare.Up, compare.Clusters, compare.RoundsTo(0.5), compare.BytesTo(0.5)} {
		got, want := q.Of(all.Light()...), q.Of(runs.Light()...)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 5.001e-5 && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
				t.Errorf("%s of run %d: %v, want %v", q.Name, i, got[i], want[i])
			}
		}
	}
	// Writing the runs again gives the same file.
	again := filepath.Join(dir, "again.runs")
	must.M(all.Extract(again))
	a, _ := os.ReadFile(filepath.Join(dir, "some.runs"))
	if b, _ := os.ReadFile(again); !bytes.Equal(a, b) {
		t.Errorf("%d bytes, then %d others", len(a), len(b))
	}
	// Of ends there is one round, which has the bytes of all.
	must.M(all.ExtractEnds(again))
	ends := must.M1(study.Open(again))
	for _, q := range []compare.Quantity{compare.Accuracy, compare.Clients, compare.Down, compare.Up, compare.Clusters} {
		got, want := q.Of(ends.Light()...), q.Of(all.Light()...)
		for i := range want {
			if rounds := len(ends.Light()[i].Rounds); rounds != 1 || got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
				t.Errorf("%s of the end of run %d: %v, want %v; %d rounds", q.Name, i, got[i], want[i], rounds)
			}
		}
	}
	expect.Error(t, "is there twice")(append(all, all[0]).Extract(again))
	if err := (study.Runs{}).Extract(again); err == nil {
		t.Error("an extract of nothing")
	}
}

func TestExtractThatIsNone(t *testing.T) {
	dir := t.TempDir()
	z, _ := zstd.NewWriter(nil)
	path := filepath.Join(dir, "x.runs")
	const head = `{"fedkit":"extract","schema":5}` + "\n"
	for text, want := range map[string]string{
		"":                                       "it is not an extract of runs",
		"{}":                                     "it is not an extract of runs",
		`{"fedkit":"extract","schema":6}` + "\n": "a newer fedkit wrote it: schema 6",
		`{"fedkit":"extract","schema":4,"runs":0}` + "\n": "an older fedkit wrote it, with schema 4: extract the runs again, or read it with that version",
		head + "{}\n":               "run 1: it is not a run",
		head + "\n":                 "run 1: EOF",
		head + `{"round":1}` + "\n": "it is damaged: it has a round before the first run",
		// Small files that would take memory or time out of proportion to their size.
		head + strings.Repeat("0,", 10<<20):                      "it unpacks to more than 16 MiB and 200 times its size",
		head + strings.Repeat("\n", 1<<20):                       "it has 1048576 runs, must be at most 100000",
		head + `{"` + strings.Repeat("a", 1<<20) + `":1}` + "\n": "run 1: json: unknown field \"aaa",
	} {
		must.M(os.WriteFile(path, z.EncodeAll(study.SealExtract([]byte(text)), nil), 0o600))
		bounds.Check(t, 1<<20, func() {
			if _, err := study.Open(path); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1200 {
				t.Errorf("%.100s\n%.2000v, want %s", text, err, want)
			}
		})
	}
	if _, err := study.Open(filepath.Join(dir, "none.runs")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	must.M(os.WriteFile(path, nil, 0o600))
	must.M(os.Truncate(path, 5e12))
	if _, err := study.Open(path); err == nil || !strings.Contains(err.Error(), path+" has 5000000000000 bytes and takes 5000.0 GB of memory") {
		t.Error(err)
	}
	must.M(os.WriteFile(path, []byte("not compressed"), 0o600))
	if _, err := study.Open(path); err == nil {
		t.Error("no error for a file that is not compressed")
	}
}

// An extract with edited numbers is refused: by its checksum or, if that was made again, because a run contradicts them.
func TestExtractThatWasEdited(t *testing.T) {
	whole := must.M1(os.ReadFile("testdata/extract.jsonl"))
	z, _ := zstd.NewWriter(nil)
	path := filepath.Join(t.TempDir(), "x.runs")
	good := study.SealExtract(whole)
	for _, c := range []struct {
		what, want string
		text       []byte
	}{
		{"nothing", "", good},
		{"an accuracy", "altered, or cut off: its checksum does not match", bytes.Replace(good, []byte(`"accuracy":0.1309,`), []byte(`"accuracy":9.19,`), 1)},
		{"a run's accuracy", "altered, or cut off: its checksum does not match", bytes.Replace(good, []byte(`"accuracy":0.25`), []byte(`"accuracy":9.19`), 1)},
		{"its end", "altered, or cut off: its checksum does not match", whole},
		{"the last round", "altered, or cut off: its checksum does not match", good[:len(good)-80]},
		{"the accuracy and the checksum", "FedAvg, seed 0, has 3 rounds and an accuracy of 0.2563, and its figures 3 and 9.3154",
			study.SealExtract(bytes.Replace(whole, []byte(`"accuracy":0.2563,`), []byte(`"accuracy":9.3154,`), 1))},
		{"a round that comes again", "run 1: record 2: round 2 after round 2", study.SealExtract(bytes.Replace(whole, []byte("{\"round\":3,"), []byte("{\"round\":2}\n{\"round\":3,"), 1))},
		{"the name of a strategy", `it is damaged: its strategy is "../FedAvg"`, study.SealExtract(bytes.ReplaceAll(whole, []byte(`"strategy":"FedAvg"`), []byte(`"strategy":"../FedAvg"`)))},
		{"the number of rounds and the checksum", "has 4 rounds and", study.SealExtract(bytes.Replace(whole, []byte(`"rounds":3`), []byte(`"rounds":4`), 1))},
	} {
		must.M(os.WriteFile(path, z.EncodeAll(c.text, nil), 0o600))
		if rs, err := study.Open(path); (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %v, %v, want %q", c.what, rs, err, c.want)
		}
	}
}

// An extract has the clients' clusters and, if all rounds were evaluated, who took part.
func TestExtractHasClustersAndCohorts(t *testing.T) {
	st := study.New(t.TempDir())
	s := &strategy.FedClust{K: 2, Fraction: 0.5, Local: fedkit.Local{Batch: 16, LR: 0.1}}
	st.Add(ten(), s, fedkit.Options{Rounds: 3}, "every", 1)
	st.Add(ten(), s, fedkit.Options{Rounds: 3, EvalEvery: 2}, "every", 2)
	runs, _ := run(t, st)
	was := runs.Histories()
	for i, h := range extracted(runs, t.TempDir()).Histories() {
		for j, r := range h.Rounds {
			full := was[i].Rounds[[][]int{{0, 1, 2}, {1, 2}}[i][j]]
			if !slices.Equal(r.Clusters, full.Clusters) || slices.Equal(r.Clients(), full.Clients()) != (i == 0) || r.Training().Steps != full.Training().Steps {
				t.Errorf("run %d, round %d: %v %v\nwant %v %v", i, r.Round, r.Clusters, r.Clients(), full.Clusters, full.Clients())
			}
		}
	}
}

// What a study stores of a regression, and its extract, have R² instead of an accuracy.
func TestRegressionIsStored(t *testing.T) {
	d := &datasets.Dataset{Name: "prices", Shape: []int{1}}
	for i := range 20 {
		d.Train.Floats, d.Train.Targets = append(d.Train.Floats, float32(i)/20), append(d.Train.Targets, float32(1000*i))
	}
	d.Test = d.Train
	fed := must.M1(fedkit.New(d, partition.IID{Clients: 2}, model.LinearRegression()))
	st := study.New(t.TempDir())
	st.Add(fed, avg(0.5), fedkit.Options{Rounds: 4, EvalEvery: 2})
	run(t, st)
	listed, damaged := study.List(st.Dir)
	if damaged != nil {
		t.Fatal(damaged)
	}
	whole := must.M1(listed[0].History())
	for _, runs := range []study.Runs{listed, extracted(listed, t.TempDir())} {
		r, h := runs[0], must.M1(runs[0].Light())
		if r.R2 == nil || float64(*r.R2) != history.R2.Last(whole) || !math.IsNaN(float64(r.Accuracy)) {
			t.Errorf("R² %v, accuracy %v", r.R2, r.Accuracy)
		}
		if got, want := history.R2.Last(h), history.R2.Last(whole); math.Abs(got-want) > 1e-4 || h.Main() != history.R2 || !math.IsNaN(h.Accuracy()) {
			t.Errorf("%s %v, want %v; accuracy %v", h.Main(), got, want, h.Accuracy())
		}
	}
}

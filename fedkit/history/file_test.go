package history

import (
	"bytes"
	"encoding/gob"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/bounds"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/lines"
	"github.com/klauspost/compress/flate"
)

// crowded is a history of m clients, all of which take part and are scored in every round.
func crowded(m, rounds int) *History {
	rng := rand.New(rand.NewPCG(1, 2))
	h := &History{Name: "large", Strategy: "FedAvg", Clients: m, Params: 1, Hardware: "AMD EPYC 7B13 64-Core Processor, 4 processors"}
	for t := range rounds {
		r := Record{Round: t + 1, Seconds: 1, BytesUp: 1, Global: &Score{Loss: 1, Accuracy: 0.5, Examples: 7}}
		for c := range m {
			n := 1 + rng.IntN(20)
			loss, right := 0.0, 0
			for range n {
				loss += float64(rng.Float32())
				right += rng.IntN(2)
			}
			r.Scores = append(r.Scores, Score{Loss: Float(loss / float64(n)), Accuracy: Float(float64(right) / float64(n)), Examples: n})
			r.Results = append(r.Results, ClientResult{Round: t + 1, Client: c, Examples: 10 * n, Steps: 5, Loss: Float(rng.Float64()), Drift: Float(rng.Float32()), LR: 0.1})
		}
		h.Rounds = append(h.Rounds, r)
	}
	return h
}

func fileOf(t testing.TB, h *History) (path string, b []byte) {
	path = filepath.Join(t.TempDir(), "h")
	expect.OK(t, h.Save(path))
	return path, expect.Value(os.ReadFile(path))(t)
}

func BenchmarkLoad(b *testing.B) {
	h := crowded(100_000, 5)
	for i := range h.Rounds {
		h.Rounds[i].Results = h.Rounds[i].Results[:1000]
	}
	path, file := fileOf(b, h)
	for _, c := range []struct {
		name string
		size int
		run  func() error
	}{
		{"Load", len(file), func() error { _, err := Load(path); return err }},
		{"LoadLight", len(file), func() error { _, err := LoadLight(path); return err }},
		{"ReadFile", len(file), func() error { _, err := os.ReadFile(path); return err }},
		{"Save", len(file), func() error { return h.Save(path) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(c.size))
			b.ReportMetric(float64(c.size)/1e6, "MB")
			for b.Loop() {
				expect.OK(b, c.run())
			}
		})
	}
}

// A history comes back as it was, with everything that JSON or float32 might round or lose.
func TestHistoryComesBack(t *testing.T) {
	h := crowded(300, 3)
	r := &h.Rounds[1]
	r.Results = append(r.Results[5:40:40], r.Results[2]) // not in order
	r.Results[3] = ClientResult{Round: 2, Client: 8, Steps: 1 << 40, Loss: Float(math.Inf(-1)), Mu: Float(math.Copysign(0, -1)), Similarity: 1e-300, Skipped: true}
	for c := range r.Scores {
		switch {
		case c%3 == 0:
			r.Scores[c] = Score{Loss: 1e300, Accuracy: 1}
		case c%3 == 1:
			r.Scores[c].Metrics = map[string]Float{"F1": Float(c), "a.b": 0}
		default:
			r.Scores[c].Metrics = map[string]Float{"F1": Float(1) / Float(c)}
		}
		r.Clusters = append(r.Clusters, c%7)
	}
	h.Rounds[2] = Record{Round: 3, Notes: map[string]Float{"x": Float(math.Inf(1))}, Clusters: make([]int, 300), Personal: true}
	path, _ := fileOf(t, h)
	back := expect.Value(Load(path))(t)
	if !reflect.DeepEqual(h, back) {
		t.Errorf("%+v\nwant %+v", back.Rounds[1:], h.Rounds[1:])
	}
	light := expect.Value(LoadLight(path))(t)
	for i := range h.Rounds {
		a, b := &h.Rounds[i], &light.Rounds[i]
		if b.Results != nil || b.Scores != nil || b.Clusters != nil || !reflect.DeepEqual(a.summary(), b.summary()) || a.Seconds != b.Seconds || !reflect.DeepEqual(a.Global, b.Global) {
			t.Errorf("read light, round %d is %+v", i+1, b)
		}
	}
	if got, want := light.String(), h.String(); got != want {
		t.Errorf("read light:\n%s\nwant\n%s", got, want)
	}
	path = filepath.Join(t.TempDir(), "new", "h")
	expect.OK(t, sample().Save(path))
	if loss := float64(expect.Value(Load(path))(t).Rounds[0].Results[0].Loss); loss == loss {
		t.Errorf("NaN came back as %v", loss)
	}
	if left := expect.Value(os.ReadDir(filepath.Dir(path)))(t); len(left) != 1 {
		t.Errorf("%d files beside the history", len(left)-1)
	}
}

// A file is read as far as it goes; what was altered in it is found.
func TestHistoriesThatAreCutOrAltered(t *testing.T) {
	h := sample()
	path, file := fileOf(t, h)
	lines := bytes.SplitAfter(file, []byte("\n"))
	try := func(b []byte) (*History, error) {
		expect.OK(t, os.WriteFile(path, b, 0o600))
		return Load(path)
	}
	expect.Error(t, "cut off")(try([]byte(`{"fedkit":"history",`)))
	expect.Error(t, "no such file")(Load(path + " missing"))
	for n := range file {
		rounds := bytes.Count(file[:n], []byte("\n")) - 1
		if back, err := try(file[:n]); rounds < 0 != (err != nil) || err == nil && (len(back.Rounds) != rounds || !back.Stopped) {
			t.Errorf("of %d bytes: %v, error %v", n, back, err)
		}
	}
	for i := range file[:len(file)-1] {
		b := bytes.Clone(file)
		b[i] ^= 1
		if back, err := Parse(b, false); err == nil { // the checksum is over what is packed, too
			t.Errorf("with another byte %d: %v", i, back)
		}
	}
	for name, order := range map[string][]int{"removed": {0, 2, 3}, "doubled": {0, 1, 1, 2, 3}, "swapped": {0, 2, 1, 3}, "after the end": {0, 1, 2, 3, 3}} {
		var b []byte
		for _, i := range order {
			b = append(b, lines[i]...)
		}
		if back, err := try(b); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("lines %s: %v, error %v", name, back, err)
		}
	}
}

// seal gives lines the checksums that they lack.
func seal(text string) []byte {
	var c lines.Sum
	var b []byte
	for line := range strings.Lines(text) {
		b = append(b, c.Seal([]byte(strings.TrimRight(line, "\n}")))...)
	}
	return b
}

// lineOf is the line of a record, without its checksum.
func lineOf(t testing.TB, r Record) string {
	b := expect.Value(RecordLine(&r)(new(lines.Sum)))(t)
	return string(b[:len(b)-1-lines.SumSize]) + "}\n"
}

func TestHistoriesWhosePartsDoNotFit(t *testing.T) {
	const head = `{"fedkit":"history","schema":2,"clients":2}` + "\n"
	for want, text := range map[string]string{
		"no history": "", "or altered": "round,accuracy", "a much older fedkit wrote it": `{"name": "x", "color": 1}`,
		"compute the run again":                               `{"name": "x", "clients": 2, "rounds": [{"round": 1, "solves": [{"client": 1}]}]}`,
		"a newer fedkit wrote it: schema 3, this one reads 2": `{"fedkit":"history","schema":3,"clients":2,"color":1}`,
		"an older fedkit wrote it, with schema 1: compute":    `{"fedkit":"history","schema":1,"clients":2}`,
		`unknown field "color"`:                               `{"fedkit":"history","schema":2,"color":1}`,
		`unknown field "aaa`:                                  `{"fedkit":"history","schema":2,"` + strings.Repeat("a", 1<<20) + `":1}`,
		"-1 clients":                                          `{"fedkit":"history","schema":2,"clients":-1}`,
		`unknown field "mood"`:                                head + `{"round":1,"mood":1,"packed":"AAAA"}`,
		"nothing is packed":                                   head + `{"round":1}`,
		"illegal base64":                                      head + `{"round":1,"packed":"?"}`,
		"what is packed is broken: ":                          head + `{"round":1,"packed":""}`,
		"what is packed is broken: flate: corrupt input":      head + `{"round":1,"packed":"AAAAAAAA"}`,
		"the end does not come after 0 rounds":                head + `{"end":1}`,
		"round -7 after round 0":                              head + lineOf(t, Record{Round: -7}),
		"round 1 after round 1":                               head + lineOf(t, Record{Round: 1}) + lineOf(t, Record{Round: 1}),
		"client 2 of 2":                                       head + lineOf(t, Record{Round: 1, Results: []ClientResult{{Client: 2}}}),
		"client -1 of 2":                                      head + lineOf(t, Record{Round: 1, Results: []ClientResult{{Client: -1}}}),
		"client 1 is there twice":                             head + lineOf(t, Record{Round: 1, Results: []ClientResult{{Client: 1}, {Client: 1}}}),
		"-1 steps":                                            head + lineOf(t, Record{Round: 1, Results: []ClientResult{{Client: 1, Steps: -1}}}),
		"1 client scores for 2":                               head + lineOf(t, Record{Round: 1, Scores: make([]Score, 1)}),
		"cluster 1000000000000000000":                         head + lineOf(t, Record{Round: 1, Clusters: []int{0, 1e18}}),
		"cluster -2":                                          head + lineOf(t, Record{Round: 1, Clusters: []int{-2, -1}}),
		"-3 clusters":                                         head + lineOf(t, Record{Round: 1, Clustering: &Clustering{Count: -3}}),
		"1 client scores, chosen on test, for 2":              head + lineOf(t, Record{Round: 1, ChosenOnTest: make([]Score, 1)}),
		"-1 examples":                                         head + lineOf(t, Record{Round: 1, Global: &Score{Examples: -1}}),
		"-1 seconds":                                          head + lineOf(t, Record{Round: 1, Seconds: -1}),
		"-8 bytes down":                                       head + lineOf(t, Record{Round: 1, BytesDown: -8}),
	} {
		path := filepath.Join(t.TempDir(), "h")
		expect.OK(t, os.WriteFile(path, seal(text), 0o600))
		if h, err := Load(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) || len(err.Error()) > 1500 {
			t.Errorf("%.500s\nis read as %v, error %v\nwant %s", text, h, err, want)
		}
	}
}

// Lists that compress too well for a reader's limit are stored as they are; packed bytes that inflate beyond it are refused.
func TestWhatCompressesTooWell(t *testing.T) {
	r := Record{Round: 1, Scores: make([]Score, 200_000), Clusters: make([]int, 200_000)}
	b := expect.Value(pack(&r))(t)
	var back Record
	if expect.OK(t, unpack(b, &back)); len(b) < 400_000 || !reflect.DeepEqual(back.Scores, r.Scores) || !reflect.DeepEqual(back.Clusters, r.Clusters) {
		t.Errorf("%d bytes, %d scores, %d clusters", len(b), len(back.Scores), len(back.Clusters))
	}
	var bomb bytes.Buffer
	w := expect.Value(flate.NewWriter(&bomb, flate.BestCompression))(t)
	expect.OK(t, gob.NewEncoder(w).Encode(perClient{Scores: make([]Score, 20_000_000)}))
	expect.OK(t, w.Close())
	bounds.Check(t, bomb.Len(), func() { expect.Error(t, "what is packed is broken: unexpected EOF")(unpack(bomb.Bytes(), new(Record))) })
}

func FuzzHistoryLines(f *testing.F) {
	_, file := fileOf(f, sample())
	unsealed := ""
	for line := range strings.Lines(string(file)) {
		unsealed += line[:len(line)-1-lines.SumSize] + "}\n"
	}
	f.Add(unsealed)
	f.Add(`{"fedkit":"history","schema":2,"clients":1000000000000}` + "\n" + `{"round":1,"packed":"AAAA"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var h *History
		var err error
		b := seal(text)
		if bounds.Check(t, len(b), func() { h, err = Parse(b, true) }); err == nil {
			_ = h.String()
			h.RoundsTo(0.5)
		}
	})
}

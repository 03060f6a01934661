package worker_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/worker"
	"github.com/janpfeifer/must"
)

// lie is what a faulty worker makes of an answer with results, and what is then said of it.
type lie struct {
	says string
	tell func(m message) (b []byte, more bool)
}

// changed changes the first result.
func changed(change func(result map[string]any)) func(m message) ([]byte, bool) {
	return func(m message) ([]byte, bool) {
		change(m.head["Results"].([]any)[0].(map[string]any))
		return m.bytes(), true
	}
}

var lies = map[string]lie{
	"none": {"it answered [] in", func(m message) ([]byte, bool) {
		m.head["Results"] = []any{}
		return m.bytes(), true
	}},
	"one more": {"it answered [", func(m message) ([]byte, bool) {
		results := m.head["Results"].([]any)
		m.head["Results"] = append(results, results[0])
		return m.bytes(), true
	}},
	"another type": {"it answered [{Int8", changed(func(r map[string]any) { r["Type"] = "Int8" })},
	"another rank": {"it answered [", changed(func(r map[string]any) { r["Dims"] = append(r["Dims"].([]any), 1) })},
	"overflows":    {"it answered [{Float32 [4611686018427387904", changed(func(r map[string]any) { r["Dims"] = []int{1 << 62, 1 << 62} })},
	"not kept":     {"false}", changed(func(r map[string]any) { r["Kept"] = false })},
	"more bytes": {"in 4611686018427387904 bytes", func(m message) ([]byte, bool) {
		head := must.M1(json.Marshal(m.head))
		return raw(uint64(len(head)), 1<<62, string(head)), true
	}},
	"another call": {"which it does not have", func(m message) ([]byte, bool) {
		m.head["ID"] = 1 << 40
		return m.bytes(), true
	}},
	"twice":        {"which it does not have", func(m message) ([]byte, bool) { return slices.Concat(m.bytes(), m.bytes()), true }},
	"not JSON":     {"not a message of fedkit: ", func(message) ([]byte, bool) { return raw(9, 0, "not JSON!"), true }},
	"endless head": {"a head of 1099511627776 bytes", func(message) ([]byte, bool) { return raw(1<<40, 0, "{"), true }},
	"half": {"", func(m message) ([]byte, bool) {
		b := m.bytes()
		return b[:len(b)-len(m.data)/2], len(m.data) < 2
	}},
	"half a head": {"", func(m message) ([]byte, bool) { return m.bytes()[:30], false }},
	"lengths":     {"", func(m message) ([]byte, bool) { return m.bytes()[:16], false }},
}

// A worker with a wrong answer is lost before there is memory for it, and named. The answer of another is used.
func TestLies(t *testing.T) {
	fed, names := must.M1(twelve()), slices.Sorted(maps.Keys(lies))
	want := must.M1(outcome(fed, every.Strategies()["FedAvg"], nil))
	for two := range slices.Chunk(names, 2) { // three would end a run
		w := start(t, as(two[0]), as(two[1]), as())
		for len(w.PIDs()) > 1 { // each is to have had a call that it can lie about
			if got, err := outcome(fed, every.Strategies()["FedAvg"], w); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%q: other bytes: %v", two, err)
			}
		}
		for _, name := range two {
			says(t, as(name)+" was lost: ", lies[name].says)
		}
		w.Close()
	}
}

// What is received is what was asked for, or it is refused.
func FuzzReceived(f *testing.F) {
	const right = `{"ID":1,"Results":[{"Type":"Float32","Dims":[]},{"Type":"Float32","Dims":[2,2],"Kept":true}]}`
	for _, head := range []string{right, `{"ID":1,"Error":"no"}`, `{}`, `{"Hello":{"PID":1,"Slots":1}}`, `[]`, `{"Results":[{"Dims":[4611686018427387904]}]}`} {
		f.Add(raw(uint64(len(head)), 4, head))
	}
	f.Add(raw(1<<40, 1<<62, "{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if size, failed, err := worker.Received(b); err == nil && size != 4 && !(failed && size == 0) {
			t.Errorf("%d bytes: %q", size, b)
		}
	})
}

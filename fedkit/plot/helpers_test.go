package plot

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
)

var update = flag.Bool("update", false, "write the golden specifications anew")

// synthetic returns a run of the given number of rounds whose accuracy rises towards top; every evaluates each so many
// rounds.
func synthetic(name string, seed uint64, rounds, every, clients int, top float64) *fedkit.History {
	r := rand.New(rand.NewPCG(seed, 7))
	h := &fedkit.History{Name: name, Strategy: "FedAvg", Clients: clients, Seed: seed}
	skill := make([]float64, clients)
	for i := range skill {
		skill[i] = 0.08 * r.NormFloat64()
	}
	for i := 1; i <= rounds; i++ {
		rec := fedkit.Record{Round: i, Seconds: 0.25, BytesDown: 1_250_000, BytesUp: 1_250_000}
		if i%every == 0 || i == rounds {
			a := top - top*0.8*math.Exp(-4*float64(i)/float64(rounds)) + 0.012*r.NormFloat64()
			rec.Global = &fedkit.Score{Loss: fedkit.Float(-math.Log(max(a, 0.05))), Accuracy: fedkit.Float(a), Examples: 1000}
			for c := range clients {
				x := min(1, max(0, a+skill[c]+0.02*r.NormFloat64()))
				rec.Scores = append(rec.Scores, fedkit.Score{Loss: fedkit.Float(1 - x), Accuracy: fedkit.Float(x), Examples: 20 + c%7})
			}
		}
		if i >= 3 {
			for c := range clients {
				k := c * 4 / clients
				if r.Float64() < 0.5*math.Exp(-float64(i)/6) {
					k = r.IntN(4)
				}
				rec.Clusters = append(rec.Clusters, k)
			}
		}
		h.Rounds = append(h.Rounds, rec)
	}
	return h
}

func federation(clients, classes, groups int, alpha float64) *fedkit.Federation {
	r := rand.New(rand.NewPCG(uint64(clients), 1))
	fed := &fedkit.Federation{Data: &datasets.Dataset{Name: "digits", Shape: []int{8, 8}, Classes: classes},
		Rule: fmt.Sprintf("%d clients, Dirichlet α = %g", clients, alpha)}
	for c := range clients {
		cl := partition.Client{Group: c * groups / clients}
		for l := range classes {
			n := int(40 * math.Pow(r.Float64(), 1/alpha))
			for range n {
				cl.Train = append(cl.Train, len(fed.Data.Train.Labels))
				fed.Data.Train.Labels = append(fed.Data.Train.Labels, int32(l))
			}
		}
		fed.Clients = append(fed.Clients, cl)
	}
	return fed
}

// history returns a run whose evaluated rounds have these accuracies of the global model; NaN is a round not evaluated.
func history(name string, accuracy ...float64) *fedkit.History {
	h := &fedkit.History{Name: name}
	for i, a := range accuracy {
		r := fedkit.Record{Round: i + 1, Seconds: 0.5, BytesUp: 1000, BytesDown: 2000}
		if a == a {
			r.Global = &fedkit.Score{Accuracy: fedkit.Float(a), Loss: fedkit.Float(1 - a), Examples: 10}
		}
		h.Rounds = append(h.Rounds, r)
	}
	return h
}

// local gives round i (from 0) of h these accuracies of the clients, on these numbers of examples.
func local(h *fedkit.History, i int, accuracy []float64, examples []int) *fedkit.History {
	for c, a := range accuracy {
		h.Rounds[i].Scores = append(h.Rounds[i].Scores,
			fedkit.Score{Accuracy: fedkit.Float(a), Loss: fedkit.Float(1 - a), Examples: examples[c]})
	}
	return h
}

var nan = math.NaN()

// checkSpec fails the test unless the specification has the right schema, holds only what gob and JSON can carry, and
// every column of a data row is of the same length.
func checkSpec(t *testing.T, spec map[string]any) {
	t.Helper()
	if spec["$schema"] != "https://vega.github.io/schema/vega-lite/v5.json" {
		t.Fatalf("schema %v", spec["$schema"])
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, w := range v {
				walk(path+"."+k, w)
			}
			if steps, ok := v["transform"].([]any); ok {
				for _, row := range v["data"].(map[string]any)["values"].([]any) {
					n := -1
					for _, field := range steps[0].(map[string]any)["flatten"].([]any) {
						col := row.(map[string]any)[field.(string)].([]any)
						if n >= 0 && len(col) != n {
							t.Errorf("%s: column %s has %d values, others %d", path, field, len(col), n)
						}
						n = len(col)
					}
					if n < 1 {
						t.Errorf("%s: an empty row", path)
					}
				}
			}
		case []any:
			for i, w := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), w)
			}
		case float64:
			if !finite(v) {
				t.Errorf("%s = %v", path, v)
			}
		case string, bool:
		default:
			t.Errorf("%s is a %T", path, v)
		}
	}
	walk("spec", spec)
	if err := gob.NewEncoder(new(bytes.Buffer)).Encode(spec); err != nil {
		t.Error("gob:", err)
	}
	if b, err := json.Marshal(spec); err != nil || len(b) > 40_000 {
		t.Errorf("JSON: %d bytes, error %v", len(b), err)
	}
}

// golden compares a specification with testdata/name.json.
func golden(t *testing.T, name string, f *Figure) {
	t.Helper()
	got, err := json.MarshalIndent(f.VegaLite(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the specification is not that of %s; look at it and run the test with -update if it is right:\n%s", path, got)
	}
}

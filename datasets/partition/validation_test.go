package partition

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"reflect"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// Each client keeps its rows, a share of them in Validation, with the labels of the whole plus or minus one row.
func TestValidation(t *testing.T) {
	d, of := labeled(600, 60, 3, 1), Dirichlet{Clients: 7, Alpha: 0.3, Seed: 2}
	whole := must.M1(of.Partition(d))
	for _, share := range []float64{1e-9, 0.2, 0.5, 1 - 1e-9} {
		deal := must.M1(Validation{Of: of, Share: share}.Partition(d))
		expect.OK(t, deal.Check())
		count := Labels(d, whole.Clients)
		for i, c := range deal.Clients {
			all := slices.Sorted(slices.Values(slices.Concat(c.Train, c.Validation)))
			n := float64(len(all))
			if want := min(max(1, math.Round(share*n)), n-1); !slices.Equal(all, whole.Clients[i].Train) || float64(len(c.Validation)) != want {
				t.Errorf("share %v: client %d of %v rows validates on %d, want %v", share, i, n, len(c.Validation), want)
			}
			for label, held := range Labels(d, []Client{{Train: c.Validation}})[0] {
				if want := share * float64(count[i][label]); math.Abs(float64(held)-want) > 1.5 {
					t.Errorf("share %v: client %d validates on %d rows of label %d, want %v", share, i, held, label, want)
				}
			}
		}
	}
}

// All pairs of rules around rules, over clients with validation rows, without, and of shared rows. Each client keeps its rows in the
// parts that they are in, but for those that thin the training and test rows, and the one that moves training rows to validation; full
// copies have each row once per copy.
func TestRulesAroundRules(t *testing.T) {
	d := gray(400, 100, 4, 4, 8)
	around := map[string]func(of Rule) Rule{
		"nothing":     func(of Rule) Rule { return of },
		"Quantity":    func(of Rule) Rule { return Quantity{Of: of, Alpha: 1, Seed: 3} },
		"Take":        func(of Rule) Rule { return Take{Of: of, Train: 5, Test: 2} },
		"Relabel":     func(of Rule) Rule { return Relabel{Of: of} },
		"Intensity":   func(of Rule) Rule { return Intensity{Of: of, Gain: []float64{1, 0.5}} },
		"Noise":       func(of Rule) Rule { return Noise{Of: of, Max: 0.1} },
		"Rotations":   func(of Rule) Rule { return Rotations{Of: of, Degrees: []int{0, 180}} },
		"full copies": func(of Rule) Rule { return Rotations{Of: of, Degrees: []int{0, 180}, FullCopies: true} },
		"Validation":  func(of Rule) Rule { return Validation{Of: of, Seed: 2} },
	}
	pairs := 0
	for _, first := range []Rule{IID{Clients: 8}, Validation{Of: IID{Clients: 8}}, Same{Clients: 8}} {
		for inner, in := range around {
			before, err := in(first).Partition(d)
			if err != nil { // refused, as below
				continue
			}
			for outer, out := range around {
				rule := out(in(first))
				after, err := rule.Partition(d)
				if thins := outer == "Quantity" || outer == "Take" || outer == "nothing"; before.Shared && !thins {
					expect.Error(t, "do not share rows")(err)
					continue
				}
				if outer == "Validation" && before.Clients[0].Validation != nil {
					expect.Error(t, "no validation rows yet")(err)
					continue
				}
				expect.OK(t, err)
				expect.OK(t, after.Check()) // no row is in two lists
				pairs++
				for i, c := range after.Clients {
					k := i / len(before.Clients) // the copy
					was := before.Clients[i%len(before.Clients)]
					train, test := shifted(was.Train, k*before.Data.Train.Len()), shifted(was.Test, k*before.Data.Test.Len())
					held := shifted(was.Validation, k*before.Data.Train.Len())
					switch outer {
					case "Quantity", "Take":
						train, test = slices.DeleteFunc(train, func(row int) bool { return !slices.Contains(c.Train, row) }), slices.DeleteFunc(test, func(row int) bool { return !slices.Contains(c.Test, row) })
					case "Validation":
						expect.That(t, len(c.Validation) == int(math.Round(0.2*float64(len(train)))),
							"%v: client %d has %d validation rows of %d", rule, i, len(c.Validation), len(train))
						held = slices.DeleteFunc(slices.Clone(train), func(row int) bool { return !slices.Contains(c.Validation, row) })
						train = slices.DeleteFunc(train, func(row int) bool { return slices.Contains(held, row) })
					}
					if !slices.Equal(c.Train, train) || !slices.Equal(c.Test, test) || !slices.Equal(c.Validation, held) || (held == nil) != (c.Validation == nil) {
						t.Errorf("%v: client %d has %v, %v, %v, want %v, %v, %v (%s around %s)", rule, i, c.Train, c.Test, c.Validation, train, test, held, outer, inner)
					}
				}
				if copies := len(after.Clients) / len(before.Clients); (copies == 2) != (outer == "full copies") || copies*before.Data.Train.Len() != after.Data.Train.Len() {
					t.Errorf("%v: %d clients of %d", rule, len(after.Clients), len(before.Clients))
				}
			}
		}
	}
	if pairs != 80+64+9 { // without Validation around Validation, and what changes shared rows
		t.Errorf("%d pairs", pairs)
	}
	by := must.M1(ByTarget{Of: Validation{Of: IID{Clients: 4}}, Column: 1, Bins: 2}.Partition(forms("values")))
	expect.That(t, len(by.Clients[0].Validation) == 3 && len(by.Clients[0].Train) == 12, "%+v", by.Clients[0])
}

// Noise and new labels are those that the rows had without a validation part, whichever rule is the outer one.
func TestValidationChangesNoRow(t *testing.T) {
	d, iid := labeled(60, 20, 3, 1), IID{Clients: 4}
	noisy := must.M1(Noise{Of: Relabel{Of: iid}, Max: 0.3}.Partition(d))
	inside := must.M1(Noise{Of: Relabel{Of: Validation{Of: iid}}, Max: 0.3}.Partition(d))
	outside := must.M1(Validation{Of: Noise{Of: Relabel{Of: iid}, Max: 0.3}}.Partition(d))
	expect.That(t, reflect.DeepEqual(inside.Data, noisy.Data) && reflect.DeepEqual(outside.Data, noisy.Data),
		"a rule changes other rows than without validation")
}

// The hash of the clients is that of the bytes in the documentation. Without validation rows it is what it was before there were
// any: see TestManifest.
func TestManifestOfValidation(t *testing.T) {
	rule := Given{{Train: []int{0}, Test: []int{0}, Validation: []int{1}}}
	eight := func(v byte) []byte { return []byte{v, 0, 0, 0, 0, 0, 0, 0} }
	want := sha256.Sum256(slices.Concat(eight(0), eight(1), eight(0), eight(1), eight(0), []byte("validation"), eight(1), eight(1)))
	got := (&Partitioned{Data: owned(), Clients: rule}).Manifest(rule).Clients
	expect.That(t, got == hex.EncodeToString(want[:]), "%s, want %x", got, want)
}

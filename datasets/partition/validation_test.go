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

// Noise and new labels are those that the rows had without a validation part, whichever rule is the outer one.
func TestValidationChangesNoRow(t *testing.T) {
	d, iid := labeled(60, 20, 3, 1), IID{Clients: 4}
	noisy := must.M1(Noise{Of: Relabel{Of: iid}, Max: 0.3}.Partition(d))
	inside := must.M1(Noise{Of: Relabel{Of: Validation{Of: iid}}, Max: 0.3}.Partition(d))
	outside := must.M1(Validation{Of: Noise{Of: Relabel{Of: iid}, Max: 0.3}}.Partition(d))
	if !reflect.DeepEqual(inside.Data, noisy.Data) || !reflect.DeepEqual(outside.Data, noisy.Data) {
		t.Error("a rule changes other rows than without validation")
	}
}

// The hash of the clients is that of the bytes in the documentation. Without validation rows it is what it was before there were
// any: see TestManifest.
func TestManifestOfValidation(t *testing.T) {
	rule := Given{{Train: []int{0}, Test: []int{0}, Validation: []int{1}}}
	eight := func(v byte) []byte { return []byte{v, 0, 0, 0, 0, 0, 0, 0} }
	want := sha256.Sum256(slices.Concat(eight(0), eight(1), eight(0), eight(1), eight(0), []byte("validation"), eight(1), eight(1)))
	if got := (&Partitioned{Data: owned(), Clients: rule}).Manifest(rule).Clients; got != hex.EncodeToString(want[:]) {
		t.Errorf("%s, want %x", got, want)
	}
}

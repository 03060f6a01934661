package partition

import (
	"reflect"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// forms returns a data set of 60 training and 20 test rows with two values, tags or positions per row.
func forms(form string) *datasets.Dataset {
	d := &datasets.Dataset{Name: form, Shape: []int{1}, Tags: form == "tags"}
	for n, s := range map[int]*datasets.Split{60: &d.Train, 20: &d.Test} {
		s.Width, s.Floats = 2, make([]float32, n)
		for i := range n {
			switch form {
			case "values":
				s.Targets = append(s.Targets, 7, float32(i%20))
			case "tags":
				s.Targets = append(s.Targets, []float32{1, 1, 0, 1, 0, 0, 1, 0}[2*(i%4):2*(i%4)+2]...)
			case "positions":
				d.Classes = 4
				s.Labels = append(s.Labels, []int32{3, 3, -1, 1, -1, -1, 3, 1}[2*(i%4):2*(i%4)+2]...)
			}
		}
	}
	return d
}

// Shards of one class each show which rows are of one class.
func TestByTarget(t *testing.T) {
	for _, c := range []struct {
		rule  ByTarget
		form  string
		class func(row int) int // of i % 20
		k     int
	}{
		{ByTarget{Column: 1, Bins: 4}, "values", func(i int) int { return i % 20 / 5 }, 4},
		{ByTarget{}, "tags", func(i int) int { return []int{0, 1, 2, 0}[i%4] }, 3},
		{ByTarget{}, "positions", func(i int) int { return []int{1, 0, 2, 0}[i%4] }, 3}, // of the labels 1 and 3, and none
	} {
		d := forms(c.form)
		c.rule.Of = Classes{Clients: c.k, PerClient: 1}
		deal := must.M1(c.rule.Partition(d))
		expect.OK(t, deal.Check())
		expect.That(t, deal.Data == d, "%s: other data", c.form)
		for i, client := range deal.Clients {
			for _, rows := range [][]int{client.Train, client.Test} {
				for _, row := range rows {
					expect.That(t, c.class(row) == c.class(rows[0]), "%s: client %d has rows %v of several classes", c.form, i, rows)
				}
			}
		}
	}
	noisy := must.M1(Noise{Of: Validation{Of: ByTarget{Of: Dirichlet{Clients: 4, Alpha: 1}}}, Max: 1}.Partition(forms("tags")))
	expect.OK(t, noisy.Check())
	got := Labels(forms("positions"), []Client{{Train: []int{0, 1, 2, 3, 60}}})
	expect.That(t, reflect.DeepEqual(got, [][]int{{0, 2, 0, 3}}), "labels at positions: %v", got)
}

// What a rule cannot do with several targets is refused, and their data are told apart by their manifests.
func TestSeveralTargetsAreRefused(t *testing.T) {
	iid, of := IID{Clients: 2}, Dirichlet{Clients: 2, Alpha: 1}
	one := labeled(60, 20, 3, 1)
	for _, c := range []struct {
		rule Rule
		d    *datasets.Dataset
		want string
	}{
		{of, forms("positions"), "partition.Dirichlet: positions has several labels per example: use IID, or ByTarget around the rule"},
		{of, forms("tags"), "partition.Dirichlet: tags has no labels: use IID for a regression"},
		{Relabel{Of: iid}, forms("positions"), "partition.Relabel: positions has several labels per example: must have one"},
		{ByTarget{Of: of}, one, "partition.ByTarget: made has one label per example: must have values, tags or positions"},
		{ByTarget{Of: of, Column: 2}, forms("values"), "partition.ByTarget: Column = 2: must be in [0, 2)"},
		{ByTarget{Of: of, Bins: 1}, forms("values"), "partition.ByTarget: Bins = 1: must be at least 2, or 0 for the default of 10"},
		{ByTarget{Of: of}, forms("values"), "partition.ByTarget: all examples of values are of one class: must be at least 2"},
		{ByTarget{Of: Noise{Of: of, Max: 1}, Column: 1}, forms("values"), "must be a rule that changes no data; those that do go around ByTarget"},
		{ByTarget{Column: 1}, forms("values"), "partition.ByTarget: Of = nil: must be a rule"},
	} {
		expect.Error(t, c.want)(c.rule.Partition(c.d))
	}
	var hashes []string
	for _, form := range []string{"values", "tags", "positions"} {
		hashes = append(hashes, hashData(forms(form)))
	}
	plain := forms("tags")
	plain.Tags = false
	flat := *plain
	flat.Train.Width, flat.Test.Width = 0, 0
	hashes = append(hashes, hashData(plain), hashData(&flat))
	expect.That(t, len(slices.Compact(slices.Sorted(slices.Values(hashes)))) == len(hashes), "equal hashes: %v", hashes)
	for want, r := range map[string]ByTarget{
		"2 clients, IID, by target":             {Of: iid},
		"2 clients, IID, by target 1 in 4 bins": {Of: iid, Column: 1, Bins: 4},
	} {
		expect.That(t, r.String() == want, "%q, want %q", r, want)
	}
}

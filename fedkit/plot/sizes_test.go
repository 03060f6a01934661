package plot

import (
	"strings"
	"testing"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/fedtest/expect"
)

func TestSizes(t *testing.T) {
	fed := federation(3, 2, 1, 1)
	for i, n := range []int{2, 7, 2} {
		fed.Clients[i] = partition.Client{Group: i % 2, Train: make([]int, n)}
	}
	f := Sizes(fed)
	expect.OK(t, f.Err())
	// The largest is client 1, of group 1; the others follow in their order.
	a, b := f.Series[0], f.Series[1]
	expect.That(t, a.Name == "group 0" && near(a.Y2, []float64{2, 2}) && near(a.X, []float64{1.58, 2.58}) && a.Tip[0] == "0: 2 rows" && a.Tip[1] == "2: 2 rows",
		"group 0: %+v", a)
	expect.That(t, b.Name == "group 1" && near(b.Y2, []float64{7}) && near(b.X, []float64{0.58}) && b.Tip[0] == "1: 7 rows", "group 1: %+v", b)
	// exp(−Σ q ln q) of the shares 2, 7, 2 of 11, by Python's math.
	expect.That(t, strings.Contains(f.Note, "2 to 7 rows; in effect 2.5 clients"), "note %q", f.Note)
}

// Beyond 100 clients every one is in a bar of the histogram.
func TestSizesOfManyClients(t *testing.T) {
	f := Sizes(federation(130, 3, 2, 0.5))
	expect.OK(t, f.Err())
	for _, s := range f.Series {
		n := 0.0
		for _, y := range s.Y2 {
			n += y
		}
		expect.That(t, n == 65, "%s: %g clients, want 65", s.Name, n)
	}
	expect.That(t, f.Y.Title == "clients" && f.Name == "sizes", "%s of %s", f.Name, f.Y.Title)
}

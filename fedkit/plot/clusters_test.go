package plot

import (
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

// assignments is a run with the clusters of its rounds 1, 2, ….
func assignments(rounds ...[]int) *fedkit.History {
	h := &fedkit.History{Name: "run", Strategy: "FedClust"}
	for i, c := range rounds {
		h.Rounds = append(h.Rounds, fedkit.Record{Round: i + 1, Clusters: c})
	}
	return h
}

// A group keeps its color even if a method renumbers its clusters in each round.
func TestClustersKeepTheirColors(t *testing.T) {
	f := Clusters(assignments([]int{0, 0, 1, 1}, []int{1, 1, 0, 0}, []int{2, -1, 0, 0}, []int{1, 1, 1, 0}))
	expect.OK(t, f.Err())
	expect.Must(t, len(f.Series) == 2 && f.Series[0].Name == "cluster 0" && f.Series[1].Name == "cluster 1", "%+v", f.Series)
	// Clients 0 and 1 stay, though 1 is without a cluster for a round; client 2 changes to them in round 4.
	a, b := f.Series[0], f.Series[1]
	if want := []float64{0.5, 0.5, 3.5, 3.5}; !slices.Equal(a.X, want) {
		t.Errorf("cluster 0 from %v, want %v", a.X, want)
	}
	if want := []float64{4.5, 2.5, 4.5, 4.5}; !slices.Equal(a.X2, want) {
		t.Errorf("cluster 0 to %v, want %v", a.X2, want)
	}
	expect.That(t, slices.Equal(b.X, []float64{0.5, 0.5}) && slices.Equal(b.X2, []float64{3.5, 4.5}), "cluster 1 from %v to %v", b.X, b.X2)
}

// Sorted by true group, clients of one group are side by side, with a line between groups and a strip that has the color
// of the cluster where most of the group are.
func TestClustersByGroup(t *testing.T) {
	f := Clusters(assignments([]int{5, 3, 5, 3, 3}, []int{5, 3, 5, 3, 5}), 0, 1, 0, 1, 1)
	expect.OK(t, f.Err())
	if want := []string{"0", "2", "1", "3", "4"}; !slices.Equal(f.Y.Names, want) {
		t.Errorf("rows %v, want %v", f.Y.Names, want)
	}
	var names []string
	for _, s := range f.Series {
		names = append(names, s.Name)
	}
	if want := []string{"cluster 3", "cluster 5", "cluster 5", "cluster 3", "border"}; !slices.Equal(names, want) || f.Series[2].Tip[0] != "0, group 0" {
		t.Fatalf("%v, want %v; tips %v", names, want, f.Series[2].Tip)
	}
	if border := f.Series[4]; !slices.Equal(border.Y, []float64{1.5}) {
		t.Errorf("borders at %v, want 1.5", border.Y)
	}
	if s := f.Series[0]; !slices.Equal(s.Tip, []string{"1", "3", "4"}) {
		t.Errorf("tips %v", s.Tip)
	}
	charttest.Golden(t, "clusters-by-group", f)
}

// Rounds in which nobody moves are one column, be they all or some of them; a client that moves all the time needs all rounds.
func TestClustersFold(t *testing.T) {
	a, b := []int{0, 0, 1, 1}, []int{0, 1, 1, 1}
	for what, c := range map[string]struct {
		f       *chart.Figure
		columns []string
		tip     string
	}{
		"never": {Clusters(assignments(a, a, a, nil, a)), []string{"1–5"}, "0, rounds 1–5"},
		"once":  {Clusters(assignments(a, b, b, b, b, nil), 0, 0, 1, 1), []string{"1", "2–5", ""}, "0, rounds 1–5"},
		"often": {Clusters(assignments(a, b, a, b), 0, 0, 1, 1), nil, "0"},
	} {
		if err := c.f.Err(); err != nil || !slices.Equal(c.f.X.Names, c.columns) || c.f.Series[0].Tip[0] != c.tip {
			t.Errorf("%s: %q, %q, %v", what, c.f.X.Names, c.f.Series[0].Tip, err)
		}
		charttest.Spec(t, c.f)
	}
}

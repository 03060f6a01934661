package plot

import (
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

// small is ((0 2) 4) and (1 3), merged at last.
var small = cluster.Tree{{A: 0, B: 2, Height: 1, Size: 2}, {A: 1, B: 3, Height: 2, Size: 2}, {A: 4, B: 5, Height: 3, Size: 3}, {A: 6, B: 7, Height: 6, Size: 5}}

func byName(f *chart.Figure) map[string]chart.Series {
	all := map[string]chart.Series{}
	for _, s := range f.Series {
		all[s.Name] = s
	}
	return all
}

// By hand: the leaves are 1 3 4 0 2; the merge of 0 and 2 is at 3.5, with 4 at 2.75, that of 1 and 3 at 0.5.
func TestDendrogram(t *testing.T) {
	f := Dendrogram(small, small.Cut(2), 0, 1, 0, 1, 1)
	expect.OK(t, f.Err())
	if want := []string{"1", "3", "4", "0", "2"}; !slices.Equal(f.X.Names, want) {
		t.Errorf("leaves %v, want %v", f.X.Names, want)
	}
	s := byName(f)
	expect.Must(t, len(s) == 5 && len(f.Series) == 5, "%+v", f.Series)
	// Each merge has two legs, in the colors of what they hold, and a bar, in that of both.
	for _, c := range []struct {
		name  string
		x, x2 []float64
		y, y2 []float64
	}{
		{"cluster 0", []float64{3, 4, 3, 2, 3.5, 2, 2.75}, []float64{3, 4, 4, 2, 3.5, 3.5, 2.75}, []float64{0, 0, 1, 1, 0, 3, 3}, []float64{1, 1, 1, 3, 3, 3, 6}},
		{"cluster 1", []float64{0, 1, 0, 0.5}, []float64{0, 1, 1, 0.5}, []float64{0, 0, 2, 2}, []float64{2, 2, 2, 6}},
		{"several clusters", []float64{0.5}, []float64{2.75}, []float64{6}, []float64{6}},
	} {
		got := s[c.name]
		swap := func(v, w []float64) bool { // the legs of a merge may come in either order
			a, b := slices.Sorted(slices.Values(v)), slices.Sorted(slices.Values(w))
			return near(a, b)
		}
		expect.That(t, swap(got.X, c.x) && swap(got.X2, c.x2) && swap(got.Y, c.y) && swap(got.Y2, c.y2),
			"%s: from (%v, %v) to (%v, %v)", c.name, got.X, got.Y, got.X2, got.Y2)
	}
	expect.That(t, near(f.Targets, []float64{4.5}), "cut at %v, want between 3 and 6", f.Targets)
	// Client 4 is of group 1 in cluster 0: its dot has the other cluster's color.
	one := s["group 1"]
	expect.That(t, one.Of == "cluster 1" && slices.Equal(one.Tip, []string{"1", "3", "4"}) && near(one.X, []float64{0, 1, 2}) && s["group 0"].Of == "cluster 0",
		"%+v", one)
	charttest.Golden(t, "dendrogram", f)
}

func TestDendrogramCuts(t *testing.T) {
	for says, c := range map[string]struct {
		labels []int
		cut    []float64
		series int
	}{
		"no labels":    {nil, nil, 1},
		"one cluster":  {small.Cut(1), nil, 2},
		"all alone":    {small.Cut(5), []float64{0.5}, 6},
		"by height":    {small.CutAt(2), []float64{2.5}, 4},
		"another tree": {[]int{0, 0, 1, 1, 1}, nil, 3},
		"some without": {[]int{0, -1, 0, -1, 0}, nil, 2},
	} {
		f := Dendrogram(small, c.labels)
		expect.That(t, f.Err() == nil && near(f.Targets, c.cut) && len(f.Series) == c.series,
			"%s: cut at %v, %d series, %v", says, f.Targets, len(f.Series), f.Err())
		expect.That(t, (says == "another tree" || says == "some without") == (f.Note == "the clusters are not a cut of this tree"), "note %q", f.Note)
	}
}

// In a large tree the earliest merges are drawn as one leaf; no client is lost.
func TestDendrogramOfMany(t *testing.T) {
	p, truth := blobs(300, 4, 10, 0.3, 1)
	tree := expect.Value(cluster.Link(p, cluster.Ward))(t)
	f := Dendrogram(tree, tree.Cut(4), truth...)
	expect.OK(t, f.Err())
	expect.That(t, len(f.X.Names) == 100 && strings.Contains(f.Note, "merged below") && f.Fits(),
		"%d leaves, note %q, all drawn: %v", len(f.X.Names), f.Note, f.Fits())
	lines := 0
	for _, s := range f.Series {
		if s.Mark == chart.Segments {
			lines += len(s.X)
		}
	}
	expect.That(t, lines == 3*99, "%d lines for 99 merges", lines)
	charttest.Spec(t, f)
}

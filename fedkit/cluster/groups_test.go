package cluster_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/mat"
)

// Five clients in two clusters, and one that never took part. Cluster 0 is split, and the rest of it merges into cluster 2.
func ExampleGroups() {
	g := cluster.Groups{0, 2, 0, cluster.None, 2, 0}
	fmt.Println(g.Names(), g.Members(0), g.Means(3, nil)[2], g.Take(4, 3, 0))

	g.Split(g.Members(0), []int{0, 1, 1}, 3)
	fmt.Println(g)
	g.Merge(0, 2)
	fmt.Println(g.Pack(), g)
	// Output:
	// [0 2] [0 2 5] [0 0.5 0 0 0.5 0] [2 -1 0]
	// [0 2 3 -1 2 3]
	// [2 3] [0 0 1 -1 0 1]
}

func TestGroupsAtTheEdges(t *testing.T) {
	none := cluster.Ungrouped(2)
	if none.Names() != nil && len(none.Names()) > 0 || none.Members(0) != nil || len(none.Pack()) > 0 || none.Nearest(0, cluster.NewCondensed(1)) != cluster.None {
		t.Errorf("%v: names %v, members %v", none, none.Names(), none.Members(0))
	}
	g := cluster.Groups{1, cluster.None, 4, 1}
	if got, want := g.Weights(3, []float64{2, 3, 4, 6}), [][]float64{{0, 0, 0, 0}, {2, 0, 0, 6}, {0, 0, 0, 0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("weights %v, want %v", got, want)
	}
	if got, want := g.Means(2, []float64{2, 3, 4, 6}), [][]float64{{0, 0, 0, 0}, {0.25, 0, 0, 0.75}}; !reflect.DeepEqual(got, want) {
		t.Errorf("means %v, want %v", got, want)
	}
}

// The points 0, 1, 4, 10 on a line, of which the first two are a group, and the last one is in none.
func TestGroupsByDistance(t *testing.T) {
	points := cluster.FromVectors(mat.NewDense(4, 1, []float64{0, 1, 4, 10})).Distances()
	g := cluster.Groups{1, 1, 0, cluster.None}
	if gap := g.Gap(points); gap != 3 {
		t.Errorf("a gap of %v, want 3", gap)
	}
	if gap := g[:2].Gap(points); !math.IsInf(gap, 1) {
		t.Errorf("a gap of %v within one group", gap)
	}
	centers := cluster.FromVectors(mat.NewDense(3, 1, []float64{4, 0.5, 5})).Distances() // of groups 0, 1, and 2, which is empty
	if to := g.Nearest(0, centers); to != 1 {
		t.Errorf("the nearest to group 0 is %d, want 1", to)
	}
	inter := (3.5*3.5 + 4.5*4.5) / 2 // of group 1
	if got := g.Ratios([]float64{0.25, 0.25, 0, 99}, centers); math.Abs(got[1]-0.25/inter) > 1e-15 || got[0] != 0 || got[2] != 0 {
		t.Errorf("ratios %v, want 0, %v and 0", got, 0.25/inter)
	}
}

// Each goes to the center at the least angle, however long; zeros and ties stay.
func TestGroupsJoin(t *testing.T) {
	g := cluster.Groups{0, 0, 1, 1, cluster.None}
	g.Reassign(mat.NewDense(5, 2, []float64{5, 1, 1, 5, 0, 0, 1, 1, 1, 0}), mat.NewDense(2, 2, []float64{1, 0, 0, 9}))
	if want := (cluster.Groups{0, 1, 1, 1, cluster.None}); !slices.Equal(g, want) {
		t.Errorf("%v, want %v", g, want)
	}
}

package plot

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

// By hand: points on a cross, ±3 along one axis and ±1 along another, in any origin. The shares are 18/20 and 2/20.
func TestPCA(t *testing.T) {
	x := mat.NewDense(4, 3, []float64{
		10, 3, 5,
		10, -3, 5,
		11, 0, 5,
		9, 0, 5,
	})
	row := PCA(cluster.FromVectors(x), []int{0, 1, -1, 0}, 0, 0, 1, 1)
	expect.OK(t, row.Err())
	f, g := row[0], row[1]
	expect.That(t, f.X.Title == "first component (90.0 % of the variance)" && f.Y.Title == "second component (10.0 % of the variance)",
		"axes %q and %q", f.X.Title, f.Y.Title)
	s := byName(f)
	expect.Must(t, len(s) == 3 && slices.Equal(s["cluster 0"].Tip, []string{"0", "3"}) && slices.Equal(s["no cluster"].Tip, []string{"2"}), "%+v", f.Series)
	if a, b := s["cluster 0"].X[0], s["cluster 1"].X[0]; !near([]float64{a * b}, []float64{-9}) {
		t.Errorf("clients 0 and 1 are at %g and %g, want 3 and −3", a, b)
	}
	if a, b := s["cluster 0"].Y[1], s["no cluster"].Y[0]; !near([]float64{a * b}, []float64{-1}) {
		t.Errorf("clients 3 and 2 are at %g and %g, want 1 and −1", a, b)
	}
	if of := g.Series[0].Of; g.Series[0].Name != "group 0" || of != "cluster 1" && of != "cluster 0" {
		t.Errorf("%+v", g.Series[0])
	}
	charttest.Spec(t, row)
}

func TestPCAOfOneColor(t *testing.T) {
	p, truth := blobs(400, 3, 20, 0.2, 2)
	row := PCA(p, nil)
	if err := row.Err(); err != nil || len(row) != 1 || len(row[0].Series) != 1 || row[0].Series[0].Name != "clients" || len(row[0].Series[0].X) != 400 {
		t.Fatalf("%+v, %v", row, err)
	}
	charttest.Spec(t, row)
	charttest.Spec(t, PCA(p, truth, truth...))
	// Two points have one component.
	if row := PCA(cluster.FromVectors(mat.NewDense(2, 1, []float64{0, 2})), nil); row.Err() != nil || row[0].X.Title != "first component (100.0 % of the variance)" {
		t.Error(row[0].X.Title, row.Err())
	}
}

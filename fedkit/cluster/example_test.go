package cluster_test

import (
	"fmt"
	"math/rand/v2"

	"fedkit.example/fedkit/cluster"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/mat"
)

// Six clients whose updates point in two directions. Clustering sees only the Gram matrix of the updates; in a strategy
// it comes from Matrix.Gram.
func Example() {
	updates := mat.NewDense(6, 2, []float64{
		3, 0.1,
		2.9, 0,
		0, 3.1,
		3.1, -0.1,
		0.1, 3,
		-0.1, 2.9,
	})
	var gram mat.SymDense
	gram.SymOuterK(1, updates)

	labels := must.M1(cluster.KMeans{}.Cluster(cluster.FromGram(&gram), 2, rand.New(rand.NewPCG(1, 1))))
	for _, group := range cluster.Members(labels, 2) {
		fmt.Println(group)
	}
	// Unordered output:
	// [0 1 3]
	// [2 4 5]
}

// Clustering again may number the same groups differently. Match names each group after the old one with which it shares
// the most clients.
func ExampleMatch() {
	before := []int{0, 0, 0, 1, 1, 2}
	after := []int{2, 2, 0, 0, 0, 1}
	overlap := make([][]float64, 3)
	for i := range overlap {
		overlap[i] = make([]float64, 3)
	}
	for client := range before {
		overlap[before[client]][after[client]]++
	}
	name := cluster.Match(overlap)
	for i, c := range after {
		after[i] = name[c]
	}
	fmt.Println(after)
	// Output: [0 0 1 1 1 2]
}

// Soft clustering: a client mixes the two models it resembles most and ignores the others.
func ExampleSoftTop() {
	similarity := []float64{0.9, -0.2, 0.9, 0.1}
	fmt.Printf("%.2f\n", cluster.SoftTop(similarity, 2, 0.5))
	// Output: [0.50 0.00 0.50 0.00]
}

// Any function can cluster: here by the sign of the inner product with client 0.
func ExampleFunc() {
	half := cluster.Func(func(p *cluster.Points, k int, _ *rand.Rand) ([]int, error) {
		gram, labels := p.Gram(), make([]int, p.Len())
		for i := range labels {
			if gram.At(0, i) < 0 {
				labels[i] = k - 1
			}
		}
		return labels, nil
	})
	gram := mat.NewSymDense(3, []float64{1, -1, 2, -1, 1, -2, 2, -2, 4})
	fmt.Println(half.Cluster(cluster.FromGram(gram), 2, nil))
	// Output: [0 1 0] <nil>
}

// Seven clients with one feature each. The tree holds every clustering at once: by number of groups, and by distance.
func ExampleLink() {
	p := cluster.FromVectors(mat.NewDense(7, 1, []float64{1, 2, 10, 11, 13, 50, 51}))
	tree := must.M1(cluster.Link(p, cluster.Complete))
	for _, m := range tree {
		fmt.Printf("%d and %d at %v: %d clients\n", m.A, m.B, m.Height, m.Size)
	}
	fmt.Println(tree.Cut(3))
	fmt.Println(tree.CutAt(2))
	// Output:
	// 0 and 1 at 1: 2 clients
	// 2 and 3 at 1: 2 clients
	// 5 and 6 at 1: 2 clients
	// 4 and 8 at 3: 3 clients
	// 7 and 10 at 12: 5 clients
	// 9 and 11 at 50: 7 clients
	// [0 0 1 1 1 2 2]
	// [0 0 1 1 2 3 3]
}

// With a height, the number of groups follows from the points.
func ExampleAgglomerative() {
	p := cluster.FromVectors(mat.NewDense(5, 1, []float64{1, 2, 10, 11, 50}))
	fmt.Println(cluster.Agglomerative{Linkage: cluster.Average}.Cluster(p, 2, nil))
	fmt.Println(cluster.Agglomerative{Linkage: cluster.Average, Height: 5}.Cluster(p, 0, nil))
	// Output:
	// [0 0 0 0 1] <nil>
	// [0 0 1 1 2] <nil>
}

// Six clients whose updates point in three directions, with different lengths.
func ExampleSpectral() {
	p := cluster.FromVectors(mat.NewDense(6, 3, []float64{
		1, 0, 0,
		0, 3, 0.1,
		5, 0.2, 0,
		0, 0.3, 8,
		0, 0.1, 1,
		0, 9, 0,
	}))
	fmt.Println(cluster.Spectral{}.Cluster(p, 3, rand.New(rand.NewPCG(1, 1))))
	// Output: [0 1 0 2 2 1] <nil>
}

// Any affinity will do: here the number of letters that pairs of clients have in common.
func ExampleInnerProduct() {
	common := mat.NewSymDense(4, []float64{
		0, 9, 1, 0,
		9, 0, 0, 1,
		1, 0, 0, 7,
		0, 1, 7, 0,
	})
	by := cluster.Spectral{Affinity: cluster.InnerProduct{}}
	fmt.Println(by.Cluster(cluster.FromGram(common), 2, rand.New(rand.NewPCG(1, 1))))
	// Output: [0 0 1 1] <nil>
}

// The number of groups that suits the points best.
func ExampleBestSilhouette() {
	p := cluster.FromVectors(mat.NewDense(7, 1, []float64{1, 2, 10, 11, 12, 50, 51}))
	labels := must.M1(cluster.BestSilhouette{}.Cluster(p, 0, nil))
	fmt.Println(labels)
	fmt.Printf("%.2f\n", cluster.Silhouette(p, labels))
	// Output:
	// [0 0 1 1 1 2 2]
	// [0.90 0.89 0.82 0.89 0.86 0.97 0.97]
}

// Three kinds of clients, one of each in every group.
func ExampleStratified() {
	p := cluster.FromVectors(mat.NewDense(6, 1, []float64{1, 2, 10, 11, 50, 51}))
	fmt.Println(cluster.Stratified{}.Cluster(p, 2, nil))
	// Output: [0 1 0 1 0 1] <nil>
}

// The fourth client is in the wrong cluster.
func ExampleAgree() {
	a := cluster.Agree([]int{0, 0, 0, 0, 1, 1}, []int{5, 5, 5, 7, 7, 7})
	fmt.Printf("ARI %.2f, NMI %.2f, purity %.2f, accuracy %.2f\n", a.ARI, a.NMI, a.Purity, a.Accuracy)
	// Output: ARI 0.32, NMI 0.48, purity 0.83, accuracy 0.83
}

// Groups keep their names from round to round. Here one splits, and its smaller part gets a new name.
func ExampleFollow() {
	before := []int{0, 0, 0, 0, 3, 3}
	after := []int{2, 1, 2, 2, 0, 0}
	fmt.Println(cluster.Follow(after, before))
	// Output: [0 1 0 0 3 3]
}

// Coordinates of clients for a figure, from the inner products of long updates.
func ExamplePCA() {
	var gram mat.SymDense
	gram.SymOuterK(1, mat.NewDense(4, 3, []float64{
		1, 2, 3,
		2, 4, 6,
		3, 6, 9,
		4, 8, 13,
	}))
	at := must.M1(cluster.PCA(cluster.FromGram(&gram), 2))
	fmt.Printf("%.2f\n", mat.Formatted(at))
	// Output:
	// ⎡-5.81  -0.12⎤
	// ⎢-2.08   0.05⎥
	// ⎢ 1.66   0.23⎥
	// ⎣ 6.23  -0.16⎦
}

// The second of two models explains two of three examples much better, so a mixture comes to weigh it more.
func ExampleResponsibilities() {
	loss := [][]float32{{0.1, 4, 5}, {3, 0.2, 0.1}} // of each model on each example
	pi := []float64{0.5, 0.5}
	for range 10 {
		_, pi = cluster.Responsibilities(loss, pi)
	}
	fmt.Printf("%.2f\n", pi)
	// Output: [0.30 0.70]
}

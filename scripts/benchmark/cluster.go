package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/mat"
)

const groups, features = 10, 128

// clusters times each way to cluster 2,000 points, from their coordinates to their labels. The coordinates are on the host in
// float64, or on the device in float32, as in a strategy: then the host has inner products.
func clusters(task string) {
	x, truth := blobs(2000)
	matrix := fedkit.NewMatrix(float32s(x.RawMatrix().Data), 2000, features)
	points := func() *cluster.Points { return cluster.FromVectors(x) }
	if task == "cluster-device" {
		points = func() *cluster.Points { return must.M1(matrix.Points()) }
	}
	kMeans := func() []int { return must.M1(cluster.KMeans{}.Cluster(points(), groups, rand.New(rand.NewPCG(0, 0)))) }
	link := func(by cluster.Linkage) func() []int {
		return func() []int { return must.M1(cluster.Link(points(), by)).Cut(groups) }
	}
	labels := kMeans()
	result := map[string]any{"peer": "fedkit", "task": task}
	for name, f := range map[string]func() []int{
		"k-means": kMeans,
		"ward":    link(cluster.Ward), "average": link(cluster.Average), "single": link(cluster.Single), "complete": link(cluster.Complete),
		"spectral": func() []int {
			return must.M1(cluster.Spectral{}.Cluster(points(), groups, rand.New(rand.NewPCG(0, 0))))
		},
		"silhouette": func() []int { cluster.Silhouette(points(), labels); return labels },
	} {
		var ms []float64
		for range 5 {
			begin := time.Now()
			labels := f()
			ms = append(ms, float64(time.Since(begin).Microseconds())/1000)
			result[name+"_ari"] = math.Round(1000*cluster.Agree(labels, truth).ARI) / 1000
		}
		slices.Sort(ms)
		result[name+"_ms"] = ms[2]
	}
	must.M(json.NewEncoder(os.Stdout).Encode(result))
}

// linkages times the linkages of 10,000 points, and measures the memory that the process needs for the distances at most.
func linkages() {
	x, _ := blobs(10_000)
	p := cluster.FromVectors(x)
	result := map[string]any{"peer": "fedkit", "task": "cluster-10000", "before_mb": peak()}
	for _, by := range []cluster.Linkage{cluster.Ward, cluster.Average, cluster.Single, cluster.Complete} {
		begin := time.Now()
		must.M1(cluster.Link(p, by))
		result[fmt.Sprint(by)+"_ms"] = time.Since(begin).Milliseconds()
		debug.FreeOSMemory() // the last one's distances
	}
	result["peak_mb"] = peak()
	must.M(json.NewEncoder(os.Stdout).Encode(result))
}

// blobs returns points around 10 centers, the same as in peers/sklearn_cluster.py.
func blobs(n int) (*mat.Dense, []int) {
	x, truth := mat.NewDense(n, features, nil), make([]int, n)
	for i := range n {
		truth[i] = i % groups
		for j := range features {
			x.Set(i, j, 0.35*noise(truth[i]*features+j)+noise((groups+i)*features+j))
		}
	}
	return x, truth
}

func float32s(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}

// noise returns the i-th number of a sequence that is nearly normal.
func noise(i int) (sum float64) {
	for j := range 4 {
		z := uint64(4*i+j+1) * 0x9e3779b97f4a7c15 // splitmix64 (Steele, Lea and Flood 2014)
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		sum += float64((z^z>>31)>>11) * 0x1p-53
	}
	return (sum - 2) * math.Sqrt(3)
}

package rows

import (
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// The order of additions is that of a binary tree: ((1 + 2) + (3 + 4)) + (5 + 6), and so on. With numbers of very different
// magnitude, every order gives another sum.
func TestTreeSum(t *testing.T) {
	values := []float32{1e8, 3, -1e8, 1, 7, 1e7, -3, 0.5, -1e7, 2, 1e-3}
	var tree func(v []float32) float32
	tree = func(v []float32) float32 {
		if len(v) == 1 {
			return v[0]
		}
		half := 1
		for 2*half < len(v) {
			half *= 2
		}
		return tree(v[:half]) + tree(v[half:])
	}
	for n := 1; n <= len(values); n++ {
		var sum treeSum
		for _, v := range values[:n] {
			sum.add(NewMatrix([]float32{v}, 1, 1))
			expect.That(t, len(sum.sums) <= 4, "%d sums are held after %d terms", len(sum.sums), n)
		}
		got := rowsOf(t, sum.total())
		expect.That(t, got[0][0] == float64(tree(values[:n])), "the sum of %d terms is %v, want %v", n, got[0][0], tree(values[:n]))
	}
	sum := new(treeSum).total()
	expect.That(t, sum == nil, "the sum of nothing is %v", sum)
}

package rows

// treeSum sums matrices in a fixed order, as a binary tree over their indices, so that the sum is bitwise the same wherever its
// terms were computed. Of n terms it holds log₂ n at a time.
type treeSum struct {
	sums   []*Matrix
	levels []int // sums[i] has 2^levels[i] terms
}

// add adds the next term.
func (t *treeSum) add(m *Matrix) {
	level, n := 0, len(t.sums)
	for ; n > 0 && t.levels[n-1] == level; n-- {
		m = t.sums[n-1].Add(m)
		level++
	}
	t.sums, t.levels = append(t.sums[:n], m), append(t.levels[:n], level)
}

// total returns the sum; nil if there are no terms.
func (t *treeSum) total() (m *Matrix) {
	for n := len(t.sums) - 1; n >= 0; n-- {
		if m == nil {
			m = t.sums[n]
		} else {
			m = t.sums[n].Add(m)
		}
	}
	return m
}

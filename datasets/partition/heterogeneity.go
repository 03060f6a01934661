package partition

import (
	"math"
	"slices"

	"fedkit.example/datasets"
	"gonum.org/v1/gonum/stat"
)

// LabelShares returns each client's label shares p_i, [M, C], from the counts of Labels: p_ic = n_ic / Σ_c n_ic. A client
// without labels has NaN for each.
func LabelShares(counts [][]int) [][]float64 {
	shares := make([][]float64, len(counts))
	for i, n := range counts {
		all := 0
		for _, k := range n {
			all += k
		}
		shares[i] = make([]float64, len(n))
		for c, k := range n {
			shares[i][c] = float64(k) / float64(all)
		}
	}
	return shares
}

// LabelDistance measures label skew: the mean over all pairs of clients of the total variation distance of their label
// shares,
//
//	2/(M(M−1)) Σ_{i<j} ½ Σ_c |p_ic − p_jc|
//
// which is 0 if all have the same label distribution and 1 if no two share a class. Counts [M, C] are those of Labels.
// Clients without labels are left out; with fewer than two clients the distance is 0. The time is proportional to C·M
// log M, not to the number of pairs.
func LabelDistance(counts [][]int) float64 {
	shares := LabelShares(slices.DeleteFunc(slices.Clone(counts), empty))
	m := len(shares)
	if m < 2 {
		return 0
	}
	column, sum := make([]float64, m), 0.0
	for c := range shares[0] {
		for i, p := range shares {
			column[i] = p[c]
		}
		// Of m sorted values, the k-th from 0 is added in k pairs and subtracted in m−1−k.
		slices.Sort(column)
		for k, p := range column {
			sum += p * float64(2*k-(m-1))
		}
	}
	return sum / (float64(m) * float64(m-1))
}

// EffectiveClasses returns each client's effective number of classes, [M]: the number of equally frequent classes that
// would have the entropy of its label shares,
//
//	exp(−Σ_c p_ic ln p_ic)
//
// which is 1 for a client of one class and C for a uniform distribution; 0 for a client without labels. Counts [M, C]
// are those of Labels.
func EffectiveClasses(counts [][]int) []float64 {
	effective := make([]float64, len(counts))
	for i, n := range counts {
		effective[i] = effectiveNumber(n)
	}
	return effective
}

// EffectiveClients returns the effective number of clients, given their sizes n_i, [M]: the number of clients of equal
// size that would have the entropy of the shares n_i / Σ n. It is M if all have the same size, and near 1 if one holds
// nearly everything.
func EffectiveClients(sizes []int) float64 { return effectiveNumber(sizes) }

// effectiveNumber returns exp(H) of the counts' shares, 0 if all counts are 0.
func effectiveNumber(counts []int) float64 {
	if empty(counts) {
		return 0
	}
	return math.Exp(stat.Entropy(LabelShares([][]int{counts})[0]))
}

func empty(counts []int) bool { return !slices.ContainsFunc(counts, func(n int) bool { return n > 0 }) }

// Labels counts the training labels of each client, for plots and tables: [M, C], where entry (i, c) is the number of
// client i's training rows of class c or, with a label at each of several positions, of positions. Rows out of range, which
// Check reports, are left out. For a regression and for tags C is 0.
func Labels(d *datasets.Dataset, clients []Client) [][]int {
	counts := make([][]int, len(clients))
	if d == nil || d.Classes < 0 || d.Classes > 1<<24 { // which Check refuses
		return counts
	}
	t := max(1, d.Train.Width)
	for i, c := range clients {
		counts[i] = make([]int, d.Classes)
		for _, row := range c.Train {
			if row < 0 || (row+1)*t > len(d.Train.Labels) {
				continue
			}
			for _, l := range d.Train.Labels[row*t : (row+1)*t] {
				if l >= 0 && int(l) < d.Classes {
					counts[i][l]++
				}
			}
		}
	}
	return counts
}

// Sizes returns the number of training rows of each client, n_i, [M].
func Sizes(clients []Client) []int {
	n := make([]int, len(clients))
	for i, c := range clients {
		n[i] = len(c.Train)
	}
	return n
}

// Groups returns the true group of each client, [M], for comparison with the clusters an algorithm finds.
func Groups(clients []Client) []int {
	g := make([]int, len(clients))
	for i, c := range clients {
		g[i] = c.Group
	}
	return g
}

package partition

import "fedkit.example/datasets"

// Labels counts the training labels of each client, for plots and tables: [M, C], where entry (i, c) is the number of
// client i's training rows of class c. Rows out of range, which Check reports, are left out. For a regression C is 0.
func Labels(d *datasets.Dataset, clients []Client) [][]int {
	counts := make([][]int, len(clients))
	for i, c := range clients {
		counts[i] = make([]int, d.Classes)
		for _, row := range c.Train {
			if row < 0 || row >= len(d.Train.Labels) {
				continue
			}
			if l := int(d.Train.Labels[row]); l >= 0 && l < d.Classes {
				counts[i][l]++
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

package plot

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/cluster"
)

// checkGroups refuses labels or true groups that do not go with n clients. Either may be empty: then it is not known.
func checkGroups(n int, labels, truth []int) error {
	if len(labels) != 0 && len(labels) != n {
		return fmt.Errorf("%d labels: must be %d, one per client", len(labels), n)
	}
	if len(truth) != 0 && len(truth) != n {
		return fmt.Errorf("%d true groups: must be %d, one per client", len(truth), n)
	}
	return nil
}

// of returns the label of a client, −1 if there is none.
func of(labels []int, client int) int {
	if client >= len(labels) || labels[client] < 0 {
		return -1
	}
	return labels[client]
}

// distinct returns the labels that are there, sorted, without the negative ones.
func distinct(labels []int) []int {
	all := slices.Compact(slices.Sorted(slices.Values(labels)))
	return slices.DeleteFunc(all, func(l int) bool { return l < 0 })
}

func clusterName(label int) string { return fmt.Sprintf("cluster %d", label) }
func groupName(group int) string   { return fmt.Sprintf("group %d", group) }

// nameLike matches true groups to clusters, one to one, so that they share the most clients. The series of a group has the color of
// its cluster, so a client in the wrong cluster shows two colors.
func nameLike(f *chart.Figure, labels, truth []int) {
	clusters, groups := distinct(labels), distinct(truth)
	if len(clusters) == 0 || len(groups) == 0 {
		return
	}
	overlap := make([][]float64, max(len(clusters), len(groups)))
	for i := range overlap {
		overlap[i] = make([]float64, len(overlap))
	}
	for i := range truth {
		c, one := slices.BinarySearch(clusters, of(labels, i))
		g, both := slices.BinarySearch(groups, truth[i])
		if one && both {
			overlap[c][g]++
		}
	}
	match := cluster.Match(overlap)
	for g, name := range groups {
		s := slices.IndexFunc(f.Series, func(s chart.Series) bool { return s.Name == groupName(name) })
		if c := match[g]; s >= 0 && c < len(clusters) && overlap[c][g] > 0 {
			f.Series[s].Of = clusterName(clusters[c])
		}
	}
}

package plot

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/cluster"
)

var errNil = errors.New("the history is nil: did its run fail?")

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

// sorted returns the clients 0 to n−1 in the order of a key, and else in theirs.
func sorted(n int, key func(client int) int) []int {
	clients := make([]int, n)
	for i := range clients {
		clients[i] = i
	}
	slices.SortStableFunc(clients, func(i, j int) int { return key(i) - key(j) })
	return clients
}

// distinct returns the labels that are there, sorted, without the negative ones.
func distinct(labels []int) []int {
	all := slices.Compact(slices.Sorted(slices.Values(labels)))
	return slices.DeleteFunc(all, func(l int) bool { return l < 0 })
}

// sizes lists how many clients each label has.
func sizes(labels []int) string {
	return strings.Join(each(distinct(labels), func(l int) string {
		return fmt.Sprint(len(slices.DeleteFunc(slices.Clone(labels), func(k int) bool { return k != l })))
	}), ", ")
}

func clusterName(label int) string { return fmt.Sprintf("cluster %d", label) }
func groupName(group int) string   { return fmt.Sprintf("group %d", group) }

// likeGroups matches clusters to true groups, one to one, so that they share the most clients, and returns the number of each cluster's
// group: it has that group's color, so a client in the wrong cluster shows two colors. Clusters without a group have the numbers that
// follow those of all groups. Without groups, clusters keep their own.
func likeGroups(labels, truth []int) map[int]int {
	clusters, groups, as := distinct(labels), distinct(truth), map[int]int{}
	if len(groups) == 0 {
		for _, c := range clusters {
			as[c] = c
		}
		return as
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
	match, free := cluster.Match(overlap), groups[len(groups)-1]+1
	for g, name := range groups {
		if c := match[g]; c < len(clusters) && overlap[c][g] > 0 {
			as[clusters[c]] = name
		}
	}
	for _, c := range clusters {
		if _, known := as[c]; !known {
			as[c], free = free, free+1
		}
	}
	return as
}

// holds reports a federation in which there is nothing to draw, or a row that its data set does not have.
func holds(fed *fedkit.Federation) error {
	switch {
	case fed == nil:
		return errors.New("the federation is nil")
	case fed.Data == nil:
		return errors.New("the federation has no Data")
	case len(fed.Clients) == 0:
		return errors.New("the federation has no Clients")
	}
	for i, c := range fed.Clients {
		for _, row := range c.Train {
			if n := fed.Data.Train.Len(); row < 0 || row >= n {
				return fmt.Errorf("client %d holds training row %d: the data set has %d", i, row, n)
			}
		}
	}
	return nil
}

// dealt puts the data set and the rule of the partition before a note.
func dealt(fed *fedkit.Federation, note string) string {
	if fed.Rule != "" {
		note = fed.Rule + "; " + note
	}
	if fed.Data.Name != "" {
		note = fed.Data.Name + ": " + note
	}
	return note
}

// trueGroup returns the figure's series of a true group of clients, a new one if there is none yet. A group has one color in all figures.
func trueGroup(f *chart.Figure, g int, m chart.Mark) *chart.Series {
	name := groupName(g)
	k := slices.IndexFunc(f.Series, func(s chart.Series) bool { return s.Name == name })
	if k < 0 {
		k = len(f.Series)
		f.Series = append(f.Series, chart.Series{Name: name, Color: g + 1, Mark: m})
	}
	return &f.Series[k]
}

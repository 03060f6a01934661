package partition

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"fedkit.example/datasets"
)

// follow deals the test rows out to clients that hold these training rows, [M]: of class c client i gets the share
// n_ic/n_c, rounded to whole rows, and at least so many in all; see topUp. A class without training rows is shared
// equally. All rows are dealt.
func follow(d *datasets.Dataset, train [][]int, least int, src rand.Source) [][]int {
	h := newHand(d.Test.Labels, d.Classes, len(train), src)
	held := make([][]float64, d.Classes) // [C, M]
	for c := range held {
		held[c] = make([]float64, len(train))
	}
	class := make([]float64, d.Classes)
	for i, rows := range train {
		for _, row := range rows {
			held[d.Train.Labels[row]][i]++
			class[d.Train.Labels[row]]++
		}
	}
	p := make([]float64, len(train))
	for c, n := range class {
		for i := range p {
			p[i] = 1 / float64(len(p))
			if n > 0 {
				p[i] = held[c][i] / n
			}
		}
		h.deal(c, p)
	}
	h.topUp(least, func(c, i int) float64 { return math.Log(held[c][i]) })
	return h.all()
}

// dealt returns the deal in which client i holds train[i] and test[i], which it sorts.
func dealt(d *datasets.Dataset, train, test [][]int) *Deal {
	clients := make([]Client, len(train))
	for i := range clients {
		slices.Sort(train[i])
		slices.Sort(test[i])
		clients[i] = Client{Train: train[i], Test: test[i]}
	}
	return &Deal{Data: d, Clients: clients}
}

// checkLabelled is checkClients for a rule that deals by label.
func checkLabelled(rule string, clients int, d *datasets.Dataset) error {
	if err := checkClients(rule, clients, d); err != nil {
		return err
	}
	if d.Classes == 0 {
		return fmt.Errorf("partition.%s: %s has no labels: use IID for a regression", rule, d.Name)
	}
	return nil
}

// checkMin reports what is wrong with the least number of rows each of M clients is to get of n.
func checkMin(rule, field string, least, clients int, part string, n int) error {
	if least < 0 {
		return fmt.Errorf("partition.%s: %s = %d: must be at least 1, or 0 for the default", rule, field, least)
	}
	if most := n / clients; least > most {
		return fmt.Errorf("partition.%s: %s = %d: must be at most %d, for %s share %d %s rows",
			rule, field, least, most, count(clients), n, part)
	}
	return nil
}

// defaultMin is the usual MinTrain for M clients that share n rows.
func defaultMin(n, clients int) int { return max(1, min(10, n/(2*clients))) }

// several returns "1 class" or "2 classes".
func several(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "s"):
		what += "es"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Package clientdata has the rows of a data set that clients hold.
package clientdata

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/internal/fault"
)

// Train returns the training rows of each client.
func Train(clients []partition.Client) [][]int {
	rows := make([][]int, len(clients))
	for i := range rows {
		rows[i] = clients[i].Train
	}
	return rows
}

// Largest returns the training rows of the client that has the most.
func Largest(clients []partition.Client) (most int) {
	for _, c := range clients {
		most = max(most, len(c.Train))
	}
	return most
}

// Of returns the rows of a part that a client holds.
func Of(c partition.Client, part datasets.Part) []int {
	switch part {
	case datasets.TestPart:
		return c.Test
	case datasets.ValidationPart:
		return c.Validation
	}
	return c.Train
}

// Labeled returns the rows that have a label at some position, or a target.
func Labeled(s *datasets.Split, rows []int) []int {
	if s.Width < 2 || s.Labels == nil {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(row int) bool { return slices.Max(s.Labels[row*s.Width:(row+1)*s.Width]) < 0 })
}

// LabeledOnly returns the clients without the rows that have no label, and the number of these.
func LabeledOnly(d *datasets.Dataset, clients []partition.Client) (some []partition.Client, out int) {
	for _, c := range clients {
		n := len(c.Train) + len(c.Test) + len(c.Validation)
		c.Train, c.Test, c.Validation = Labeled(&d.Train, c.Train), Labeled(&d.Test, c.Test), Labeled(&d.Train, c.Validation)
		some, out = append(some, c), out+n-len(c.Train)-len(c.Test)-len(c.Validation)
	}
	return some, out
}

// Without returns the clients without the given training rows, of n in all, and whether any client had one. Rows that a client holds for
// validation are refused, and all rows of one client.
func Without(clients []partition.Client, rows []int, n int) (others []partition.Client, changed bool, err error) {
	taken := make([]bool, n)
	for _, row := range rows {
		taken[row] = true
	}
	gone := func(row int) bool { return taken[row] }
	others = slices.Clone(clients)
	for i := range others {
		c := &others[i]
		if slices.ContainsFunc(c.Validation, gone) {
			return nil, false, fault.Invalid("Server.Rows", fmt.Sprintf("validation rows of client %d", i), "rows that no client holds for validation")
		}
		if !slices.ContainsFunc(c.Train, gone) {
			continue
		}
		changed = true
		if c.Train = slices.DeleteFunc(slices.Clone(c.Train), gone); len(c.Train) == 0 {
			return nil, false, fault.Invalid("the server's rows", fmt.Sprintf("all training rows of client %d", i), "fewer: each client keeps at least one")
		}
	}
	return others, changed, nil
}

// Drawn returns n of the clients' training rows, drawn uniformly, in ascending order.
func Drawn(clients []partition.Client, n int, rng *rand.Rand) ([]int, error) {
	held := slices.Concat(Train(clients)...)
	slices.Sort(held)
	held = slices.Compact(held)
	if n < 0 || n >= len(held) {
		return nil, fault.Invalid("Server.Draw", n, fmt.Sprintf("in [1, %d), the clients' training rows", len(held)))
	}
	rows := make([]int, n)
	for i, at := range rng.Perm(len(held))[:n] {
		rows[i] = held[at]
	}
	slices.Sort(rows)
	return rows, nil
}

// HoldOut returns, by client, whether it is one of n that are held out. n is apportioned to the true groups by largest remainders; ties
// go to the first group. draw has the randomness of each.
func HoldOut(clients []partition.Client, n int, draw func(group int) *rand.Rand) (out []bool, err error) {
	groups, m := map[int][]int{}, len(clients)
	var order []int
	for i, c := range clients {
		if groups[c.Group] == nil {
			order = append(order, c.Group)
		}
		groups[c.Group] = append(groups[c.Group], i)
	}
	if most := m - len(order); n < 1 || n > most {
		return nil, fault.Invalid("n", n, fmt.Sprintf("in [1, %d], so that each of %d true groups keeps a client", most, len(order)))
	}
	share, left := map[int]int{}, n
	for _, g := range order {
		share[g] = n * len(groups[g]) / m
		left -= share[g]
	}
	byRemainder := slices.Clone(order)
	slices.SortStableFunc(byRemainder, func(a, b int) int { return n*len(groups[b])%m - n*len(groups[a])%m })
	for at := 0; left > 0; at++ {
		if g := byRemainder[at%len(byRemainder)]; share[g] < len(groups[g])-1 {
			share[g]++
			left--
		}
	}
	out = make([]bool, m)
	for _, g := range order {
		for _, at := range draw(g).Perm(len(groups[g]))[:min(share[g], len(groups[g])-1)] {
			out[groups[g][at]] = true
		}
	}
	return out, nil
}

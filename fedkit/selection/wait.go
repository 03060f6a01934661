package selection

import "slices"

// due returns the clients that must take part now, so that with n clients per round no client ever waits longer than T:
// for every h, at most n·h of the others must take part in the next h rounds. They are as few as possible, and come from
// the front of the order as far as possible.
func (s Fair) due(n int, order, waited []int) []int {
	if s.Wait == 0 {
		return nil
	}
	longest := slices.Max(waited)
	count := make([]int, longest+1)
	for _, w := range waited {
		count[w]++
	}
	least, size, clients := make([]int, longest+1), 0, 0 // least[w] of those that have waited w rounds or more
	for w := longest; w >= 0; w-- {
		clients += count[w]
		if h := max(0, s.Wait-w); h < len(order) { // n·h cannot overflow
			least[w] = min(n, max(0, clients-n*h))
		}
		size = max(size, least[w])
	}
	most := make([]int, longest) // of those that have waited w rounds or fewer
	for w := range most {
		most[w] = size - least[w+1]
	}
	return newCapacity(waited, most).add(nil, order, size)
}

package cluster

// Renumber returns labels 0, 1, … in the order in which the groups first appear. A negative label (no group) becomes −1.
func Renumber(labels []int) []int {
	name, out := map[int]int{}, make([]int, len(labels))
	for i, l := range labels {
		if l < 0 {
			out[i] = -1
			continue
		}
		if _, known := name[l]; !known {
			name[l] = len(name)
		}
		out[i] = name[l]
	}
	return out
}

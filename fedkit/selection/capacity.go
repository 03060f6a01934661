package selection

// capacity is that of a cohort: it may take left[k] more clients whose key is k or less. A key beyond the last k is
// unbounded.
type capacity struct {
	key, left []int
	full      int // the largest k without capacity, −1 if none
}

func newCapacity(key, left []int) *capacity {
	r := &capacity{key: key, left: left, full: len(left) - 1}
	for r.full >= 0 && left[r.full] > 0 {
		r.full--
	}
	return r
}

// add appends clients in this order, as far as there is capacity, until there are size of them.
func (r *capacity) add(chosen, order []int, size int) []int {
	in := make(map[int]bool, size)
	for _, c := range chosen {
		in[c] = true
	}
	for _, c := range order {
		if len(chosen) >= size {
			break
		}
		if in[c] || r.key[c] <= r.full {
			continue
		}
		chosen = append(chosen, c)
		in[c] = true
		r.take(c)
	}
	return chosen
}

// take uses up capacity for one client.
func (r *capacity) take(c int) {
	for k := r.key[c]; k < len(r.left); k++ {
		if r.left[k]--; r.left[k] <= 0 {
			r.full = max(r.full, k)
		}
	}
}

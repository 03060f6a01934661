package selection

// room bounds a choice of clients by a number that each of them has: of the clients whose key is k or less, it may hold
// left[k] more. A key beyond the last k is not bounded.
type room struct {
	key, left []int
	full      int // the largest k for which nobody more may be chosen, −1 if there is none
}

func newRoom(key, left []int) *room {
	r := &room{key: key, left: left, full: len(left) - 1}
	for r.full >= 0 && left[r.full] > 0 {
		r.full--
	}
	return r
}

// add adds clients to a choice, in this order, if there is room for them, until it has size of them.
func (r *room) add(chosen, order []int, size int) []int {
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

// take makes the room smaller by one client.
func (r *room) take(c int) {
	for k := r.key[c]; k < len(r.left); k++ {
		if r.left[k]--; r.left[k] <= 0 {
			r.full = max(r.full, k)
		}
	}
}

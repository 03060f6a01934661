package fedkit

import "fedkit.example/fedkit/internal/task"

// Trained returns 1 for the parameters that are trained and 0 for frozen ones, [1, d], for what a server adds to models, such as noise.
func (r *Round) Trained() *Matrix {
	if thawed := r.Fed.only(nil); thawed != nil {
		return thawed
	}
	return r.Mask().Not()
}

// only returns a mask without the frozen parameters. nil stands for all parameters, and is returned if none is frozen.
func (f *Federation) only(mask *Matrix) *Matrix {
	f.lazy.mu.Lock()
	defer f.lazy.mu.Unlock()
	if f.lazy.thawed == nil {
		thaw := task.Thaw(f.Task)
		if thaw == nil {
			return mask
		}
		f.lazy.thawed = NewMatrix(thaw, 1, len(thaw))
	}
	if mask == nil {
		return f.lazy.thawed
	}
	return mask.Mul(f.lazy.thawed)
}

// bases are a State of a run whose task has frozen parameters, which a client receives once.
type bases struct {
	Sent []bool // by client; nil before the first
}

// base returns the bytes of the frozen parameters if a client that receives a number of models does not have them yet.
func (r *Round) base(client int, models float64) float64 {
	if r.bases == nil || r.quiet || models == 0 || r.bases.Sent != nil && r.bases.Sent[client] {
		return 0
	}
	return float64(4*r.Fed.Task.Dim() - r.Fed.Task.Bytes())
}

// sendBases counts the frozen parameters that clients receive with a number of models.
func (r *Round) sendBases(clients []int, models float64) {
	for _, c := range clients {
		if n := r.base(c, models); n > 0 {
			r.record.BytesDown += int64(n)
			r.sent(c)
		}
	}
}

// sent notes that a client has the frozen parameters.
func (r *Round) sent(client int) {
	if r.bases.Sent == nil {
		r.bases.Sent = make([]bool, r.Clients())
	}
	r.bases.Sent[client] = true
}

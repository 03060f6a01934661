package fedkit

// Solve is what one client did in one local solve: a row of what Round.Train returns, of the round's Record, and of the
// client's past. A figure that is to be known per client is a field here, and nowhere else.
type Solve struct {
	Round    int `json:"-"`                  // in which it took part, from 1
	Client   int `json:"client"`             // who, from 0
	Examples int `json:"examples,omitempty"` // n_i, training examples
	Steps    int `json:"steps"`              // local steps
	// Staleness is how many rounds began after the client did, in an asynchronous round.
	Staleness int   `json:"staleness,omitempty"`
	Loss      Float `json:"loss"`         // mean training loss over the local steps
	Drift     Float `json:"drift"`        // ‖w_i − start‖₂, of what travels if anything does
	LR        Float `json:"lr,omitempty"` // η_i
	Mu        Float `json:"mu,omitempty"` // effective μ_i; 0 if the objective has no proximal term
	// Similarity is the cosine of Δ_i and the round's mean Δ; 0 unless a selector uses it.
	Similarity Float `json:"similarity,omitempty"`
	Skipped    bool  `json:"skipped,omitempty"` // left out because its update was not finite

	// On a federation with devices, when the client began, had received what it needs, had trained, and when its result arrived,
	// in s of the simulated clock.
	Begin    Float `json:"begin,omitempty"`
	Received Float `json:"received,omitempty"` // s, see Begin
	Finished Float `json:"finished,omitempty"` // s, see Begin
	Arrived  Float `json:"arrived,omitempty"`  // s, see Begin

	private bool // its result stayed with the client
}

// add takes in a further solve of the same client in the same round: the steps add up, the loss is the mean over all of
// them, and the rest is the last one's; but a private one leaves what is known of one whose result traveled.
func (s *Solve) add(next Solve) {
	before, steps := float64(s.Steps), float64(next.Steps)
	next.Loss = Float((float64(s.Loss)*before + float64(next.Loss)*steps) / (before + steps))
	next.Steps += s.Steps
	next.Skipped = next.Skipped || s.Skipped
	next.Begin = s.Begin
	if next.private && !s.private {
		next.Drift, next.LR, next.Mu, next.Similarity, next.private = s.Drift, s.LR, s.Mu, s.Similarity, false
	}
	*s = next
}

// Updates is what came back from a job: a row for each of its clients, without any that were skipped.
type Updates struct {
	Solves  []Solve // [n]
	At      []int   // where each stands in the job's Clients, [n]
	Models  *Matrix // w_i as they arrived, [n, d]
	Trained *Matrix // w_i as the clients have them, [n, d]: the same, unless somebody stands in between (see Interceptor)
	Start   *Matrix // what they started from, [1, d] or [n, d]
}

// Delta returns Δ_i = w_i − what client i started from, [n, d].
func (u *Updates) Delta() *Matrix { return u.Models.less(u.Start) }

// Clients returns who sent the rows, [n].
func (u *Updates) Clients() []int {
	clients := make([]int, len(u.Solves))
	for i, s := range u.Solves {
		clients[i] = s.Client
	}
	return clients
}

// Examples returns n_i, the usual weights of the rows, [n].
func (u *Updates) Examples() []float64 {
	n := make([]float64, len(u.Solves))
	for i, s := range u.Solves {
		n[i] = float64(s.Examples)
	}
	return n
}

// without returns the updates without those that were skipped.
func (u *Updates) without(skipped int) *Updates {
	if skipped == 0 {
		return u
	}
	v := &Updates{Start: u.Start}
	var keep []int
	for i, s := range u.Solves {
		if !s.Skipped {
			keep = append(keep, i)
			v.Solves, v.At = append(v.Solves, s), append(v.At, u.At[i])
		}
	}
	v.Models, v.Trained = u.Models.Take(keep...), u.Trained.Take(keep...)
	if u.Start.Rows() > 1 {
		v.Start = u.Start.Take(keep...)
	}
	return v
}

package history

// ClientResult is one client's local solve: a row of what fedkit.Round.Train returns, of the round's Record, and of
// fedkit.Round.Past. Every figure per client is a field here, and nowhere else.
type ClientResult struct {
	Round    int `json:"-"`                  // number, from 1
	Client   int `json:"client"`             // index, from 0
	Examples int `json:"examples,omitempty"` // n_i, training examples
	Steps    int `json:"steps"`              // local steps
	// Staleness is the number of rounds that began after the client did, in an asynchronous round.
	Staleness int   `json:"staleness,omitempty"`
	Loss      Float `json:"loss"`         // mean training loss over the local steps
	Drift     Float `json:"drift"`        // client drift ‖w_i − start‖₂, over the communicated parameters if there are any
	LR        Float `json:"lr,omitempty"` // η_i
	Mu        Float `json:"mu,omitempty"` // effective μ_i; 0 if the objective has no proximal term
	// Similarity is the cosine of Δ_i and the round's mean Δ; 0 unless a selector uses it.
	Similarity Float `json:"similarity,omitempty"`
	Skipped    bool  `json:"skipped,omitempty"` // left out because its update was not finite

	// On a federation with devices, when the client began, had received its models, had trained, and when its result arrived,
	// in s of the simulated clock.
	Begin    Float `json:"begin,omitempty"`
	Received Float `json:"received,omitempty"` // s, see Begin
	Finished Float `json:"finished,omitempty"` // s, see Begin
	Arrived  Float `json:"arrived,omitempty"`  // s, see Begin

	StayedLocal bool `json:"-"` // its result stayed with the client: see fedkit.Job.StayLocal
}

// Add merges the client's next solve in the same round: steps add up, the loss is the mean over all steps, and the rest is the
// last one's, except that a private solve keeps drift, η, μ and similarity of one that was communicated.
func (s *ClientResult) Add(next ClientResult) {
	before, steps := float64(s.Steps), float64(next.Steps)
	next.Loss = Float((float64(s.Loss)*before + float64(next.Loss)*steps) / (before + steps))
	next.Steps += s.Steps
	next.Skipped = next.Skipped || s.Skipped
	next.Begin = s.Begin
	if next.StayedLocal && !s.StayedLocal {
		next.Drift, next.LR, next.Mu, next.Similarity, next.StayedLocal = s.Drift, s.LR, s.Mu, s.Similarity, false
	}
	*s = next
}

package history

import "fmt"

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

// ServerResult is the training at the server in a round: see fedkit.Round.TrainServer.
type ServerResult struct {
	Steps   int   `json:"steps"`             // of all its jobs
	Loss    Float `json:"loss"`              // mean training loss over the steps
	Seconds Float `json:"seconds,omitempty"` // s of the simulated clock that they took
}

// Add merges the server's next job in the same round.
func (s *ServerResult) Add(next ServerResult) {
	steps := s.Steps + next.Steps
	s.Loss = (s.Loss*Float(s.Steps) + next.Loss*Float(next.Steps)) / Float(steps)
	s.Steps, s.Seconds = steps, s.Seconds+next.Seconds
}

// check refuses an impossible result; nil is none.
func (s *ServerResult) check() error {
	if s != nil && (s.Steps < 1 || !(s.Seconds >= 0) || s.Seconds-s.Seconds != 0) {
		return fmt.Errorf("the server took %d steps in %v seconds", s.Steps, s.Seconds)
	}
	return nil
}

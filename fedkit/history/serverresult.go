package history

import "fmt"

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

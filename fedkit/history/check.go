package history

import (
	"cmp"
	"fmt"
	"math"
)

// Check refuses a history whose parts do not fit together, so that plots and tables can rely on them. Load calls it.
func (h *History) Check() error {
	if h.Clients < 0 || h.Params < 0 {
		return fmt.Errorf("%d clients, %d parameters", h.Clients, h.Params)
	}
	before := &History{Clients: h.Clients}
	for i := range h.Rounds {
		if err := before.checkNext(&h.Rounds[i]); err != nil {
			return err
		}
		before.Rounds = h.Rounds[:i+1]
	}
	return nil
}

// checkNext refuses a record that cannot follow.
func (h *History) checkNext(r *Record) error {
	before := cmp.Or(h.Last(), &Record{}).Round
	err := r.Check(h.Clients)
	if r.Round <= before {
		err = fmt.Errorf("round %d after round %d", r.Round, before)
	}
	if err != nil {
		return fmt.Errorf("record %d: %w", len(h.Rounds), err)
	}
	return nil
}

// maxClusters is the largest number of clusters, unless there are more clients.
const maxClusters = 1 << 16

// Check refuses a record that is impossible for a federation of m clients.
func (r *Record) Check(m int) error {
	for _, seconds := range []float64{r.Seconds, r.EvalTime, float64(r.Clock)} {
		if !(seconds >= 0) || math.IsInf(seconds, 0) {
			return fmt.Errorf("%v seconds", seconds)
		}
	}
	if r.BytesDown < 0 || r.BytesUp < 0 || r.StateBytes < 0 {
		return fmt.Errorf("%d bytes down, %d up, %d kept", r.BytesDown, r.BytesUp, r.StateBytes)
	}
	for name, n := range r.Links {
		if !(n >= 0) || math.IsInf(float64(n), 0) {
			return fmt.Errorf("%v bytes %s", n, name)
		}
	}
	switch {
	case r.Scores != nil && len(r.Scores) != m:
		return fmt.Errorf("%d client scores for %d clients", len(r.Scores), m)
	case r.Clusters != nil && len(r.Clusters) != m:
		return fmt.Errorf("%d clusters for %d clients", len(r.Clusters), m)
	case r.Validation != nil && r.Validation.Scores != nil && len(r.Validation.Scores) != m:
		return fmt.Errorf("%d client scores, on validation rows, for %d clients", len(r.Validation.Scores), m)
	case r.FineTuned != nil && r.FineTuned.Scores != nil && len(r.FineTuned.Scores) != m:
		return fmt.Errorf("%d client scores, fine-tuned, for %d clients", len(r.FineTuned.Scores), m)
	case r.ChosenOnTest != nil && len(r.ChosenOnTest) != m:
		return fmt.Errorf("%d client scores, chosen on test, for %d clients", len(r.ChosenOnTest), m)
	}
	for client, c := range r.Clusters {
		if most := max(m, maxClusters); c < -1 || c >= most {
			return fmt.Errorf("client %d: cluster %d: must be in [0, %d), or -1 for none", client, c, most)
		}
	}
	if err := checkSolves(r.Results, m); err != nil {
		return err
	}
	if err := r.Server.check(); err != nil {
		return err
	}
	for _, miss := range r.Absences {
		if miss.Client < 0 || miss.Client >= m {
			return fmt.Errorf("client %d of %d", miss.Client, m)
		}
		if err := inOrder(miss.Begin, miss.End); err != nil {
			return fmt.Errorf("client %d: %w", miss.Client, err)
		}
	}
	v, sums := r.validation(), r.sums()
	tuned := cmp.Or(r.FineTuned, &FineTuned{})
	for _, scores := range [][]Score{r.Scores, r.Unseen, r.ChosenOnTest, v.Scores, tuned.Scores, tuned.Unseen} {
		for client, s := range scores {
			if s.Examples < 0 {
				return fmt.Errorf("client %d: %d examples", client, s.Examples)
			}
		}
	}
	for _, s := range []*Score{r.Global, v.Global, v.Mean, sums.Mean, sums.Unseen, sums.ChosenOnTest, tuned.Mean, tuned.MeanUnseen} {
		if s != nil && s.Examples < 0 {
			return fmt.Errorf("%d examples", s.Examples)
		}
	}
	if t := sums.Training; t != nil && (t.Clients < 0 || t.Steps < 0) {
		return fmt.Errorf("%d clients, %d steps", t.Clients, t.Steps)
	}
	if c := r.Clustering; c != nil && c.Count < 0 {
		return fmt.Errorf("%d clusters", c.Count)
	}
	return nil
}

// checkSolves refuses invalid rows, unknown clients and duplicates.
func checkSolves(solves []ClientResult, m int) error {
	seen := make(map[int]bool, len(solves))
	for _, s := range solves {
		switch err := inOrder(s.Begin, s.Received, s.Finished, s.Arrived); {
		case s.Client < 0 || s.Client >= m:
			return fmt.Errorf("client %d of %d", s.Client, m)
		case s.Steps < 0 || s.Examples < 0 || s.Staleness < 0:
			return fmt.Errorf("client %d: %d steps, %d examples, staleness %d", s.Client, s.Steps, s.Examples, s.Staleness)
		case err != nil:
			return fmt.Errorf("client %d: %w", s.Client, err)
		case seen[s.Client]:
			return fmt.Errorf("client %d is there twice", s.Client)
		}
		seen[s.Client] = true
	}
	return nil
}

// inOrder refuses times of the simulated clock that decrease, are negative or not finite.
func inOrder(times ...Float) error {
	before := 0.0
	for _, t := range times {
		if !(float64(t) >= before) || math.IsInf(float64(t), 0) {
			return fmt.Errorf("%v s on the clock after %v", t, before)
		}
		before = float64(t)
	}
	return nil
}

package plot

import (
	"slices"

	"gonum.org/v1/gonum/stat"

	"fedkit.example/fedkit"
)

// clientMean returns the mean over clients, each weighted by its number of test examples; nil if none has any. A metric
// is averaged over the clients that have it: a client without examples of a class has no accuracy on it.
func clientMean(scores []fedkit.Score) *fedkit.Score {
	scores = slices.DeleteFunc(slices.Clone(scores), func(s fedkit.Score) bool { return s.Examples <= 0 })
	if len(scores) == 0 {
		return nil
	}
	mean := &fedkit.Score{
		Loss:     weighted(scores, func(s fedkit.Score) (fedkit.Float, bool) { return s.Loss, true }),
		Accuracy: weighted(scores, func(s fedkit.Score) (fedkit.Float, bool) { return s.Accuracy, true }),
	}
	for _, s := range scores {
		mean.Examples += s.Examples
		for name := range s.Metrics {
			if _, done := mean.Metrics[name]; !done {
				if mean.Metrics == nil {
					mean.Metrics = map[string]fedkit.Float{}
				}
				mean.Metrics[name] = weighted(scores, func(s fedkit.Score) (fedkit.Float, bool) {
					v, ok := s.Metrics[name]
					return v, ok && finite(float64(v))
				})
			}
		}
	}
	return mean
}

// weighted returns the mean of a value over those that have it, by their examples; NaN if none has.
func weighted(scores []fedkit.Score, value func(fedkit.Score) (fedkit.Float, bool)) fedkit.Float {
	var v, n []float64
	for _, s := range scores {
		if x, ok := value(s); ok {
			v, n = append(v, float64(x)), append(n, float64(s.Examples))
		}
	}
	return fedkit.Float(stat.Mean(v, n))
}

// lastScores returns the clients' scores at the last round that has any.
func lastScores(h *fedkit.History) []fedkit.Score {
	for _, r := range slices.Backward(h.Rounds) {
		if slices.ContainsFunc(r.Scores, func(s fedkit.Score) bool { return s.Examples > 0 }) {
			return r.Scores
		}
	}
	return nil
}

package metric

import "fedkit.example/fedkit"

// TokenAccuracy is the share of all labels that are predicted: of text, with a label at each position, the accuracy per token that the
// literature quotes. Score.Accuracy is the mean of the shares within each example, of which the last window of a text has few labels.
// With one label for each example the two are the same.
type TokenAccuracy struct{ ofLabels }

// String implements fedkit.Metric.
func (TokenAccuracy) String() string { return "token accuracy" }

// Measure implements fedkit.Metric. It is NaN without labels.
func (TokenAccuracy) Measure(p *fedkit.Predictions) float64 {
	p = labeled(p)
	right := 0.0
	for i, c := range p.Classes() {
		if c == p.Labels[i] {
			right++
		}
	}
	return right / float64(len(p.Labels))
}

package history

import (
	"math"
	"testing"
)

// The quartiles are those of numpy.quantile(a, [0.25, 0.5, 0.75]).
func TestSpread(t *testing.T) {
	r := Record{Scores: []Score{{Accuracy: 0.5}}}
	if s := r.Spread(); s != nil {
		t.Errorf("without an example: %+v", s)
	}
	for i := range 11 {
		r.Scores = append(r.Scores, Score{Accuracy: Float(1+(i*i*7)%11) / 16, Examples: 1 + i})
	}
	r.Scores = append(r.Scores, Score{Accuracy: Float(math.NaN()), Examples: 1})
	if got, want := *r.Spread(), (Spread{Mean: 77.0 / 192, Worst: 0.5 / 16, Min: 0, Q1: 3.0 / 16, Median: 7.5 / 16, Q3: 9.0 / 16, Max: 11.0 / 16}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

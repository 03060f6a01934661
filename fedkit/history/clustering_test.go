package history

import (
	"math"
	"testing"
)

func TestClusteringAsText(t *testing.T) {
	for want, c := range map[string]Clustering{
		"clusters: 3; ARI 0.912, NMI 1, purity 0.5; models 0.25 to 1.5 apart": {Count: 3, ARI: 0.9123, NMI: 1, Purity: 0.5, Distances: []Float{1.5, 0.25, 1}},
		"clusters: 1": {Count: 1, ARI: Float(math.NaN()), NMI: Float(math.NaN()), Purity: Float(math.NaN())},
	} {
		if got := c.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

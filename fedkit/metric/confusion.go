package metric

import (
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/fault"
)

// maxConfused is the largest number of classes of a confusion matrix, 128 MiB of numbers.
const maxConfused = 4096

// Confusion returns the confusion matrix, [classes][classes]: how many examples with each label, by row, are predicted as each class, by
// column. It is nil without labels or outputs. This is scikit-learn's confusion_matrix; plot.Confusion draws it.
func Confusion(p *fedkit.Predictions) (counts [][]int) {
	p = labeled(p)
	k := 0
	for i, out := range p.Outputs {
		k = max(k, len(out), int(p.Labels[i])+1)
	}
	if k > maxConfused {
		panic(fault.Invalid("classes of the predictions", k, fmt.Sprintf("at most %d", maxConfused)))
	}
	for range k {
		counts = append(counts, make([]int, k))
	}
	for i, c := range p.Classes() {
		counts[p.Labels[i]][c]++
	}
	return counts
}

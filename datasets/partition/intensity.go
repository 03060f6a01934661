package partition

import (
	"fmt"

	"fedkit.example/datasets"
)

// Intensity is feature skew by brightness: every value of a client's training and test rows is multiplied by its gain,
// as if cameras or scanners differed. The clients of Of are split evenly, in order, over the k entries of Gain, and the
// position is the client's true group. If Of has groups already, Group is the product, as for Rotations.
//
// Bytes stay bytes: the byte is multiplied, rounded and clipped to 255, so that black stays black whatever the split's
// Shift.
type Intensity struct {
	Of   Rule      // makes the clients
	Gain []float64 // of each group, in (0, 10⁶]; 1 changes nothing
}

// Partition returns the clients of Of in a new data set. It fails if Gain is empty or out of range, a group has fewer
// clients than Gain has entries, or Of fails.
func (r Intensity) Partition(d *datasets.Dataset) (*Partitioned, error) {
	if len(r.Gain) == 0 {
		return nil, fmt.Errorf("partition.Intensity: Gain is empty: must have an entry for each group")
	}
	for _, g := range r.Gain {
		if !(g > 0 && g <= 1e6) {
			return nil, fmt.Errorf("partition.Intensity: Gain = %v: must be in (0, 1e6]", r.Gain)
		}
	}
	deal, err := inner("Intensity", r.Of, d)
	if err != nil {
		return nil, err
	}
	group, err := deal.regroup("Intensity", "Gain", len(r.Gain))
	if err != nil {
		return nil, err
	}
	deal.ownFeatures()
	deal.each(func(s *datasets.Split, _ string, row, client int) {
		black := 0.0
		if s.Bytes != nil {
			black = float64(s.Shift)
		}
		gain := r.Gain[group[client]]
		edit(s, row, func(v float64) float64 { return black + gain*(v-black) })
	})
	return deal.checked("Intensity")
}

// String returns "20 clients, IID, intensity × 1, 0.5".
func (r Intensity) String() string { return fmt.Sprintf("%v, intensity × %s", r.Of, listed(r.Gain)) }

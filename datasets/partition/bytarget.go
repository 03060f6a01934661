package partition

import (
	"fmt"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
)

// ByTarget lets a rule that partitions by label, such as Dirichlet, partition data whose examples do not have one label each. The rule
// Of sees a class in the place of each example's ground truth:
//
//	values     the bin of the value in Column; bins have equally many training examples, plus or minus one and but for ties
//	tags       the example's first tag; none is a class of its own
//	positions  the example's most frequent label, the first of ties; none is a class of its own
//
// Classes that no example has are left out. The clients' data keep their targets, and rules that change data go around it:
//
//	partition.Rotations{Of: partition.ByTarget{Of: partition.Dirichlet{Clients: 20, Alpha: 0.3}}}
type ByTarget struct {
	Of     Rule // makes the clients
	Column int  // of the values to bin, from 0
	Bins   int  `default:"10"` // of values, at least 2
}

// Partition returns the clients of Of. It fails if a field is out of range, there are fewer than two classes, the data set does not
// pass its Check or has one label per example, or Of fails or changes data.
func (r ByTarget) Partition(d *datasets.Dataset) (*Partitioned, error) {
	r = config.Defaults(r)
	if err := d.Check(); err != nil {
		return nil, fmt.Errorf("partition.ByTarget: %w", err)
	}
	width := max(1, d.Train.Width)
	switch {
	case d.Labeled():
		return nil, fmt.Errorf("partition.ByTarget: %s has one label per example: must have values, tags or positions", d.Name)
	case r.Column < 0 || r.Column >= width:
		return nil, fmt.Errorf("partition.ByTarget: Column = %d: must be in [0, %d)", r.Column, width)
	case r.Bins < 2:
		return nil, fmt.Errorf("partition.ByTarget: Bins = %d: must be at least 2, or 0 for the default of %d", r.Bins, config.Defaults(ByTarget{}).Bins)
	}
	edges := r.edges(&d.Train)
	train, test := r.classes(d, &d.Train, edges), r.classes(d, &d.Test, edges)
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(train, test))))
	if len(names) < 2 {
		return nil, fmt.Errorf("partition.ByTarget: all examples of %s are of one class: must be at least 2", d.Name)
	}
	stand := *d
	stand.Classes, stand.Tags, stand.Coarse = len(names), false, nil
	for _, part := range []struct {
		s       *datasets.Split
		classes []int32
	}{{&stand.Train, train}, {&stand.Test, test}} {
		for i, c := range part.classes {
			at, _ := slices.BinarySearch(names, c)
			part.classes[i] = int32(at)
		}
		part.s.Labels, part.s.Targets, part.s.Width = part.classes, nil, 0
	}
	deal, err := inner("ByTarget", r.Of, &stand)
	if err != nil {
		return nil, err
	}
	if deal.Data != &stand {
		return nil, fmt.Errorf("partition.ByTarget: Of = %v: must be a rule that changes no data; those that do go around ByTarget", r.Of)
	}
	deal.Data = d
	return deal, nil
}

// classes returns the class of each example of a part, [n].
func (r ByTarget) classes(d *datasets.Dataset, s *datasets.Split, edges []float32) []int32 {
	classes, t := make([]int32, s.Len()), max(1, s.Width)
	for i := range classes {
		switch {
		case d.Tags:
			classes[i] = int32((slices.Index(s.Targets[i*t:(i+1)*t], 1) + t + 1) % (t + 1)) // t for none
		case d.Classes == 0:
			at, found := slices.BinarySearch(edges, s.Targets[i*t+r.Column])
			if found {
				at++
			}
			classes[i] = int32(at)
		default:
			count := make([]int, d.Classes+1)
			for _, l := range s.Labels[i*t : (i+1)*t] {
				if l >= 0 {
					count[l]++
				}
			}
			if slices.Max(count) == 0 {
				count[d.Classes]++ // a class of its own
			}
			classes[i] = int32(slices.Index(count, slices.Max(count)))
		}
	}
	return classes
}

// edges returns the least value of each bin but the first.
func (r ByTarget) edges(s *datasets.Split) (edges []float32) {
	if s.Targets == nil {
		return nil
	}
	values, t := make([]float32, s.Len()), max(1, s.Width)
	for i := range values {
		values[i] = s.Targets[i*t+r.Column]
	}
	slices.Sort(values)
	for b := 1; b < r.Bins; b++ {
		edges = append(edges, values[b*len(values)/r.Bins])
	}
	return slices.Compact(edges)
}

// String returns "20 clients, Dirichlet α = 0.5, by target", with the column and the number of bins if they are set.
func (r ByTarget) String() string {
	text := fmt.Sprintf("%v, by target", r.Of)
	if r.Column != 0 {
		text += fmt.Sprintf(" %d", r.Column)
	}
	if r.Bins != 0 {
		text += fmt.Sprintf(" in %d bins", r.Bins)
	}
	return text
}

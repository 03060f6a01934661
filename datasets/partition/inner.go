package partition

import (
	"fmt"
	"math"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
)

// inner partitions by a rule that is nested in another. The caller may change the list of clients, but not their rows.
func inner(rule string, of Rule, d *datasets.Dataset) (*Partitioned, error) {
	at, wrong, cycle := config.Unset(of)
	if of == nil || cycle || wrong != nil && at == "" {
		what := "nil"
		if cycle {
			what = fmt.Sprintf("a %v that contains itself", wrong)
		} else if of != nil {
			what = fmt.Sprintf("nil %v", wrong)
		}
		return nil, fmt.Errorf("partition.%s: Of = %s: must be a rule that deals the rows out, such as partition.IID{Clients: 20}", rule, what)
	}
	deal, err := of.Partition(d)
	if err != nil {
		return nil, fmt.Errorf("partition.%s: %w", rule, err)
	}
	if err := deal.Check(); err != nil {
		return nil, fmt.Errorf("partition.%s: Of: %w", rule, err)
	}
	if deal.Shared && rule != "Take" && rule != "Quantity" {
		return nil, fmt.Errorf("partition.%s: Of = %v: must be a rule whose clients do not share rows, since these are changed client by client", rule, of)
	}
	return &Partitioned{Data: deal.Data, Clients: slices.Clone(deal.Clients), Shared: deal.Shared}, nil
}

// regroup splits the clients of each group, in their order, into k parts of equal size (plus or minus one), and returns
// the part of each client, [M]. The new group of a client in part j of group g is g·k + j: the product of both. field
// is the option that sets k.
func (d *Partitioned) regroup(rule, field string, k int) ([]int, error) {
	size := map[int]int{}
	for _, c := range d.Clients {
		size[c.Group]++
	}
	seen := map[int]int{}
	parts := make([]int, len(d.Clients))
	for i := range d.Clients {
		g := d.Clients[i].Group
		if size[g] < k {
			return nil, fmt.Errorf("partition.%s: %s asks for %d groups: must be at most %d, the number of clients in group %d",
				rule, field, k, size[g], g)
		}
		parts[i] = seen[g] * k / size[g]
		seen[g]++
		d.Clients[i].Group = g*k + parts[i]
	}
	return parts, nil
}

// each calls change for every row of every client, with its part of the data set.
func (d *Partitioned) each(change func(s *datasets.Split, part string, row, client int)) {
	for i, c := range d.Clients {
		for _, row := range slices.Concat(c.Train, c.Validation) {
			change(&d.Data.Train, "train", row, i)
		}
		for _, row := range c.Test {
			change(&d.Data.Test, "test", row, i)
		}
	}
}

// ownFeatures copies the data set, so that its features may be changed.
func (d *Partitioned) ownFeatures() {
	data := *d.Data
	for _, s := range []*datasets.Split{&data.Train, &data.Test} {
		s.Bytes, s.Floats = slices.Clone(s.Bytes), slices.Clone(s.Floats)
	}
	d.Data = &data
}

// ownLabels copies the data set, so that its labels may be changed.
func (d *Partitioned) ownLabels() {
	data := *d.Data
	data.Train.Labels, data.Test.Labels = slices.Clone(data.Train.Labels), slices.Clone(data.Test.Labels)
	data.Coarse = nil // a class no longer means the same everywhere
	d.Data = &data
}

// edit changes the values of a row, as a model sees them. Bytes stay bytes: the nearest values in [0, 255].
func edit(s *datasets.Split, row int, change func(float64) float64) {
	if s.Floats != nil {
		f := len(s.Floats) / s.Len()
		for i, v := range s.Floats[row*f : (row+1)*f] {
			s.Floats[row*f+i] = float32(change(float64(v)))
		}
		return
	}
	f := len(s.Bytes) / s.Len()
	scale, shift := float64(s.Scale), float64(s.Shift)
	for i, b := range s.Bytes[row*f : (row+1)*f] {
		v := (change(scale*float64(b)+shift) - shift) / scale
		s.Bytes[row*f+i] = uint8(math.Round(min(max(v, 0), 255)))
	}
}

// checked returns the deal, or an error if its data set does not pass Check after a change.
func (d *Partitioned) checked(rule string) (*Partitioned, error) {
	if err := d.Data.Check(); err != nil {
		return nil, fmt.Errorf("partition.%s: %w", rule, err)
	}
	return d, nil
}

package partition

import (
	"fmt"
	"slices"

	"fedkit.example/datasets"
)

// Rotations is feature skew by rotation: the images of each client, training and test, are rotated by one of k angles,
// counterclockwise. The clients of Of are split evenly, in order, over the angles, and the angle's position in Degrees
// is the client's true group. If Of has groups already, the clients of each are split, and Group is the product: the
// inner group times k plus the position, so that every pair of the two is a separate group.
//
// With FullCopies, each angle has all clients of Of instead, and so the whole data set. The new data set has k times the
// rows, one copy after another, and k times the clients, those of the first angle first. Clients at the same place in
// different groups hold the same images, rotated differently. This is the Rotated MNIST of IFCA:
//
//	partition.Rotations{Of: partition.IID{Clients: 300}, FullCopies: true} // m = 1200 clients of n = 200 images
//
// Source: A. Ghosh et al., An Efficient Framework for Clustered Federated Learning, 2020 (arXiv 2006.04088), section 6.
type Rotations struct {
	Of         Rule  // makes the clients
	Degrees    []int // k different multiples of 90; default 0, 90, 180, 270
	FullCopies bool  // each angle has the whole data set; default: a share of the clients
}

// Partition returns the clients of Of with rotated images, in a new data set; bytes stay bytes. It fails if Degrees is not
// allowed, a group has fewer clients than there are angles, Of fails, or the examples are not images (Shape [h w] or
// [h w channels], square except for 180 degrees).
func (r Rotations) Partition(d *datasets.Dataset) (*Partitioned, error) {
	degrees, err := r.degrees()
	if err != nil {
		return nil, err
	}
	deal, err := inner("Rotations", r.Of, d)
	if err != nil {
		return nil, err
	}
	turns := make([][]int, len(degrees))
	for j, a := range degrees {
		if turns[j], err = turn(deal.Data, a); err != nil {
			return nil, err
		}
	}
	var angle []int
	if r.FullCopies {
		angle = deal.repeat(len(degrees))
	} else if angle, err = deal.regroup("Rotations", "Degrees", len(degrees)); err != nil {
		return nil, err
	}
	deal.ownFeatures()
	f := deal.Data.Features()
	deal.each(func(s *datasets.Split, _ string, row, client int) {
		if s.Bytes != nil {
			gather(s.Bytes[row*f:(row+1)*f], turns[angle[client]])
		} else {
			gather(s.Floats[row*f:(row+1)*f], turns[angle[client]])
		}
	})
	return deal, nil
}

// String returns "20 clients, IID, rotated by 0, 90, 180, 270°".
func (r Rotations) String() string {
	degrees, err := r.degrees()
	if err != nil {
		degrees = r.Degrees
	}
	text := ", rotated by "
	if r.FullCopies {
		text = ", all of it rotated by "
	}
	return fmt.Sprint(r.Of) + text + listed(degrees) + "°"
}

// degrees returns the angles in [0, 360).
func (r Rotations) degrees() ([]int, error) {
	if len(r.Degrees) == 0 {
		return []int{0, 90, 180, 270}, nil
	}
	seen := map[int]bool{}
	var all []int
	for _, a := range r.Degrees {
		a = (a%360 + 360) % 360
		switch {
		case a%90 != 0:
			return nil, fmt.Errorf("partition.Rotations: Degrees = %v: every angle must be a multiple of 90", r.Degrees)
		case seen[a]:
			return nil, fmt.Errorf("partition.Rotations: Degrees = %v: must have every angle once, %d appears twice", r.Degrees, a)
		}
		seen[a] = true
		all = append(all, a)
	}
	return all, nil
}

// turn returns, for each value of a rotated image, where it was before.
func turn(d *datasets.Dataset, degrees int) ([]int, error) {
	if len(d.Shape) != 2 && len(d.Shape) != 3 {
		return nil, fmt.Errorf("partition.Rotations: %s has examples of shape %v: must be images, [h w] or [h w channels]", d.Name, d.Shape)
	}
	h, w := d.Shape[0], d.Shape[1]
	if h != w && degrees%180 != 0 {
		return nil, fmt.Errorf("partition.Rotations: %s has images of shape %v: must be square to turn them by %d degrees", d.Name, d.Shape, degrees)
	}
	channels := d.Features() / (h * w)
	from := make([]int, 0, d.Features())
	for y := range h {
		for x := range w {
			u, v := x, y // where (x, y) was
			switch degrees {
			case 90:
				u, v = w-1-y, x
			case 180:
				u, v = w-1-x, h-1-y
			case 270:
				u, v = y, h-1-x
			}
			for c := range channels {
				from = append(from, (v*w+u)*channels+c)
			}
		}
	}
	return from, nil
}

// gather puts the value from[i] at place i.
func gather[T any](row []T, from []int) {
	was := slices.Clone(row)
	for i, k := range from {
		row[i] = was[k]
	}
}

// repeat gives the deal k copies of its data set and of its clients, and returns the copy of each client.
func (d *Partitioned) repeat(k int) []int {
	data := *d.Data
	data.Train, data.Test = stacked(slices.Repeat([]datasets.Split{data.Train}, k)...), stacked(slices.Repeat([]datasets.Split{data.Test}, k)...)
	var clients []Client
	var part []int
	for j := range k {
		for _, c := range d.Clients {
			clients = append(clients, Client{
				Train:      shifted(c.Train, j*d.Data.Train.Len()),
				Test:       shifted(c.Test, j*d.Data.Test.Len()),
				Group:      c.Group*k + j,
				Validation: shifted(c.Validation, j*d.Data.Train.Len()),
			})
			part = append(part, j)
		}
	}
	d.Data, d.Clients = &data, clients
	return part
}

func shifted(rows []int, by int) []int {
	out := slices.Clone(rows) // nil stays nil
	for i := range out {
		out[i] += by
	}
	return out
}

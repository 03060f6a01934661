package partition

import (
	"fmt"
	"math"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
)

// Relabel is concept shift: groups of clients disagree about labels. In group j every label c, of training and of test
// rows, becomes π_j(c). Images stay the same, so no single model can fit two groups that have the classes about which
// they disagree. The clients of Of are split evenly, in order, over the k groups, and j is the client's true group. If
// Of has groups already, Group is the product, as for Rotations.
//
// Source: F. Sattler, K.-R. Müller, W. Samek, Clustered Federated Learning: Model-Agnostic Distributed Multitask
// Optimization under Privacy Constraints, 2021 (arXiv 1910.01991), whose clients differ by permuted labels.
type Relabel struct {
	Of     Rule    // makes the clients
	Groups int     `default:"2"` // k; with Maps, their number. The first keeps its labels, the others draw different permutations
	Maps   [][]int // [k, C], π_j(c), to choose the permutations; default: drawn
	Seed   uint64  // of the permutations
}

// Partition returns the clients of Of, in a data set with other labels. It fails if a field is out of range, a map is not a
// permutation of the classes, there are fewer different permutations than groups, a group has fewer clients than there
// are maps, Of fails, or the data set has no labels.
func (r Relabel) Partition(d *datasets.Dataset) (*Partitioned, error) {
	deal, err := inner("Relabel", r.Of, d)
	if err != nil {
		return nil, err
	}
	maps, err := r.maps(deal)
	if err != nil {
		return nil, err
	}
	field := "Groups"
	if r.Maps != nil {
		field = "Maps"
	}
	group, err := deal.regroup("Relabel", field, len(maps))
	if err != nil {
		return nil, err
	}
	deal.ownLabels()
	deal.each(func(s *datasets.Split, _ string, row, client int) {
		s.Labels[row] = int32(maps[group[client]][s.Labels[row]])
	})
	return deal, nil
}

// String returns "20 clients, IID, labels permuted in 2 groups", and the seed unless it is 0.
func (r Relabel) String() string {
	if r.Maps != nil {
		return fmt.Sprintf("%v, labels mapped by %v", r.Of, r.Maps)
	}
	return fmt.Sprintf("%v, labels permuted in %s%s", r.Of, several(config.Defaults(r).Groups, "group"), seeded(r.Seed))
}

// maps returns the permutations, [k, C].
func (r Relabel) maps(d *Partitioned) ([][]int, error) {
	classes := d.Data.Classes
	switch {
	case classes == 0:
		return nil, fmt.Errorf("partition.Relabel: %s has no labels", d.Data.Name)
	case !d.Data.Labeled():
		return nil, fmt.Errorf("partition.Relabel: %s has several labels per example: must have one", d.Data.Name)
	case r.Maps != nil:
		return r.Maps, r.checkMaps(classes)
	}
	r = config.Defaults(r)
	if most := int(min(float64(len(d.Clients)), math.Gamma(float64(classes+1)))); r.Groups < 1 || r.Groups > most {
		return nil, fmt.Errorf("partition.Relabel: Groups = %d: must be in [1, %d], since there are %s and %d classes",
			r.Groups, most, count(len(d.Clients)), classes)
	}
	same := upTo(classes)
	maps, seen := [][]int{same}, map[string]bool{fmt.Sprint(same): true}
	for src := stream(r.Seed, "labels"); len(maps) < r.Groups; {
		if p := shuffled(classes, src); !seen[fmt.Sprint(p)] {
			maps, seen[fmt.Sprint(p)] = append(maps, p), true
		}
	}
	return maps, nil
}

func (r Relabel) checkMaps(classes int) error {
	if r.Groups != 0 && r.Groups != len(r.Maps) {
		return fmt.Errorf("partition.Relabel: Groups = %d: must be 0 or %d, the number of Maps", r.Groups, len(r.Maps))
	}
	if len(r.Maps) == 0 {
		return fmt.Errorf("partition.Relabel: Maps is empty: must be nil or have one map per group")
	}
	for j, m := range r.Maps {
		sorted := slices.Sorted(slices.Values(m))
		if len(m) != classes || sorted[0] != 0 || sorted[classes-1] != classes-1 || len(slices.Compact(sorted)) != classes {
			return fmt.Errorf("partition.Relabel: Maps[%d] = %v: must be a permutation of 0..%d", j, m, classes-1)
		}
	}
	return nil
}

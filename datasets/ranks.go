package datasets

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// ranks numbers names by their rank among the distinct ones in ascending order, and returns how many there are. If all
// names are whole numbers, they are compared by value.
func ranks(names []string) (numbers []int32, different int) {
	if values, ok := wholeNumbers(names); ok {
		return places(values)
	}
	return places(names)
}

func places[T cmp.Ordered](names []T) (numbers []int32, different int) {
	all := slices.Clone(names)
	slices.Sort(all)
	all = slices.Compact(all)
	numbers = make([]int32, len(names))
	for i, name := range names {
		place, _ := slices.BinarySearch(all, name)
		numbers[i] = int32(place)
	}
	return numbers, len(all)
}

// wholeNumbers returns the values of names if all are whole numbers that a float64 tells apart.
func wholeNumbers(names []string) (values []float64, ok bool) {
	for _, name := range names {
		v, err := strconv.ParseFloat(name, 64)
		if err != nil || v != math.Trunc(v) || math.Abs(v) >= 1<<53 {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

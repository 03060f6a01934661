package chart

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// Colors gives series of these names the first colors, in this order, in all figures that are drawn from now on and have one of them,
// whether or not they have all: a method then has one color throughout a notebook. Names that are not listed get those that follow.
// In a notebook, a function whose name begins with init_ is called in every later cell:
//
//	func init_colors() { chart.Colors("FedAvg", "FedCluster", "FedSC") }
func Colors(names ...string) { reserved.Store(&names) }

var reserved atomic.Pointer[[]string]

// reservedPlaces returns the places in the palette of the names given to Colors, none if no series has one of them.
func reservedPlaces(all []Series) map[string]int {
	places, names := map[string]int{}, reserved.Load()
	if names == nil || !slices.ContainsFunc(all, func(s Series) bool { return slices.Contains(*names, cmp.Or(s.Of, s.Name)) }) {
		return places
	}
	for _, name := range *names {
		if _, twice := places[name]; !twice {
			places[name] = len(places)
		}
	}
	return places
}

package chart

import "sync/atomic"

// Colors gives series of these names the first colors, in this order, in all figures that are drawn from now on, whether a figure has
// all of them or not: a method then has one color throughout a notebook. Names that are not listed get those that follow. In a
// notebook, a function whose name begins with init_ is called in every later cell:
//
//	func init_colors() { chart.Colors("FedAvg", "FedCluster", "FedSC") }
func Colors(names ...string) { reserved.Store(&names) }

var reserved atomic.Pointer[[]string]

// reservedPlaces returns the places of these names in the palette.
func reservedPlaces() map[string]int {
	places := map[string]int{}
	if names := reserved.Load(); names != nil {
		for _, name := range *names {
			if _, twice := places[name]; !twice {
				places[name] = len(places)
			}
		}
	}
	return places
}

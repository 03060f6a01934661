package chart

import (
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// Names keep their colors in figures that have other names too, or not all of them.
func TestColors(t *testing.T) {
	defer Colors()
	Colors("FedAvg", "IFCA", "FedAvg", "FedSC")
	for _, c := range []struct {
		names  []string
		places []int
	}{{[]string{"FedSC", "FedAvg"}, []int{2, 0}}, {[]string{"CFL", "IFCA", "FedAC"}, []int{3, 1, 4}}, {[]string{"CFL", "FedAC"}, []int{0, 1}}} {
		var all []Series
		for _, name := range c.names {
			all = append(all, Series{Name: name, X: []float64{0, 1}, Y: []float64{0, 1}})
		}
		s := expect.Value(Row{Curves("", "x", "y", all...)}.prepare())(t)
		for i, st := range s.order {
			if at := slices.Index(base, st.color); st.name != c.names[i] || at != c.places[i] {
				t.Errorf("%s has color %d, want %s with color %d", st.name, at, c.names[i], c.places[i])
			}
		}
	}
}

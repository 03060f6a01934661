package plot

import (
	"errors"
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
)

// holds reports a federation in which there is nothing to draw, or a row that its data set does not have.
func holds(fed *fedkit.Federation) error {
	switch {
	case fed == nil:
		return errors.New("the federation is nil")
	case fed.Data == nil:
		return errors.New("the federation has no Data")
	case len(fed.Clients) == 0:
		return errors.New("the federation has no Clients")
	}
	for i, c := range fed.Clients {
		for _, row := range c.Train {
			if n := fed.Data.Train.Len(); row < 0 || row >= n {
				return fmt.Errorf("client %d holds training row %d: the data set has %d", i, row, n)
			}
		}
	}
	return nil
}

// dealt puts the data set and the rule of the partition before a note.
func dealt(fed *fedkit.Federation, note string) string {
	if fed.Rule != "" {
		note = fed.Rule + "; " + note
	}
	if fed.Data.Name != "" {
		note = fed.Data.Name + ": " + note
	}
	return note
}

// trueGroup returns the figure's series of a true group of clients, a new one if there is none yet.
func trueGroup(f *chart.Figure, g int, m chart.Mark) *chart.Series {
	name := groupName(g)
	k := slices.IndexFunc(f.Series, func(s chart.Series) bool { return s.Name == name })
	if k < 0 {
		k = len(f.Series)
		f.Series = append(f.Series, chart.Series{Name: name, Mark: m})
	}
	return &f.Series[k]
}

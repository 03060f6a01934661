package plot

import (
	"errors"
	"fmt"
	"slices"

	"fedkit.example/fedkit"
)

// maxClients is how many clients a figure with a place for each shows.
const maxClients = 100

// Labels draws how labels are spread over clients: the area of the bubble at (client, label) is the number of training
// rows with that label that the client holds. Clients of different true groups differ in colour. At most the first 100
// clients are drawn, fewer where there are very many labels; the note says so.
//
// Errors: no federation, no data, no clients, a data set without labels, a row that the data set does not have.
func Labels(fed *fedkit.Federation) error { return show(LabelsFigure(fed)) }

// LabelsFigure returns the figure that Labels shows.
func LabelsFigure(fed *fedkit.Federation) (f *Figure, err error) {
	defer guard(&err)
	counts, err := labelCounts(fed)
	if err != nil {
		return nil, fmt.Errorf("plot: labels: %w", err)
	}
	shown := firstClients(counts, 1000)
	f = &Figure{
		Name:  "labels",
		Title: "Labels of each client's training rows",
		X:     Axis{Title: "client", Whole: true},
		Y:     Axis{Title: "label", Whole: true},
		Area:  "training rows",
	}
	most := 0
	for i := range shown {
		s := f.group(fed.Clients[i].Group, Dots)
		for label, n := range counts[i] {
			if n > 0 {
				s.X, s.Y, s.Size = append(s.X, float64(i)), append(s.Y, float64(label)), append(s.Size, float64(n))
				most = max(most, n)
			}
		}
	}
	f.Width = min(900, max(360, 40*shown))
	f.Height = min(620, max(200, max(18, min(28, f.Width/shown))*fed.Data.Classes))
	f.Note = dealt(fed, fmt.Sprintf("area: number of rows, the largest is %d", most))
	if shown < len(fed.Clients) {
		f.Note += fmt.Sprintf("; the first %d of %d clients", shown, len(fed.Clients))
	}
	return f, nil
}

// group returns the figure's series of a true group of clients, a new one where there is none yet.
func (f *Figure) group(g int, m Mark) *Series {
	name := fmt.Sprintf("group %d", g)
	k := slices.IndexFunc(f.Series, func(s Series) bool { return s.Name == name })
	if k < 0 {
		k = len(f.Series)
		f.Series = append(f.Series, Series{Name: name, Mark: m})
	}
	return &f.Series[k]
}

// dealt puts before a note what was dealt out, and how.
func dealt(fed *fedkit.Federation, note string) string {
	if fed.Rule != "" {
		note = fed.Rule + "; " + note
	}
	if fed.Data.Name != "" {
		note = fed.Data.Name + ": " + note
	}
	return note
}

// holds reports a federation in which there is nothing to draw.
func holds(fed *fedkit.Federation) error {
	switch {
	case fed == nil:
		return errors.New("the federation is nil")
	case fed.Data == nil:
		return errors.New("the federation has no Data")
	case len(fed.Clients) == 0:
		return errors.New("the federation has no Clients")
	}
	return nil
}

// labelCounts returns [client][label] the number of training rows.
func labelCounts(fed *fedkit.Federation) ([][]int, error) {
	if err := holds(fed); err != nil {
		return nil, err
	}
	if fed.Data.Classes < 1 || len(fed.Data.Train.Labels) == 0 {
		return nil, fmt.Errorf("data set %q has no labels: it is a regression", fed.Data.Name)
	}
	labels := fed.Data.Train.Labels
	counts := make([][]int, len(fed.Clients))
	for i, c := range fed.Clients {
		counts[i] = make([]int, fed.Data.Classes)
		for _, row := range c.Train {
			if row < 0 || row >= len(labels) {
				return nil, fmt.Errorf("client %d holds training row %d: the data set has %d", i, row, len(labels))
			}
			l := labels[row]
			if l < 0 || int(l) >= fed.Data.Classes {
				return nil, fmt.Errorf("training row %d has label %d: must be in [0, %d)", row, l, fed.Data.Classes)
			}
			counts[i][l]++
		}
	}
	return counts, nil
}

// firstClients returns how many clients can be drawn with at most so many bubbles.
func firstClients(counts [][]int, bubbles int) int {
	for i, c := range counts {
		if i == maxClients {
			return i
		}
		for _, n := range c {
			if n > 0 {
				bubbles--
			}
		}
		if bubbles < 0 && i > 0 {
			return i
		}
	}
	return len(counts)
}

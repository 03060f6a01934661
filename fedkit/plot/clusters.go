package plot

import (
	"errors"
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
)

// maxStays is how many cells of a figure of clusters fit into a notebook.
const maxStays = 1200

// Clusters returns the figure of which cluster every client belonged to, round by round; Show draws it. Rounds in which
// nothing was clustered are skipped: the last assignment before them is drawn on. At most the first 100 clients are
// drawn. If assignments change so often that the figure would be heavy, only some of the rounds are; the note says so.
//
// Errors: a nil history, one without an assignment.
func Clusters(h *fedkit.History) *chart.Figure {
	return chart.Make("plot: clusters", func(f *chart.Figure) error {
		rounds, err := assigned(h)
		if err != nil {
			return err
		}
		all := len(rounds)
		spans := stays(rounds)
		for len(spans) > maxStays && len(rounds) > 2 {
			rounds = chart.Thin(rounds, max(2, len(rounds)*maxStays/len(spans)))
			spans = stays(rounds)
		}
		clients := 0
		for _, s := range spans {
			clients = max(clients, s.client+1)
		}
		f.Name, f.Title = "clusters", "Cluster of each client: "+h.Name
		f.X, f.Y = chart.Axis{Title: "round", Whole: true}, chart.Axis{Title: "client", Whole: true}
		f.Series = clusterSeries(spans)
		f.Height = min(640, max(200, 14*clients))
		if len(rounds) < all {
			note(f, "%d of the %d rounds with an assignment", len(rounds), all)
		}
		noteFirst(f, clients, len(rounds[0].Clusters), " clients")
		return nil
	})
}

// assigned returns the rounds that have an assignment.
func assigned(h *fedkit.History) ([]*fedkit.Record, error) {
	if h == nil {
		return nil, errors.New("the history is nil: did its run fail?")
	}
	var rounds []*fedkit.Record
	for i := range h.Rounds {
		if len(h.Rounds[i].Clusters) > 0 {
			rounds = append(rounds, &h.Rounds[i])
		}
	}
	if rounds == nil {
		return nil, fmt.Errorf("history %q has no assignment (Record.Clusters): %q does not cluster its clients", h.Name, h.Strategy)
	}
	return rounds, nil
}

// stay is a client's time in one cluster: from the round from on, until before the round to.
type stay struct {
	client, cluster int
	from, to        float64
}

// stays lists them, client by client. A negative cluster is none.
func stays(rounds []*fedkit.Record) []stay {
	var all []stay
	clients := 0
	for _, r := range rounds {
		clients = max(clients, len(r.Clusters))
	}
	for c := range min(clients, maxClients) {
		open := -1 // index of the stay that goes on
		for i, r := range rounds {
			to := r.Round + 1
			if i+1 < len(rounds) {
				to = rounds[i+1].Round
			}
			switch {
			case c >= len(r.Clusters) || r.Clusters[c] < 0:
				open = -1
			case open >= 0 && all[open].cluster == r.Clusters[c]:
				all[open].to = float64(to)
			default:
				open = len(all)
				all = append(all, stay{c, r.Clusters[c], float64(r.Round), float64(to)})
			}
		}
	}
	return all
}

// clusterSeries makes one series per cluster, in their order.
func clusterSeries(spans []stay) (all []chart.Series) {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b stay) int { return a.cluster - b.cluster })
	for i, s := range spans {
		if i == 0 || s.cluster != spans[i-1].cluster {
			all = append(all, chart.Series{Name: fmt.Sprintf("cluster %d", s.cluster), Mark: chart.Cells})
		}
		all[len(all)-1].Cell(s.from-0.5, s.to-0.5, float64(s.client)-0.46, float64(s.client)+0.46)
	}
	return all
}

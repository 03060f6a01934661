package plot

import (
	"errors"
	"fmt"
	"slices"

	"fedkit.example/fedkit"
)

// Clusters draws which cluster every client belonged to, round by round. Rounds in which nothing was clustered are
// skipped: the last assignment before them is drawn on. At most the first 100 clients are drawn, and where
// assignments change so often that the figure would be heavy, only some of the rounds; the note says so.
//
// Errors: a nil history, one without an assignment.
func Clusters(h *fedkit.History) error { return show(ClustersFigure(h)) }

// ClustersFigure returns the figure that Clusters shows.
func ClustersFigure(h *fedkit.History) (f *Figure, err error) {
	defer guard(&err)
	rounds, err := assigned(h)
	if err != nil {
		return nil, fmt.Errorf("plot: clusters: %w", err)
	}
	all := len(rounds)
	spans := stays(rounds)
	for len(spans) > 1200 && len(rounds) > 2 {
		rounds = thin(rounds, max(2, len(rounds)*1200/len(spans)))
		spans = stays(rounds)
	}
	f = &Figure{
		Name:  "clusters",
		Title: "Cluster of each client: " + h.Name,
		X:     Axis{Title: "round", Whole: true},
		Y:     Axis{Title: "client", Whole: true},
	}
	clients, clusters := 0, 0
	for _, s := range spans {
		clients, clusters = max(clients, s.client+1), max(clusters, s.cluster+1)
	}
	index := make(map[int]int)
	for k := range clusters {
		if slices.ContainsFunc(spans, func(s stay) bool { return s.cluster == k }) {
			index[k] = len(f.Series)
			f.Series = append(f.Series, Series{Name: fmt.Sprintf("cluster %d", k), Mark: Cells})
		}
	}
	for _, s := range spans {
		t := &f.Series[index[s.cluster]]
		t.X, t.X2 = append(t.X, s.from-0.5), append(t.X2, s.to-0.5)
		t.Y, t.Y2 = append(t.Y, float64(s.client)-0.46), append(t.Y2, float64(s.client)+0.46)
	}
	f.Height = min(640, max(200, 14*clients))
	if len(rounds) < all {
		f.Note = fmt.Sprintf("%d of the %d rounds with an assignment", len(rounds), all)
	}
	if m := len(rounds[0].Clusters); clients < m {
		f.Note = joinNotes(f.Note, fmt.Sprintf("the first %d of %d clients", clients, m))
	}
	return f, nil
}

func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
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

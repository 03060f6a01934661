package plot

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/cluster"
)

// maxStays limits the cells of a figure of clusters to what fits into a notebook; those that name their clients take more.
const maxStays, maxNamed = 1200, 900

// maxColumns is how many columns of equal rounds a figure of clusters has. With more of them, it has an axis of rounds.
const maxColumns = 8

// Clusters returns the figure of which cluster every client belonged to, round by round; Show draws it. The clusters of a round
// are matched to those before that they share most clients with (cluster.Follow), so that a group keeps its color even if a
// method renumbers its clusters. Rounds without a clustering keep the last assignment. A client without a cluster has no color.
// If clients seldom move, successive rounds with the same clusters are one column; if no client ever moves, all rounds are.
//
// True groups [M], if given, are what clients are sorted by, from the bottom up, with lines between them and a strip at
// the right: plot.Clusters(h, partition.Groups(fed.Clients)...). Clusters then have the numbers and the colors of the groups that
// agree with them best in the last round, one to one.
//
// At most the first 100 clients are drawn. If assignments change so often that the figure would be heavy, only some of the
// rounds are; the note says so.
//
// Errors: a nil history, one without an assignment, a number of true groups that is not that of its clients.
func Clusters(h *fedkit.History, truth ...int) *chart.Figure { return clusterMap(h, true, truth) }

// clusterMap is Clusters, with a column for equal rounds if it may fold them, else with an axis of rounds, and clients that have names.
func clusterMap(h *fedkit.History, mayFold bool, truth []int) *chart.Figure {
	return chart.Make("plot: clusters", func(f *chart.Figure) error {
		rounds, err := assigned(h)
		if err != nil {
			return err
		}
		clients := len(rounds[0].labels)
		if err := checkGroups(clients, nil, truth); err != nil {
			return err
		}
		renumber(rounds, truth)
		shown := sorted(min(clients, maxClients), func(i int) int { return of(truth, i) })
		all, most := rounds, maxStays
		if len(truth) > 0 {
			most = maxNamed
		}
		drawn := len(rounds)
		folded, begin := fold(rounds)
		if !mayFold {
			folded, begin = nil, nil
		}
		if folded != nil {
			rounds, drawn = folded, len(folded)
		}
		spans := stays(rounds, shown)
		for len(spans) > most && len(rounds) > 2 {
			rounds = chart.Thin(rounds, max(2, len(rounds)*most/len(spans)))
			spans = stays(rounds, shown)
		}
		f.Name, f.Title, f.Point, f.Legend = "clusters", "Cluster of each client: "+h.Name, "client", true
		f.X, f.Y = chart.Axis{Title: "round", Whole: true}, chart.Axis{Title: "client", Whole: true}
		f.Width, f.Height = 560, min(640, max(200, 14*len(shown)))
		if len(truth) > 0 || folded != nil || !mayFold {
			f.Y.Names = each(shown, strconv.Itoa)
		}
		f.Series = clusterSeries(spans, f.Y.Names, begin)
		if len(truth) > 0 {
			last := rounds[len(rounds)-1]
			from, to := float64(rounds[0].round)-0.5, float64(last.round)+0.5
			left, right := to+0.01*(to-from), to+0.035*(to-from)
			if folded != nil {
				left, right = to+0.1, to+0.5
			}
			clusters := len(f.Series)
			drawGroups(f, shown, truth, from, left, right)
			for i, s := range f.Series[clusters:] { // one line in the legend for a group and its cluster
				if slices.ContainsFunc(f.Series[:clusters], func(c chart.Series) bool { return c.Color == s.Color }) {
					f.Series[clusters+i].Name = clusterName(s.Color - 1)
				}
			}
			note(f, "strip: true group")
		}
		if folded != nil {
			narrow(f, begin, len(truth) > 0)
		}
		if len(rounds) < drawn {
			note(f, "%d of the %d rounds with an assignment", len(rounds), drawn)
		}
		noteFirst(f, len(shown), clients, " clients")
		f.Alt = moves(all, truth)
		return nil
	})
}

// moves says in words what a map of clusters shows.
func moves(rounds []assignment, truth []int) string {
	last, moved, when := rounds[len(rounds)-1].labels, map[int]bool{}, 0 // the last round of a move
	for i := 1; i < len(rounds); i++ {
		for c, l := range rounds[i].labels {
			if before := of(rounds[i-1].labels, c); l >= 0 && before >= 0 && l != before {
				moved[c], when = true, rounds[i].round
			}
		}
	}
	says := plural(len(distinct(last)), "cluster") + " of " + plural(len(last), "client")
	if len(truth) > 0 {
		says += fmt.Sprintf(", ARI with the true groups %.2f", cluster.Agree(last, truth).ARI)
	}
	if len(moved) == 0 {
		return says + "; none ever moves"
	}
	return fmt.Sprintf("%s; %d moved, the last in round %d", says, len(moved), when)
}

// assignment is which cluster each client is in from a round on.
type assignment struct {
	round  int
	labels []int
}

// assigned returns the rounds that have an assignment. A cluster has the name of its predecessor.
func assigned(h *fedkit.History) ([]assignment, error) {
	if h == nil {
		return nil, errNil
	}
	var rounds []assignment
	var before []int // the last cluster of each client
	for _, r := range h.Rounds {
		if len(r.Clusters) == 0 {
			continue
		}
		labels := slices.Clone(r.Clusters)
		if before != nil {
			labels = cluster.Follow(labels, before)
		}
		rounds = append(rounds, assignment{r.Round, labels})
		known := slices.Clone(labels)
		for i, l := range known {
			if l < 0 {
				known[i] = of(before, i)
			}
		}
		before = known
	}
	if rounds == nil {
		return nil, fmt.Errorf("history %q has no assignment (Record.Clusters): %q does not cluster its clients", h.Name, h.Strategy)
	}
	return rounds, nil
}

// renumber gives clusters the numbers of the true groups, if there are any.
func renumber(rounds []assignment, truth []int) {
	as := likeGroups(rounds[len(rounds)-1].labels, truth)
	if len(truth) == 0 {
		return
	}
	free := slices.Max(slices.Concat(slices.Collect(maps.Values(as)), truth)) + 1
	for _, r := range rounds {
		for i, l := range r.labels {
			if _, known := as[l]; !known && l >= 0 {
				as[l], free = free, free+1
			}
			if l >= 0 {
				r.labels[i] = as[l]
			}
		}
	}
}

// fold joins successive rounds with equal labels to columns 0, 1, …, if these are few and at most half as many as the rounds. Column
// i begins at round begin[i] and ends before begin[i+1].
func fold(rounds []assignment) (columns []assignment, begin []int) {
	for _, r := range rounds {
		if n := len(columns); n == 0 || !slices.Equal(columns[n-1].labels, r.labels) {
			columns, begin = append(columns, assignment{n, r.labels}), append(begin, r.round)
		}
	}
	if len(columns) > min(maxColumns, len(rounds)/2) {
		return nil, nil
	}
	return columns, append(begin, rounds[len(rounds)-1].round+1)
}

// narrow gives a folded figure an axis of columns, with a last one for a strip, and the room that they need.
func narrow(f *chart.Figure, begin []int, strip bool) {
	f.X = chart.Axis{Title: "rounds"}
	for i, first := range begin[1:] {
		f.X.Names = append(f.X.Names, roundsFrom(begin[i], first))
	}
	if strip {
		f.X.Names = append(f.X.Names, "")
	}
	f.Width = max(160, 64*len(f.X.Names))
	if len(begin) > 2 {
		note(f, "a column is rounds in which no client moves")
		return
	}
	f.Height = max(160, f.Height*3/5)
	note(f, "no client ever moves")
}

// roundsFrom names the rounds from one until before another.
func roundsFrom(from, to int) string {
	if to-from == 1 {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d–%d", from, to-1)
}

// stay is the time in one cluster of the client at a place: from the round from on, until before the round to.
type stay struct {
	place, cluster int
	from, to       float64
}

// stays lists them, in the order of these clients. A negative cluster is none.
func stays(rounds []assignment, clients []int) (all []stay) {
	for place, c := range clients {
		for i, r := range rounds {
			from, to, label := float64(r.round), float64(r.round+1), of(r.labels, c)
			if i+1 < len(rounds) {
				to = float64(rounds[i+1].round)
			}
			last := len(all) - 1
			switch {
			case label < 0:
			case last >= 0 && all[last].place == place && all[last].cluster == label && all[last].to == from: // it goes on
				all[last].to = to
			default:
				all = append(all, stay{place, label, from, to})
			}
		}
	}
	return all
}

// clusterSeries makes one series per cluster, in their order. Names of the clients, by place, and the
// beginnings of columns are for tooltips.
func clusterSeries(spans []stay, names []string, begin []int) (all []chart.Series) {
	slices.SortStableFunc(spans, func(a, b stay) int { return a.cluster - b.cluster })
	for i, s := range spans {
		if i == 0 || s.cluster != spans[i-1].cluster {
			all = append(all, chart.Series{Name: clusterName(s.cluster), Color: s.cluster + 1, Mark: chart.Cells})
		}
		var tip []string
		switch {
		case begin != nil:
			tip = []string{fmt.Sprintf("%s, rounds %s", names[s.place], roundsFrom(begin[int(s.from)], begin[int(s.to)]))}
		case names != nil:
			tip = names[s.place : s.place+1]
		}
		all[len(all)-1].Cell(s.from-0.5, s.to-0.5, float64(s.place)-0.46, float64(s.place)+0.46, tip...)
	}
	return all
}

// drawGroups adds lines between the true groups of clients that are sorted by them, and the strip right of the last round, from left
// to right.
func drawGroups(f *chart.Figure, clients, truth []int, from, left, right float64) {
	border := chart.Series{Name: "border", Mark: chart.Segments, Ink: true}
	for place, c := range clients {
		y := float64(place)
		if place > 0 && of(truth, c) != of(truth, clients[place-1]) {
			border.Cell(from, right, y-0.5, y-0.5)
		}
		if g := of(truth, c); g >= 0 {
			trueGroup(f, g, chart.Cells).Cell(left, right, y-0.5, y+0.5, fmt.Sprintf("%d, %s", c, groupName(g)))
		}
	}
	f.Series = append(f.Series, border)
}

// maxPairs is how many pairs of clusters have a line each.
const maxPairs = 10

// ClusterDistances returns the figure of how far the models of clusters are apart, against rounds; Show draws it. There is
// one line for each pair of clusters, or, if these are more than 10, one for the nearest pair, the mean of all, and the
// farthest pair. The axis is logarithmic if the distances span more than three powers of ten.
//
// Errors: a nil history, one without distances (Clustering.Distances).
func ClusterDistances(h *fedkit.History) *chart.Figure {
	return chart.Make("plot: cluster distances", func(f *chart.Figure) error {
		if h == nil {
			return errNil
		}
		pairs := 0
		for i := range h.Rounds {
			pairs = max(pairs, len(distances(&h.Rounds[i])))
		}
		if pairs == 0 {
			return fmt.Errorf("history %q has no distances of clusters (Clustering.Distances): %q has no model for each cluster, only one, or too many",
				h.Name, h.Strategy)
		}
		f.Name, f.Title = "cluster-distances", "Distances of the clusters' models: "+h.Name
		f.Y = chart.Axis{Title: "Euclidean distance"}
		if pairs > maxPairs {
			note(f, "%d pairs of clusters", pairs)
		}
		return drawCurves(f, distanceCurves(h, pairs > maxPairs), "distance")
	})
}

// distanceCurves returns a curve for each pair of clusters or, if these are many, those of the farthest pair, the mean and the nearest.
func distanceCurves(h *fedkit.History, many bool) (cs []curve) {
	add := func(name string, round int, v float64) {
		i := slices.IndexFunc(cs, func(c curve) bool { return c.name == name })
		if i < 0 {
			i, cs = len(cs), append(cs, curve{name: name, runs: 1})
		}
		if !finite(v) {
			cs[i].bad++
			return
		}
		cs[i].add(float64(round), v)
	}
	for i := range h.Rounds {
		d, round := distances(&h.Rounds[i]), h.Rounds[i].Round
		if many && len(d) > 0 {
			add("farthest pair", round, slices.Max(d))
			add("mean of all pairs", round, stat.Mean(d, nil))
			add("nearest pair", round, slices.Min(d))
			continue
		}
		k := 2 // models have k(k−1)/2 distances
		for k*(k-1)/2 < len(d) {
			k++
		}
		for a := range k {
			for b := a + 1; b < k && len(d) > 0; b++ {
				add(fmt.Sprintf("%d and %d", a, b), round, d[0])
				d = d[1:]
			}
		}
	}
	return cs
}

// distances returns those of a round's clusters.
func distances(r *fedkit.Record) []float64 {
	if r.Clustering == nil {
		return nil
	}
	return each(r.Clustering.Distances, func(d fedkit.Float) float64 { return float64(d) })
}

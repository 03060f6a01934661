package plot

import (
	"fmt"
	"math"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// ARI returns the figure of how well clusters agree with the true groups, against rounds; Show draws it. The adjusted Rand
// index is 1 for the same groups and about 0 for random ones; see cluster.Agreement. There is one line per configuration, as
// in Accuracy, over the rounds in which all of its runs have a value. Bands end at 1, and at 0 or the lowest value of any run.
//
// Errors: no history, a nil one, one that does not cluster its clients, one whose federation has no true groups.
func ARI(h ...*fedkit.History) *chart.Figure {
	return agreement("ARI", "adjusted Rand index", func(c *fedkit.Clustering) fedkit.Float { return c.ARI }, h)
}

// NMI is ARI for the normalized mutual information: 1 for the same groups, 0 for independent ones.
func NMI(h ...*fedkit.History) *chart.Figure {
	return agreement("NMI", "normalized mutual information", func(c *fedkit.Clustering) fedkit.Float { return c.NMI }, h)
}

// Purity is ARI for the share of clients that have the most frequent true group of their cluster.
func Purity(h ...*fedkit.History) *chart.Figure {
	return agreement("purity", "purity", func(c *fedkit.Clustering) fedkit.Float { return c.Purity }, h)
}

// ClusterCount returns the figure of how many clusters have a client, against rounds; Show draws it. All else is as in ARI, but
// the federation may be one without true groups.
func ClusterCount(h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: number of clusters", func(f *chart.Figure) error {
		f.Name, f.Title, f.Y = "cluster-count", "Number of clusters", chart.Axis{Title: "clusters", Whole: true, Covers: []float64{0}, Bounds: notNegative}
		count := func(c *fedkit.Clustering) fedkit.Float { return fedkit.Float(c.Count) }
		return overRecords(f, "number of clusters", h, clustering(count), clustered)
	})
}

func agreement(name, title string, of func(*fedkit.Clustering) fedkit.Float, h []*fedkit.History) *chart.Figure {
	return chart.Make("plot: "+name, func(f *chart.Figure) error {
		lowest := 0.0
		read := func(r *fedkit.Record) float64 {
			v := clustering(of)(r)
			if finite(v) {
				lowest = min(lowest, v)
			}
			return v
		}
		f.Name, f.Title = name, "Agreement of clusters with true groups"
		err := overRecords(f, name, h, read, func(r *compare.Run) error {
			if err := clustered(r); err != nil {
				return err
			}
			return truthful(r, read)
		})
		f.Y = chart.Axis{Title: title, Covers: []float64{0, 1}, Bounds: [2]float64{lowest, 1}}
		return err
	})
}

// clustering reads a number of a round's clustering, NaN without one.
func clustering(of func(*fedkit.Clustering) fedkit.Float) func(*fedkit.Record) float64 {
	return func(r *fedkit.Record) float64 {
		if r.Clustering == nil {
			return math.NaN()
		}
		return float64(of(r.Clustering))
	}
}

// clustered reports a run that does not cluster its clients.
func clustered(r *compare.Run) error {
	for i := range r.History.Rounds {
		if r.History.Rounds[i].Clustering != nil {
			return nil
		}
	}
	return fmt.Errorf("history %q has no clustering (Record.Clustering): %q does not cluster its clients", r.Name, r.History.Strategy)
}

// truthful reports a run without an agreement in any round.
func truthful(r *compare.Run, of func(*fedkit.Record) float64) error {
	for i := range r.History.Rounds {
		if finite(of(&r.History.Rounds[i])) {
			return nil
		}
	}
	return fmt.Errorf("history %q has nothing to compare its clusters with: its federation has no true groups, or only one", r.Name)
}

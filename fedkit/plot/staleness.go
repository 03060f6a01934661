package plot

import (
	"fmt"
	"maps"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/table"
)

// maxAges is how many bars a histogram of ages has.
const maxAges = 30

// Staleness returns the figure of the staleness of the results that the server used; Show draws it. The height of a bar is the
// share of a configuration's results with this ClientResult.Staleness: the rounds that began after the client did. Configurations
// stand side by side, and runs of one are pooled. In synchronous rounds all is 0. If there are many values, a bar stands for
// several; the note says so.
//
// Errors: no history, a nil one, one without the Results of any round.
func Staleness(h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: staleness", func(f *chart.Figure) error {
		all, err := compare.Runs(h...)
		if err != nil {
			return err
		}
		gs, most := compare.GroupRuns(all), 0
		counts := make([]map[int]int, len(gs))
		for i, g := range gs {
			if counts[i] = ages(g); len(counts[i]) == 0 {
				return fmt.Errorf("history %q has no results of single clients: they were not kept, or not loaded", g.Name)
			}
			most = max(most, slices.Max(slices.Collect(maps.Keys(counts[i]))))
		}
		wide := 1 // 1, 2, 5, 10, …
		for k := 0; most/wide >= maxAges; k++ {
			wide = wide * []int{4, 5, 4}[k%3] / 2
		}
		f.Name, f.Title, f.Point = "staleness", "Staleness of the results", "staleness"
		bars := most/wide + 1
		f.X = chart.Axis{Title: "rounds since the client began", Whole: true, Include: []float64{-0.5, float64(bars*wide) - 0.5}}
		f.Y, f.Height = chart.Axis{Title: "share of results", Percent: true, Bounds: [2]float64{0, 1}}, 240
		if wide > 1 {
			note(f, "a bar is %d rounds of staleness", wide)
		}
		noteEach(f, compare.Remarks(gs))
		for i, g := range gs {
			f.Series = append(f.Series, ageBars(g.Name, counts[i], wide, bars, i, len(gs)))
		}
		return nil
	})
}

// ages counts the results of a group's runs by age.
func ages(g *compare.Group) map[int]int {
	n := map[int]int{}
	for _, r := range g.Runs {
		for i := range r.History.Rounds {
			for _, s := range r.History.Rounds[i].Results {
				n[max(0, s.Staleness)]++
			}
		}
	}
	return n
}

// ageBars draws the shares of group i of n, which has its share of the width of each of the bars.
func ageBars(name string, counts map[int]int, wide, bars, i, n int) chart.Series {
	s, sums, all := chart.Series{Name: name, Mark: chart.Cells}, make([]int, bars), 0
	for age, c := range counts {
		sums[age/wide] += c
		all += c
	}
	for bar, c := range sums {
		if c == 0 {
			continue
		}
		first, share := bar*wide, float64(c)/float64(all)
		left := float64(first) - 0.5 + float64(wide)*(0.06+0.88*float64(i)/float64(n))
		tip := fmt.Sprintf("%d: %s", first, table.Percent(share))
		if wide > 1 {
			tip = fmt.Sprintf("%d to %d: %s", first, first+wide-1, table.Percent(share))
		}
		s.Cell(left, left+0.88*float64(wide)/float64(n), 0, share, tip)
	}
	return s
}

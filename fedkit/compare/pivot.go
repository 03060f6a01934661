package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"fedkit.example/fedkit/stats"
	"fedkit.example/fedkit/table"
)

// Pivot is a table of one quantity: a row for each group of runs (see Groups), a column for each panel, such as a problem or a value
// of a label. The zero value is ready to use.
//
//	compare.Pivot{By: compare.Clients}.Table(compare.Split("α", hs...)...).Show()
//
// A number is the mean over a group's runs ± half of its 95 % confidence interval, as in the table of a Comparison. The best mean
// of a column is bold, among groups whose runs all have a finite value: others may look good by what they lack. CSV has the mean of each
// panel, half of its interval ("IID ±"), and the number of runs in the mean ("IID n").
type Pivot struct {
	By Quantity // default Accuracy

	// Ranked sorts rows by their mean rank over the panels, the best first, and adds it as the last column. In each panel, 1 is
	// the best mean, ties share their mean rank, and groups without a value share the last. Default: rows in order of appearance.
	Ranked bool
}

// Table returns the table; Show shows it.
//
// Errors: no panel, those of Table for the runs of a panel, runs that cannot be compared.
func (p Pivot) Table(panels ...Panel) *table.Table {
	return table.Make("compare: pivot", func(t *table.Table) error {
		groups, all, b, err := groupPanels(panels)
		if err != nil {
			return err
		}
		q := p.By.For(all...)
		g := q.grid(panels, groups, b)
		if p.Ranked {
			g.rank()
		}
		fill(t, cmp.Or(q.Name, "quantity"), g.names, g.columns)
		if !q.NoneIsBetter {
			t.Bold = g.best()
		}
		t.Note = strings.Join(g.notes(q, groups, all, b, len(t.Bold) > 0), "; ")
		return nil
	})
}

// groupPanels returns the groups of each panel, all runs, and what they are compared by.
func groupPanels(panels []Panel) (groups [][]*Group, all []*Run, b Basis, err error) {
	if len(panels) == 0 {
		return nil, nil, b, errors.New("no panel given")
	}
	for _, p := range panels {
		runs, err := Evaluated(p.Runs...)
		if err != nil {
			return nil, nil, b, fmt.Errorf("panel %q: %w", p.Name, err)
		}
		groups, all = append(groups, GroupRuns(runs)), append(all, runs...)
	}
	b, err = CommonBasis(all)
	return groups, all, b, err
}

// grid is such a table: a cell for each row in each column.
type grid struct {
	names   []string
	columns []column
	sign    float64 // −1 if more is better, so that the smallest is the best
}

// grid puts the groups of all panels in rows by name, and writes the quantity of each.
func (q Quantity) grid(panels []Panel, groups [][]*Group, b Basis) *grid {
	g := &grid{sign: -1}
	if q.LowerIsBetter {
		g.sign = 1
	}
	for _, group := range slices.Concat(groups...) {
		if !slices.Contains(g.names, group.Name) {
			g.names = append(g.names, group.Name)
		}
	}
	for i, p := range panels {
		c := column{name: p.Name, data: []string{"±"}, of: slices.Repeat([]cell{interval(nil)}, len(g.names))}
		for k, of := range q.column(groups[i], b).of {
			c.of[slices.Index(g.names, groups[i][k].Name)] = of
		}
		q.fill(c.of, false)
		g.columns = append(g.columns, c.counted())
	}
	return g
}

// signed returns the means of a column so that the smallest is the best; missing ones are +Inf.
func (g *grid) signed(c column) []float64 {
	return each(c.of, func(of cell) float64 {
		if !finite(of.numbers[0]) {
			return math.Inf(1)
		}
		return g.sign * of.numbers[0]
	})
}

// rank sorts the rows by their mean ranks.
func (g *grid) rank() {
	ranks := each(g.columns, func(c column) []float64 { r, _ := stats.Ranks(g.signed(c)); return r })
	mean := make([]float64, len(g.names))
	for i := range mean {
		mean[i] = stat.Mean(each(ranks, func(r []float64) float64 { return r[i] }), nil)
	}
	order := ascending(mean)
	g.columns = append(g.columns, column{name: "mean rank", of: each(mean, func(m float64) cell { return cell{text: two(m), numbers: []float64{m}} })})
	g.names = each(order, func(i int) string { return g.names[i] })
	for k, c := range g.columns {
		g.columns[k].of = each(order, func(i int) cell { return c.of[i] })
	}
}

// best returns the places of the best of each panel, unless all tie.
func (g *grid) best() map[table.At]bool {
	bold := map[table.At]bool{}
	for k, c := range g.columns {
		v, best := g.signed(c), math.Inf(1)
		for i, of := range c.of {
			if !of.partial {
				best = min(best, v[i])
			}
		}
		isBest := func(i int) bool { return v[i] == best && !c.of[i].partial }
		behind := false
		for i := range v {
			behind = behind || finite(v[i]) && !isBest(i)
		}
		for i := range v {
			if c.data != nil && behind && finite(best) && isBest(i) {
				bold[table.At{Line: i + 1, Column: k + 1}] = true
			}
		}
	}
	return bold
}

// notes explain the numbers.
func (g *grid) notes(q Quantity, groups [][]*Group, all []*Run, b Basis, bold bool) (says []string) {
	sizes := each(slices.Concat(groups...), func(g *Group) int { return len(g.Runs) })
	half := ""
	if have(g.columns, varies) {
		half = " ± 95 % confidence interval"
	}
	switch least, most := slices.Min(sizes), slices.Max(sizes); {
	case most > 1 && least == most:
		says = append(says, fmt.Sprintf("mean over %d seeds%s", most, half))
	case most > 1:
		says = append(says, fmt.Sprintf("mean over %d to %d seeds%s", least, most, half))
	}
	if slices.ContainsFunc(all, func(r *Run) bool { return fmt.Sprint(q.Value(r, b)) != fmt.Sprint(q.Value(r, b.Other())) }) {
		says = append(says, q.Name+" "+b.String())
	}
	best := "bold (* in text): best mean"
	if brackets := inBrackets(g.columns); brackets != nil {
		says, best = append(says, brackets...), best+" of those that all runs have"
	}
	if bold {
		says = append(says, best)
	}
	says = append(says, lacking(all, []column{{name: q.Name}}, true)...)
	for _, r := range slices.Concat(each(groups, Remarks)...) {
		if !slices.Contains(says, r) {
			says = append(says, r)
		}
	}
	return says
}

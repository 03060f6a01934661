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

// Across is a table of one quantity across panels, such as problems: a line for each group of runs (see Groups), a column for
// each panel. The zero value is ready to use.
//
//	compare.Across{By: compare.Clients}.Table(compare.Panel{"labels", skewed}, compare.Panel{"none", even}).Show()
//
// A number is the mean over a group's runs ± half of its 95 % confidence interval, as in the table of a Comparison. The best mean
// of a column is bold, among groups whose runs all have a finite value: others may look good by what they lack.
type Across struct {
	By Quantity // default Accuracy

	// Ranked sorts lines by their mean rank over the panels, the best first, and adds it as the last column. In each panel, 1 is
	// the best mean, ties share their mean rank, and groups without a value share the last. Default: lines in order of
	// appearance.
	Ranked bool
}

// Table returns the table; Show shows it.
//
// Errors: no panel, those of Table for the runs of a panel, runs that cannot be compared.
func (a Across) Table(panels ...Panel) *table.Table {
	return table.Make("compare: across", func(t *table.Table) error {
		if len(panels) == 0 {
			return errors.New("no panel given")
		}
		q := a.By.orAccuracy()
		var all []*Run
		of := make([][]*Run, len(panels))
		for i, p := range panels {
			runs, err := Evaluated(p.Runs...)
			if err != nil {
				return fmt.Errorf("panel %q: %w", p.Name, err)
			}
			of[i], all = runs, append(all, runs...)
		}
		b, err := CommonBasis(all)
		if err != nil {
			return err
		}
		g := q.grid(each(of, GroupRuns), b)
		if a.Ranked {
			g.rank(q.Less)
		}
		g.fill(t, cmp.Or(q.Name, "quantity"), panels)
		g.mark(t, q.Less)
		t.Note = strings.Join(g.notes(q, all, b), "; ")
		return nil
	})
}

// grid holds the cells of such a table, by line and panel. A group that a panel does not have is nil.
type grid struct {
	names  []string
	groups [][]*Group
	cells  [][]cell
	ranks  []float64 // mean over panels; nil if there are none
}

// grid puts the groups of all panels in lines by name, and writes the quantity of each.
func (q Quantity) grid(panels [][]*Group, b Basis) *grid {
	g := &grid{}
	for i, gs := range panels {
		written := q.column(gs, b)
		for k, group := range gs {
			line := slices.Index(g.names, group.Name)
			if line < 0 {
				line = len(g.names)
				g.names, g.groups = append(g.names, group.Name), append(g.groups, make([]*Group, len(panels)))
				g.cells = append(g.cells, slices.Repeat([]cell{missing}, len(panels)))
			}
			g.groups[line][i], g.cells[line][i] = group, written.of[k]
		}
	}
	return g
}

// column returns the means of a panel, negated if more is better, so that the smallest is the best. Missing ones are +Inf.
func (g *grid) column(panel int, less bool) []float64 {
	return each(g.cells, func(line []cell) float64 {
		switch v := line[panel].numbers[0]; {
		case !finite(v):
			return math.Inf(1)
		case less:
			return v
		default:
			return -v
		}
	})
}

// rank sorts the lines by their mean ranks.
func (g *grid) rank(less bool) {
	of := make([][]float64, len(g.names))
	for panel := range g.cells[0] {
		r, _ := stats.Ranks(g.column(panel, less))
		for i := range r {
			of[i] = append(of[i], r[i])
		}
	}
	mean := each(of, func(r []float64) float64 { return stat.Mean(r, nil) })
	order := make([]int, len(mean))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(mean[i], mean[j]) })
	sorted := &grid{}
	for _, i := range order {
		sorted.names, sorted.groups = append(sorted.names, g.names[i]), append(sorted.groups, g.groups[i])
		sorted.cells, sorted.ranks = append(sorted.cells, g.cells[i]), append(sorted.ranks, mean[i])
	}
	*g = *sorted
}

// fill writes the cells into the table, as text and as data.
func (g *grid) fill(t *table.Table, what string, panels []Panel) {
	head, data := []string{what}, []any{"run"}
	for _, p := range panels {
		head, data = append(head, p.Name), append(data, p.Name, p.Name+" ±", p.Name+" n")
	}
	if g.ranks != nil {
		head, data = append(head, "mean rank"), append(data, "mean rank")
	}
	t.Lines, t.Data = [][]string{head}, [][]any{data}
	for i, name := range g.names {
		line, data := []string{name}, []any{name}
		for k, c := range g.cells[i] {
			n := 0
			if group := g.groups[i][k]; group != nil {
				n = len(group.Runs)
			}
			line, data = append(line, c.text), append(data, c.numbers[0], c.numbers[1], float64(n))
		}
		if g.ranks != nil {
			line, data = append(line, two(g.ranks[i])), append(data, g.ranks[i])
		}
		t.Lines, t.Data = append(t.Lines, line), append(t.Data, data)
	}
}

// mark makes the best of each column bold, unless all tie.
func (g *grid) mark(t *table.Table, less bool) {
	t.Bold = map[table.At]bool{}
	for panel := range g.cells[0] {
		v := g.column(panel, less)
		whole := slices.Clone(v)
		for i, line := range g.cells {
			if line[panel].partial {
				whole[i] = math.Inf(1)
			}
		}
		best, behind := slices.Min(whole), false
		for i := range v {
			behind = behind || finite(v[i]) && whole[i] != best
		}
		for i := range whole {
			if behind && finite(best) && whole[i] == best {
				t.Bold[table.At{Line: i + 1, Column: panel + 1}] = true
			}
		}
	}
}

// notes explain the numbers.
func (g *grid) notes(q Quantity, all []*Run, b Basis) (says []string) {
	least, most, partial := math.MaxInt, 0, false
	for i := range g.groups {
		for k, group := range g.groups[i] {
			if group != nil {
				least, most = min(least, len(group.Runs)), max(most, len(group.Runs))
				partial = partial || g.cells[i][k].partial
			}
		}
	}
	switch {
	case most > 1 && least == most:
		says = append(says, fmt.Sprintf("mean over %d seeds ± 95 %% confidence interval", most))
	case most > 1:
		says = append(says, fmt.Sprintf("mean over %d to %d seeds ± 95 %% confidence interval", least, most))
	}
	if slices.ContainsFunc(all, func(r *Run) bool { return fmt.Sprint(q.Value(r, b)) != fmt.Sprint(q.Value(r, b.Other())) }) {
		says = append(says, q.Name+" "+b.String())
	}
	best := "bold (* in text): best mean"
	if partial {
		says = append(says, "in brackets: how many of all runs have a finite value, if not all")
		best += " of those that all runs have"
	}
	says = append(append(says, best), lacking(all, []column{{name: q.Name}}, true)...)
	var remarks []string
	for panel := range g.groups[0] {
		var gs []*Group
		for _, line := range g.groups {
			if line[panel] != nil {
				gs = append(gs, line[panel])
			}
		}
		for _, r := range Remarks(gs) {
			if !slices.Contains(remarks, r) {
				remarks = append(remarks, r)
			}
		}
	}
	return append(says, remarks...)
}

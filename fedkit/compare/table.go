package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/fit"
	"fedkit.example/fedkit/stats"
	"fedkit.example/fedkit/table"
)

// Comparison chooses what a table of runs has beside the usual columns. The zero value is ready to use, and has these:
//
//	n           seeds, if any group has several
//	rounds      that were run
//	accuracy    on test examples at the last evaluated round: of the global model if every history has one, else the
//	            mean over clients weighted by test examples; the line under the table says which
//	best        such an accuracy in the round that is best on validation rows or, for a run without these, on test rows;
//	            if any run has them, the line under the table says how many do
//	clients     mean over clients of the accuracy on their own test examples, each client counting the same
//	worst 10 %  the same over the tenth of the clients that are worst off
//	unseen, chosen on test, clusters, ARI  the quantities of these names, if a run has them
//	kept        the quantity of this name, if Columns ask for it
//	RMSE, MAE   of regressions: the metrics of these names
//	loss        test loss (mean over examples, natural logarithm) at the last evaluated round
//	down, up    bytes sent from the server to clients and back, over all rounds
//	time        wall time of the rounds without the evaluations
//	simulated, idle, wasted, staleness  the quantities of these names, if they are not 0 in all runs
//
// There is one line per group (see Groups). A number is the mean over its seeds, and what follows "±" is half the 95 % confidence
// interval of the mean (see stats.Interval). There is no interval for a single run, or if all runs have the same number. A run
// whose value is not finite, such as a loss of NaN, is left out, and brackets say how many of all are in the mean; in CSV, a column
// "loss n" does. A column has one unit and one number of decimals, unless its numbers differ by more than a factor of 1,000, or of 50 if
// they are bytes or times: then each has its own. If a strategy served personal models beside a global one, "global" and "clients' own" take the place of accuracy. Of regressions, which have no
// accuracy, all columns of accuracy are of R², and the first is called "R²".
type Comparison struct {
	// Target is an accuracy, or R² of regressions, in (0, 1]. Columns say what it took to reach it in rounds, bytes (both ways), time and, if a
	// run has a clock, simulated time: the mean over the seeds that did, and in brackets how many did. Default: no such
	// columns.
	Target float64

	// Baseline is the name of the group that all others are compared with, as the table has it; without the labels behind it, "FedAvg" for
	// "FedAvg, η 0.1", if that names one group. For each pair of runs
	// with equal seeds (of the run, and of the partition and parts as far as both have them), the group's quantity By
	// minus the baseline's is a difference. Columns are their mean with its interval, the number of pairs, and two-sided
	// p values of the paired t test and of Wilcoxon's signed-rank test, each alone and after Holm's correction over all
	// lines. Default: no such columns.
	Baseline string
	By       Quantity // default Accuracy

	// More are columns beside those above: quantities of your own, say.
	More []Quantity

	// Columns are the names of the columns to show, in this order: any of the above, also if no run has it, and metrics of the
	// runs (see Metric). Default: those of the above that runs have.
	Columns []string
}

// Table returns the table that compares runs by a Comparison's zero value; Show shows it.
//
// Errors: no history, a nil one, one without an evaluated round.
func Table(h ...*history.History) *table.Table { return Comparison{}.Table(h...) }

// Table returns the table that compares runs; Show shows it.
//
// Errors: no history, a nil one, one without an evaluated round, a target out of (0, 1], no group of the baseline's name,
// no column of a name.
func (c Comparison) Table(h ...*history.History) *table.Table {
	return table.Make("compare: table", func(t *table.Table) error {
		runs, b, err := compared(Evaluated, h)
		if err != nil {
			return err
		}
		gs := GroupRuns(runs)
		all := c.usual(gs, b)
		more, err := c.columns(gs, b)
		if err == nil {
			all, err = choose(append(all, more...), c.Columns)
		}
		if err != nil {
			return err
		}
		t.Note = strings.Join(slices.Concat(notes(all), lacking(runs, all, len(c.Columns) > 0), Remarks(gs)), "; ")
		rows := each(runs, func(r *Run) string { return r.History.Scored() })
		slices.Sort(rows)
		t.Note = strings.ReplaceAll(t.Note, "on test rows", "on "+strings.Join(slices.Compact(rows), " and ")+" rows")
		fill(t, "", names(gs), all)
		return nil
	})
}

// column is one column of a table for readers, and one or more of its data.
type column struct {
	name string
	data []string // names of the data beside the one called name
	of   []cell   // one per group
	says []string // its explanation
	rare bool     // shown only on request
}

// cell is a group's entry as text, and as numbers: as many as the column has data.
type cell struct {
	text    string
	numbers []float64
	vary    bool   // the runs do not all have the same number, and so there is an interval
	n       int    // runs in the mean
	partial bool   // over some of a group's runs only, and no note of its column says so
	count   string // the end of text: how many these are, " (2/3)"
}

// usual returns the columns of every table, those of More, and those shown on request.
func (c Comparison) usual(gs []*Group, b Basis) (all []column) {
	runs := runsOf(gs)
	main, with := Accuracy.For(runs...).Name, metrics(runs)
	seeds := each(gs, func(g *Group) cell { return number(float64(len(g.Runs))) })
	all = append(all, column{name: "n", of: seeds, says: []string{"n: seeds"}, rare: len(runs) == len(gs)})
	add := func(rare bool, says []string, quantities ...Quantity) {
		for _, q := range quantities {
			of := q.For(runs...).column(gs, b)
			of.says, of.rare = says, rare
			all = append(all, of)
		}
	}
	some := func(q Quantity, such func(float64) bool) bool { return slices.ContainsFunc(q.values(runs, b), such) }
	scores, both := []string{theColumns + ": " + b.String() + ", on test rows"}, slices.ContainsFunc(gs, (*Group).Both)
	add(false, nil, Rounds)
	add(both, scores, Accuracy)
	for _, b := range []Basis{GlobalModel, OwnModels} {
		q := Accuracy.On(b)
		q.Name = b.Name()
		add(!both, []string{q.Name + ": " + main + " " + b.String() + ", on test rows"}, q)
	}
	add(false, append(scores, chosenOn(runs)...), Best)
	add(false, nil, Clients, Worst)
	for _, q := range []Quantity{Unseen, FineTuned, FineTunedUnseen, ChosenOnTest, Clusters, ARI} {
		add(!some(q, finite), nil, q)
	}
	if main == fit.R2 {
		add(false, scores, Metric(fit.RMSE), Metric(fit.MAE))
		with = slices.DeleteFunc(with, func(name string) bool { return slices.Contains([]string{fit.R2, fit.RMSE, fit.MAE}, name) })
	}
	add(false, scores, Loss)
	add(false, nil, Down, Up, Time)
	for _, q := range []Quantity{Simulated, Idle, Wasted, Staleness} {
		add(!some(q, func(v float64) bool { return finite(v) && v != 0 }), nil, q)
	}
	add(false, nil, c.More...)
	add(true, []string{"kept: bytes of the models that the strategy keeps from round to round"}, Kept)
	for _, name := range with {
		add(true, []string{name + ": " + b.String() + ", on test rows"}, Metric(name))
	}
	return all
}

// chosenOn says on which rows the best round is chosen, if not on test rows alone.
func chosenOn(runs []*Run) []string {
	validated, all := 0, len(runs)
	for _, r := range runs {
		if r.History.Validated() {
			validated++
		}
	}
	switch validated {
	case 0:
		return nil
	case all:
		return []string{"best: in the round that is best on validation rows"}
	}
	return []string{fmt.Sprintf("best: in the round that is best on validation rows, for %d of %d runs, and on test rows for the others", validated, all)}
}

// theColumns stands in an explanation for the names of the columns that have it.
const theColumns = "{columns}"

// notes explain the columns of a table, each once.
func notes(all []column) (says []string) {
	if have(all, varies) {
		says = append(says, "±: 95 % confidence interval of the mean")
	}
	for _, c := range all {
		for _, note := range c.says {
			others := slices.DeleteFunc(slices.Clone(all), func(o column) bool { return !slices.Contains(o.says, note) })
			note = strings.Replace(note, theColumns, and(each(others, func(o column) string { return o.name })), 1)
			if !slices.Contains(says, note) {
				says = append(says, note)
			}
		}
	}
	return append(says, inBrackets(all)...)
}

// inBrackets explains numbers in brackets, if there are any.
func inBrackets(all []column) []string {
	if !have(all, partial) {
		return nil
	}
	return []string{"in brackets: how many of all runs have a finite value, if not all"}
}

// columns returns those that the comparison asks for.
func (c Comparison) columns(gs []*Group, b Basis) (all []column, err error) {
	if c.Target != 0 {
		if !(c.Target > 0 && c.Target <= 1) {
			return nil, fault.Invalid("Target", c.Target, "an "+Accuracy.For(gs[0].Runs...).Name+" in (0, 1]")
		}
		clocked := slices.ContainsFunc(runsOf(gs), (*Run).Clocked)
		for i, q := range []Quantity{RoundsTo(c.Target), BytesTo(c.Target), TimeTo(c.Target), SimulatedTo(c.Target)} {
			reached := q.reached(gs, b)
			reached.rare = i == 3 && !clocked
			reached.says = []string{fmt.Sprintf("to %s: mean over the runs that reached it (how many of all)", target100(c.Target))}
			all = append(all, reached)
		}
	}
	if c.Baseline == "" {
		return all, nil
	}
	more, err := c.differences(gs, b)
	return append(all, more...), err
}

// and lists names: "accuracy, best and loss".
func and(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// column returns the mean over each group's runs, with its interval and, if a mean is over some of them only, how many these are.
func (q Quantity) column(gs []*Group, b Basis) column {
	c := column{name: q.Name, data: []string{"±"}, of: each(gs, func(g *Group) cell {
		c := interval(finites(q.values(g.Runs, b)))
		if c.partial = c.n > 0 && c.n < len(g.Runs); c.partial {
			c.count = fmt.Sprintf(" (%d/%d)", c.n, len(g.Runs))
		}
		return c
	})}
	q.fill(c.of, false)
	if slices.ContainsFunc(c.of, partial) {
		return c.counted()
	}
	return c
}

// counted adds to the data how many runs are in each mean.
func (c column) counted() column {
	c.data = append(c.data, "n")
	for i := range c.of {
		c.of[i].numbers = append(c.of[i].numbers, float64(c.of[i].n))
	}
	return c
}

// have reports whether any cell of the columns satisfies is.
func have(all []column, is func(cell) bool) bool {
	return slices.ContainsFunc(all, func(c column) bool { return slices.ContainsFunc(c.of, is) })
}

func partial(c cell) bool { return c.partial }
func varies(c cell) bool  { return c.vary }

// interval returns the mean of values and half of its interval, for fill to write.
func interval(v []float64) cell {
	if len(v) == 0 {
		return cell{numbers: []float64{math.NaN(), math.NaN()}}
	}
	mean, half := stats.Interval(v)
	if slices.Min(v) == slices.Max(v) { // one run, or a constant
		return cell{numbers: []float64{v[0], half}, n: len(v)}
	}
	return cell{numbers: []float64{mean, half}, vary: true, n: len(v)}
}

// reached returns the mean over the runs that have the quantity, and their number.
func (q Quantity) reached(gs []*Group, b Basis) column {
	c := q.column(gs, b)
	c.data = []string{"reached"}
	for i, of := range c.of {
		c.of[i] = cell{numbers: []float64{of.numbers[0], float64(of.n)}}
		if all := len(gs[i].Runs); all > 1 {
			c.of[i].count = fmt.Sprintf(" (%d/%d)", of.n, all)
		}
	}
	q.fill(c.of, false)
	return c
}

func number(v float64) cell { return cell{text: fmt.Sprint(v), numbers: []float64{v}} }

// choose returns the columns of these names; if there are none, all but the rare ones.
func choose(all []column, names []string) (chosen []column, err error) {
	shown := slices.DeleteFunc(slices.Clone(all), func(c column) bool { return c.rare })
	if len(names) == 0 {
		return shown, nil
	}
	all = append(shown, slices.DeleteFunc(all, func(c column) bool { return !c.rare })...)
	for _, name := range names {
		i := slices.IndexFunc(all, func(c column) bool { return c.name == name })
		if i < 0 {
			return nil, fault.Invalid("Columns", fmt.Sprintf("%q", name), oneOf(each(all, func(c column) string { return c.name })))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// fill writes the columns into the table, as text and as data.
func fill(t *table.Table, corner string, names []string, all []column) {
	head, data := []string{corner}, []any{"run"}
	for _, c := range all {
		head, data = append(head, c.name), append(data, c.name)
		for _, part := range c.data {
			data = append(data, c.name+" "+part)
		}
	}
	t.Lines, t.Data = [][]string{head}, [][]any{data}
	for i, name := range names {
		line, data := []string{name}, []any{name}
		for _, c := range all {
			line = append(line, c.of[i].text)
			for _, v := range c.of[i].numbers {
				data = append(data, v)
			}
		}
		t.Lines, t.Data = append(t.Lines, line), append(t.Data, data)
	}
}

// oneOf lists the first twenty allowed names.
func oneOf(names []string) string {
	const most = 20
	quoted := each(names[:min(len(names), most)], func(s string) string { return fmt.Sprintf("%q", s) })
	if n := len(names) - most; n > 0 {
		quoted = append(quoted, fmt.Sprintf("… %d more", n))
	}
	return "one of " + strings.Join(quoted, ", ")
}

// Remarks tells readers about groups: which runs were left out, were stopped, or cannot be compared.
func Remarks(gs []*Group) (all []string) {
	numbered := false
	for _, g := range gs {
		if g == nil || len(g.Runs) == 0 || len(followed(g.Runs)) < len(g.Runs) {
			continue
		}
		numbered = numbered || g.numbered
		for _, r := range g.Repeats {
			all = append(all, fmt.Sprintf("%s: seed %d was given again and counts once", g.Name, r.History.Seed))
		}
		least, most, stopped := math.MaxInt, 0, false
		for _, r := range g.Runs {
			rounds := cmp.Or(r.History.Last(), &history.Record{}).Round // an extract does not have them all
			least, most = min(least, rounds), max(most, rounds)
			if r.History.Stopped {
				all, stopped = append(all, fmt.Sprintf("%s: stopped after %d rounds", g.nameOf(r), rounds)), true
			}
		}
		if least < most && !stopped {
			all = append(all, fmt.Sprintf("%s: the runs have %d to %d rounds", g.Name, least, most))
		}
		if parts := g.Runs[0].History.Config.Unnamed(); len(g.Runs) > 1 && len(parts) > 0 {
			all = append(all, fmt.Sprintf("%s: runs may differ in %s, a function without a name", g.Name, strings.Join(parts, ", ")))
		}
	}
	if numbered {
		all = append(all, "(1), (2), …: not one configuration, though nothing in words tells them apart")
	}
	return all
}

// nameOf distinguishes a run from the others of its group.
func (g *Group) nameOf(r *Run) string {
	if len(g.Runs) == 1 {
		return g.Name
	}
	return fmt.Sprintf("%s, seed %d", g.Name, r.History.Seed)
}

package command

import (
	"errors"
	"fmt"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/study"
	"fedkit.example/fedkit/table"
)

type diffCommand struct {
	Store string `default:"runs" placeholder:"FOLDER" help:"Folder in which runs are stored. Default: ${default}."`
	A     string `arg:"" help:"The first run: the beginning of its id, which no other run's begins with."`
	B     string `arg:"" help:"The second one."`
	form
}

// Run prints what differs, then the numbers.
func (d *diffCommand) Run(c *console) error {
	var runs study.Runs
	for _, id := range []string{d.A, d.B} {
		one, err := (&store{Store: d.Store, Runs: []string{id}}).runs(c)
		if err == nil && (len(one) != 1 || strings.Contains(id, "=")) {
			err = fedkit.Invalid("run", id, fmt.Sprintf("the beginning of the id of one run; it selects %d", len(one)))
		}
		if err != nil {
			return err
		}
		runs = append(runs, one...)
	}
	a, b := runs[0], runs[1]
	if a.ID == b.ID {
		return fedkit.Invalid("run", d.B, "another run than "+d.A)
	}
	fields := &table.Table{Lines: [][]string{{"field", a.ID, b.ID}}, Left: []int{1, 2}}
	data := [][]any{{"field", "a", "b"}}
	for _, f := range study.Diff(a, b) {
		was, is := f.Values[0], f.Values[1]
		if was == is {
			is = "other content of that name"
		}
		fields.Lines = append(fields.Lines, []string{text.Line(f.Path), text.Line(was), text.Line(is)})
		data = append(data, []any{f.Path, was, is})
	}
	numbers, more, err := numbersOf(a, b) // none of a run that failed at once
	if d.JSON {
		err = errors.Join(printTable(c, data), err)
	} else {
		fmt.Fprintf(c.out, "%s: %s\n%s: %s\n\n%s", a.ID, text.Line(a.String()), b.ID, text.Line(b.String()), fields)
	}
	switch {
	case err != nil:
		return err
	case d.JSON:
		return printTable(c, more)
	}
	fmt.Fprintf(c.out, "\n%s", numbers)
	return nil
}

// numbersOf has a line for each number of two runs, also for programs.
func numbersOf(a, b *study.Run) (t *table.Table, data [][]any, err error) {
	var hs []*fedkit.History
	for _, r := range []*study.Run{a, b} {
		h, err := r.Light()
		if err != nil {
			return nil, nil, err
		}
		h.Name, h.Labels = r.ID, nil // a line of its own, also if only the seeds differ
		hs = append(hs, h)
	}
	of := compare.Table(hs...)
	if err := of.Err(); err != nil {
		return nil, nil, err
	}
	t, data = &table.Table{Lines: [][]string{{"", a.ID, b.ID}}, Note: of.Note}, [][]any{{"number", "a", "b"}}
	for i := 1; i < len(of.Lines[0]); i++ {
		t.Lines = append(t.Lines, []string{of.Lines[0][i], of.Lines[1][i], of.Lines[2][i]})
	}
	for i := 1; i < len(of.Data[0]); i++ {
		if x, y := of.Data[1][i], of.Data[2][i]; fmt.Sprint(x, y) != "NaN NaN" { // intervals of one run
			data = append(data, []any{of.Data[0][i], x, y})
		}
	}
	return t, data, nil
}

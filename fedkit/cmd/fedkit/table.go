package main

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
)

type tableCommand struct {
	store
	Target   float64  `placeholder:"0.9" help:"Add columns with what it took to reach this accuracy."`
	Baseline string   `placeholder:"NAME" help:"Add columns with differences from this line of the table, and tests of them."`
	Columns  []string `placeholder:"NAME,…" help:"Columns to show. Default: all."`
	Format   string   `enum:"text,csv,latex,markdown" default:"text" help:"One of ${enum}."`
}

// Run compares the runs that did not fail. Damaged histories are left out, and named on standard error.
func (t *tableCommand) Run(c *console) error {
	runs, err := t.runs(c)
	if err != nil {
		return err
	}
	whole := slices.DeleteFunc(runs.Light(), func(h *fedkit.History) bool { return h == nil })
	table := compare.Comparison{Target: t.Target, Baseline: t.Baseline, Columns: t.Columns}.Table(whole...)
	if err := table.Err(); err != nil {
		return err
	}
	form := map[string]func() string{"text": table.String, "csv": table.CSV, "latex": table.LaTeX, "markdown": table.Markdown}
	_, err = fmt.Fprint(c.out, form[t.Format]())
	return err
}

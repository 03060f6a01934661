package main

import (
	"fmt"

	"fedkit.example/fedkit/plot"
)

type tableCommand struct{ store }

// Run compares the runs that did not fail.
func (t *tableCommand) Run(c *console) error {
	runs, err := t.runs(c)
	if err != nil {
		return err
	}
	table := plot.Table(runs.Light()...)
	if err := table.Err(); err != nil {
		return err
	}
	_, err = fmt.Fprint(c.out, table)
	return err
}

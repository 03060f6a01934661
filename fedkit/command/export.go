package command

import (
	"os"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/export/parquet"
	"fedkit.example/fedkit/study"
)

type exportCommand struct {
	store
	To      string `name:"to" required:"" placeholder:"FILE" help:"File to write, which ends in .parquet."`
	Clients bool   `help:"Also the numbers of each client, which an extract does not have."`
}

// Run writes all numbers of the runs that did not fail. Damaged histories are left out, and named on standard error.
func (e *exportCommand) Run(c *console) error {
	runs, err := e.runs(c)
	if err != nil {
		return err
	}
	load := study.Runs.Light
	if e.Clients {
		load = study.Runs.Histories
	}
	return parquet.Table(e.To, slices.DeleteFunc(load(runs), func(h *fedkit.History) bool { return h == nil })...)
}

// runsIn returns the runs of a folder or of an extract, and says which entries of a folder are damaged.
func runsIn(path string) (runs study.Runs, damaged []error, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, nil, err
	case info.IsDir():
		runs, damaged = study.List(path)
		return runs, damaged, nil
	}
	runs, err = study.Open(path)
	return runs, nil, err
}

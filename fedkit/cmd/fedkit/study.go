package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/experiment"
	"fedkit.example/fedkit/study"
)

type studyCommand struct {
	File string `arg:"" help:"YAML file: see below."`

	Only     []string `sep:"none" placeholder:"KEY=VALUE" help:"Only the runs with this name, seed or label: --only name=FedAvg --only seed=1 --only α=0.1."`
	Store    string   `default:"runs" placeholder:"FOLDER" help:"Folder in which runs are stored. Default: ${default}."`
	Models   bool     `help:"Keep the final models."`
	DryRun   bool     `help:"Say which runs are stored, which are missing and why, and compute nothing."`
	Again    bool     `help:"Compute everything anew, also what is stored."`
	Parallel int      `placeholder:"N" help:"Number of runs side by side. Default: by machine, or by fleet."`
	Extract  string   `placeholder:"FILE" help:"Then write what tables and curves need of all the runs that are there into this one small file, which notebooks can read."`
	Fleet    string   `placeholder:"FILE" help:"Run on the fleet of this file, which fedkit hub writes."`
}

// Help implements kong.HelpProvider.
func (*studyCommand) Help() string {
	return `The file has a base, with sections as in a file for run, and what varies: lists of values by path, and sets of what
belongs together by name. There is a run for each combination:

  base:
    strategy: {Local: {Epochs: 2, Batch: 16, LR: 0.1}}
    data: Digits
    partition: Dirichlet Clients=20
    model: MLP Hidden=64
    options: {Rounds: 30}
  vary:
    strategy: [FedAvg, FedProx Mu=0.1, FedProx Mu=1]
    partition.Alpha: [0.1, 1]
    speed:
      slow: {strategy: {Local: {LR: 0.03}}, options: {Rounds: 100}}
      fast: {strategy: {Local: {LR: 0.3}}}
    options.Seed: [1, 2, 3, 4, 5]
  labels: {partition.Alpha: α}

A set may have its own vary; null takes away what the base has. Runs are stored as they finish, and computed once: the same
command again computes only what is missing. Standard output has one JSON line per run.`
}

// Run computes the runs that are missing.
func (s *studyCommand) Run(c *console) error {
	grid, err := experiment.ReadGrid(s.File)
	if err != nil {
		return err
	}
	whole := grid
	for _, only := range s.Only {
		key, value, _ := strings.Cut(only, "=")
		if grid = grid.Where(key, value); len(grid) == 0 {
			return fedkit.Invalid("only", only, "the name, the seed or a label of a run of the file, such as seed=1")
		}
	}
	if s.DryRun {
		found, err := grid.Find(s.Store, s.Extract)
		if errors.Is(err, os.ErrNotExist) { // none is there
			_, err = fmt.Fprintln(c.out, strings.TrimPrefix(err.Error(), "experiment: "))
		} else if err == nil {
			_, err = fmt.Fprintln(c.out, found)
		}
		return err
	}
	if s.Extract != "" {
		if _, err := study.Open(s.Extract); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fedkit.Invalid("--extract", s.Extract, "an extract that can be read, since its runs are kept, or no file: "+err.Error())
		}
	}
	var options []*fedkit.Options
	for _, c := range grid {
		options = append(options, &c.Options)
	}
	leave, err := join(s.Fleet, options...)
	if err != nil {
		return err
	}
	defer leave()
	st, err := grid.Study(s.Store)
	if err != nil {
		return err
	}
	st.Models, st.Recompute, st.Parallel, st.Log = s.Models, s.Again, s.Parallel, c.err
	ctx, release := until(syscall.SIGTERM)
	defer release()
	runs, err := st.Run(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(c.err, "fedkit: stopped:", err)
		err = errStopped
	case err == nil && len(runs) < len(grid):
		err = errStopped
	case err == nil && len(runs.Failed()) > 0:
		err = fmt.Errorf("%d of %d runs failed", len(runs.Failed()), len(runs))
	}
	if s.Extract != "" {
		found, failed := whole.Find(s.Store, s.Extract)
		if failed == nil {
			failed = found.Runs.Extract(s.Extract)
		}
		err = errors.Join(err, failed)
	}
	return errors.Join(printLines(c, runs), err)
}

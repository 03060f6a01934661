package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/experiment"
	"fedkit.example/fedkit/progress"
	"fedkit.example/fedkit/study"
)

type studyCommands struct {
	Run    studyCommand  `cmd:"" default:"withargs" help:"Run what is missing. The word run may be left out."`
	Status statusCommand `cmd:"" help:"Say how many runs are stored, failed, running and missing, and why the rest has to run. Computes nothing."`
}

// gridFile is the file of a study, and a selection of its runs.
type gridFile struct {
	File string `arg:"" help:"YAML file: see below."`

	Only    []string `sep:"none" placeholder:"KEY=VALUE" help:"Only the runs with this name, seed or label: --only name=FedAvg --only seed=1 --only α=0.1."`
	Store   string   `default:"runs" env:"FEDKIT_STUDY_DIR" placeholder:"FOLDER" help:"Folder in which runs are stored. Default: ${default}."`
	Extract string   `placeholder:"FILE" help:"One small file with what tables and curves need of the runs, for notebooks. It is read and, after a study, written."`
	form
}

type studyCommand struct {
	gridFile
	Models   bool `help:"Keep the final models."`
	Add      bool `help:"Compute only what the extract lacks too, and add it."`
	DryRun   bool `help:"Do as study status: compute nothing."`
	Again    bool `help:"Compute everything anew, also what is stored."`
	Parallel int  `placeholder:"N" help:"Number of runs side by side. Default: by machine."`
}

// Help implements kong.HelpProvider.
func (*studyCommands) Help() string {
	return gridHelp + "\n\nOptions: fedkit study run --help, fedkit study status --help."
}

// Help implements kong.HelpProvider.
func (*studyCommand) Help() string { return gridHelp }

const gridHelp = `The file has a base, with sections as in a file for run, and what varies: lists of values by path, and sets of what
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
command again computes only what is missing. Standard output lists the runs: as text or, with --json and where it is no
terminal, as JSON lines.`

// grid returns the runs of the file, and those that are selected.
func (s *gridFile) grid() (whole, some experiment.Grid, err error) {
	if whole, err = experiment.ReadGrid(s.File); err != nil {
		return nil, nil, err
	}
	some = whole
	for _, only := range s.Only {
		key, value, _ := strings.Cut(only, "=")
		if some = some.Where(key, value); len(some) == 0 {
			return nil, nil, fedkit.Invalid("only", only, "the name, the seed or a label of a run of the file, such as seed=1")
		}
	}
	return whole, some, nil
}

// Run computes the runs that are missing.
func (s *studyCommand) Run(c *console) error {
	if s.DryRun {
		return (&statusCommand{s.gridFile}).Run(c)
	}
	whole, grid, err := s.grid()
	if err != nil {
		return err
	}
	if s.Extract != "" {
		if _, err := study.Open(s.Extract); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fedkit.Invalid("--extract", s.Extract, "an extract that can be read, since its runs are kept, or no file: "+err.Error())
		}
	}
	if s.Add {
		missing := whole.Status(s.Store, s.Extract).Missing
		grid = slices.DeleteFunc(slices.Clone(grid), func(t *experiment.Trial) bool { return !slices.Contains(missing, t) })
		if len(grid) == 0 {
			fmt.Fprintln(c.err, "the store and the extract have all runs")
			return s.extract(whole)
		}
	}
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
	return errors.Join(s.print(c, runs), err, s.extract(whole))
}

// extract writes the extract, if one is named: of the runs that are stored, and of those that it has already.
func (s *studyCommand) extract(whole experiment.Grid) error {
	if s.Extract == "" {
		return nil
	}
	found, err := whole.Find(s.Store, s.Extract)
	if err != nil {
		return err
	}
	return found.Runs.Extract(s.Extract)
}

// mostListed is the number of runs that are listed on a terminal; of more, those that failed are.
const mostListed = 40

// print lists the runs.
func (s *studyCommand) print(c *console, runs study.Runs) error {
	switch {
	case s.JSON || !c.terminal:
		return printLines(c, runs)
	case len(runs) <= mostListed:
		return printList(c, runs)
	}
	fmt.Fprintf(c.out, "%d runs are stored: fedkit results list and results table, with --store %s, have them all\n", len(runs), s.Store)
	if failed := runs.Failed(); len(failed) > 0 {
		return printList(c, failed[:min(mostListed, len(failed))])
	}
	return nil
}

type statusCommand struct{ gridFile }

// Help implements kong.HelpProvider.
func (*statusCommand) Help() string {
	return `Data are not loaded, and the kind of device is not compared: a study does both, and computes anew what was stored with other
ones. --json prints a line for each run of the file, then what is running.`
}

// state is a run of a study, or one that a process computes, in one line of JSON.
type state struct {
	State  string            `json:"state"` // stored, failed, missing or running
	ID     string            `json:"id,omitempty"`
	Name   string            `json:"name,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Seed   uint64            `json:"seed"`
	Why    string            `json:"why,omitempty"` // it failed, or differs from a stored one; nothing if there is none of its name
	Round  int               `json:"round,omitempty"`
	Rounds int               `json:"rounds,omitempty"` // planned
	Host   string            `json:"host,omitempty"`   // that computes it
}

// Run says what is there.
func (s *statusCommand) Run(c *console) error {
	_, grid, err := s.grid()
	if err != nil {
		return err
	}
	found, running := grid.Status(s.Store, s.Extract), s.running()
	if s.JSON {
		return s.printJSON(c, grid, found, running)
	}
	failed, again := 0, 0
	for _, r := range found.Runs.Failed() {
		if failed++; r.Retry {
			again++
		}
	}
	fmt.Fprintf(c.out, "%d runs: %d stored, %d failed, %d to run; %d running in %s\n%s\n", len(grid), len(found.Runs)-failed, failed, len(found.Missing)+again, len(running), s.Store, found)
	if again > 0 {
		fmt.Fprintf(c.out, "to run again, since they failed for a reason outside: %d\n", again)
	}
	for _, r := range running {
		at := ""
		if r.Rounds > 0 {
			at = fmt.Sprintf(", round %d of %d", r.Round, r.Rounds)
		}
		if r.Host != "" {
			at += ", on " + r.Host
		}
		fmt.Fprintf(c.out, "running: %s%s\n", r.ID, at)
	}
	return nil
}

// running returns the runs that processes compute, with the rounds of those that have a checkpoint.
func (s *statusCommand) running() (all []state) {
	for _, a := range study.Computing(s.Store) {
		r := state{State: "running", ID: a.ID, Host: a.Host}
		if at, err := progress.Read(filepath.Join(s.Store, a.ID, "checkpoint")); err == nil {
			r.Rounds = at.Planned
			if at.History != nil && at.History.Last() != nil {
				r.Round = at.History.Last().Round
			}
		}
		all = append(all, r)
	}
	return all
}

func (s *statusCommand) printJSON(c *console, grid experiment.Grid, found *experiment.Found, running []state) (err error) {
	runs := found.Runs
	for _, t := range grid {
		l := state{State: "missing", Name: t.Name(), Labels: map[string]string{}, Seed: t.Options.Seed, Why: found.Why(t)}
		for pair := range slices.Chunk(t.Labels, 2) {
			l.Labels[fmt.Sprint(pair[0])] = fmt.Sprint(pair[1])
		}
		if !slices.Contains(found.Missing, t) {
			r := runs[0]
			if runs, l.ID, l.State = runs[1:], r.ID, "stored"; r.Error != "" {
				l.State, l.Why = "failed", r.Error
			}
		}
		err = errors.Join(err, c.lines().Encode(l))
	}
	for _, r := range running {
		err = errors.Join(err, c.lines().Encode(r))
	}
	return err
}

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/nearest"
	"fedkit.example/fedkit/preset"
	"fedkit.example/fedkit/progress"
	"fedkit.example/fedkit/study"
	"fedkit.example/fedkit/worker"
)

type studyCommands struct {
	Run     studyCommand   `cmd:"" default:"withargs" help:"Run what is missing. The word run may be left out."`
	Queue   queueCommand   `cmd:"" help:"Run what is missing of all studies, most valuable first, until none is left or a deadline."`
	Extract extractCommand `cmd:"" help:"Write the extracts of notebooks from what is stored."`
	Status  statusCommand  `cmd:"" help:"Say how many runs are stored, failed, running and missing, and why the rest has to run. Computes nothing."`
}

// selection is a study, or some of its runs, and where they are.
type selection struct {
	Study string `arg:"" help:"Name of the study, or of what a paper has published: ${studies}."`

	Part    string   `placeholder:"PART" help:"Only the runs of this part of the study."`
	Seeds   string   `placeholder:"2-5" help:"Only the runs with these seeds, such as 2-5 or 1,3."`
	Only    []string `sep:"none" placeholder:"KEY=VALUE" help:"Only the runs with this name, seed or label: --only name=FedAvg --only α=0.1."`
	Store   string   `env:"FEDKIT_STUDY_DIR" placeholder:"FOLDER" help:"Folder in which runs are stored. Default: notebooks/runs/STUDY, or runs where there is no folder notebooks."`
	Extract string   `placeholder:"FILE" help:"One small file with what tables and curves need of the runs, for notebooks. It is read and, after a study, written. Default with that of --store: notebooks/STUDY.runs."`
	form

	ends bool // the extract has only these
}

type studyCommand struct {
	selection
	Workers  int  `placeholder:"N" help:"Compute every run on this many worker processes of this machine, with the same bytes."`
	Models   bool `help:"Keep the final models."`
	Add      bool `help:"Compute only what the extract lacks too, and add it."`
	DryRun   bool `help:"Do as study status: compute nothing."`
	Again    bool `help:"Compute everything again, also what is stored."`
	Parallel int  `placeholder:"N" help:"Number of runs side by side. Default: by machine."`
}

// Help implements kong.HelpProvider.
func (*studyCommands) Help() string {
	return `A study is a function in Go, such as those of the notebooks in notebooks/studies: see notebooks/guide/studies.md. Runs are stored as they
finish, and computed once: the same command again computes only what is missing. Standard output lists the runs: as text or, with --json
and where it is no terminal, as JSON lines.

Options: fedkit study run --help, fedkit study status --help.`
}

// named are the studies that the command knows, presets last.
type named []study.Named

func (all named) names() (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// find returns the study of a name.
func (all named) find(name string) (study.Named, error) {
	if i := slices.IndexFunc(all, func(s study.Named) bool { return strings.EqualFold(s.Name, name) }); i >= 0 {
		return all[i], nil
	}
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		return study.Named{}, fedkit.Invalid("study", name, "the name of a study: studies are Go now, in notebooks/studies; notebooks/guide/studies.md says how to add one")
	}
	near := nearest.Sort(name, all.names())
	return study.Named{}, fedkit.Invalid("study", strconv.Quote(name), "the name of a study, such as "+strings.Join(near[:min(3, len(near))], ", ")+"; --help has all")
}

// plan returns the runs of the study, and those that are selected, and fills in where they are stored. It tells what is known of a preset.
func (s *selection) plan(c *console, all named) (whole, some study.Plan, err error) {
	of, err := all.find(s.Study)
	if err != nil {
		return nil, nil, err
	}
	whole, s.ends = of.Plan(), of.Ends
	for _, p := range preset.All() {
		if p.Name == of.Name {
			fmt.Fprintln(c.err, p)
			s.Store = cmp.Or(s.Store, "runs")
		}
	}
	if info, err := os.Stat("notebooks"); s.Store == "" && err == nil && info.IsDir() {
		s.Store, s.Extract = filepath.Join("notebooks", "runs", of.Name), cmp.Or(s.Extract, filepath.Join("notebooks", of.Name+".runs"))
	}
	s.Store = cmp.Or(s.Store, "runs")
	some = whole
	if s.Part != "" {
		some, err = some.Part(s.Part)
	}
	if s.Seeds != "" && err == nil {
		some, err = some.Seeds(s.Seeds)
	}
	for _, only := range s.Only {
		key, value, _ := strings.Cut(only, "=")
		if some = some.Where(key, value); len(some) == 0 && err == nil {
			err = fedkit.Invalid("only", only, "the name, the seed or a label of a run of the study, such as seed=1")
		}
	}
	return whole, some, err
}

// Run computes the runs that are missing.
func (s *studyCommand) Run(c *console, all named) error {
	if s.DryRun {
		return (&statusCommand{s.selection}).Run(c, all)
	}
	whole, plan, err := s.plan(c, all)
	if err == nil {
		err = s.keepsExtract()
	}
	if err != nil {
		return err
	}
	if s.Add {
		missing := whole.Status(s.Store, s.Extract).Missing
		plan = slices.DeleteFunc(slices.Clone(plan), func(t *study.Trial) bool { return !slices.Contains(missing, t) })
		if len(plan) == 0 {
			fmt.Fprintln(c.err, "the store and the extract have all runs")
			return s.write(whole)
		}
	}
	ctx, release := signal.NotifyContext(context.Background(), syscall.SIGTERM) // as Slurm sends it when time is up
	defer release()
	context.AfterFunc(ctx, release) // a second one ends the program
	if s.Workers != 0 {
		w, err := worker.Local(ctx, s.Workers)
		if err != nil {
			return err
		}
		defer w.Close()
		for _, t := range plan {
			t.Options.Workers = w
		}
	}
	st, err := plan.Study(s.Store)
	if err != nil {
		return err
	}
	st.Models, st.Recompute, st.Parallel, st.Log = s.Models, s.Again, s.Parallel, c.err
	return s.run(ctx, c, st, plan, whole)
}

// run runs the study, lists the runs, and writes the extract.
func (s *studyCommand) run(ctx context.Context, c *console, st *study.Study, plan, whole study.Plan) error {
	runs, err := st.Run(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(c.err, "fedkit: stopped:", err)
		err = errStopped
	case err == nil && len(runs) < len(plan):
		err = errStopped
	case err == nil && len(runs.Failed()) > 0:
		err = fmt.Errorf("%d of %d runs failed", len(runs.Failed()), len(runs))
	}
	return errors.Join(s.print(c, runs), err, s.write(whole))
}

// keepsExtract refuses an extract whose runs would be lost when it is written: one that cannot be read, or that no plan finds.
func (s *studyCommand) keepsExtract() error {
	if s.Extract == "" {
		return nil
	}
	runs, err := study.Open(s.Extract)
	if err == nil {
		err = runs.Older(s.Extract)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fedkit.Invalid("--extract", s.Extract, "an extract that can be read, since its runs are kept, or no file: "+err.Error())
	}
	return nil
}

// write writes the extract, if one is named: of the runs that are stored, and of those that it has already.
func (s *selection) write(whole study.Plan) error {
	if s.Extract == "" {
		return nil
	}
	found, err := whole.Find(s.Store, s.Extract)
	if errors.Is(err, os.ErrNotExist) { // no run has ended yet
		return nil
	}
	if err != nil {
		return err
	}
	if s.ends {
		return found.Runs.ExtractEnds(s.Extract)
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

type statusCommand struct{ selection }

// Help implements kong.HelpProvider.
func (*statusCommand) Help() string {
	return `Data are not loaded, and the kind of device is not compared: a study does both, and computes again what was stored with other
ones. --json prints a line for each run of the study, then what is running.`
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
func (s *statusCommand) Run(c *console, all named) error {
	_, plan, err := s.plan(c, all)
	if err != nil {
		return err
	}
	found, running := plan.Status(s.Store, s.Extract), s.running()
	if s.JSON {
		return s.printJSON(c, plan, found, running)
	}
	failed, again := len(found.Runs.Failed()), 0
	for _, r := range found.Runs {
		if r.Retry {
			again++
		}
	}
	fmt.Fprintf(c.out, "%d runs: %d stored, %d failed, %d to run; %d running in %s\n%s\n", len(plan), len(found.Runs)-failed, failed, len(found.Missing)+again, len(running), s.Store, found)
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

func (s *statusCommand) printJSON(c *console, plan study.Plan, found *study.Found, running []state) (err error) {
	runs := found.Runs
	for _, t := range plan {
		l := state{State: "missing", Name: t.Name(), Labels: map[string]string{}, Seed: t.Options.Seed, Why: found.Why(t)}
		for i := 1; i < len(t.Labels); i += 2 {
			l.Labels[fmt.Sprint(t.Labels[i-1])] = fmt.Sprint(t.Labels[i])
		}
		if !slices.Contains(found.Missing, t) {
			r := runs[0]
			if runs, l.ID, l.State = runs[1:], r.ID, "stored"; r.Error != "" {
				l.State, l.Why = "failed", r.Error
			}
		}
		err = errors.Join(err, c.line(l))
	}
	for _, r := range running {
		err = errors.Join(err, c.line(r))
	}
	return err
}

package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/study"
)

type resultsCommand struct {
	List   listCommand   `cmd:"" help:"List runs."`
	Show   showCommand   `cmd:"" help:"Show what runs are made of, and their rounds."`
	Table  tableCommand  `cmd:"" help:"Compare runs in a table."`
	Diff   diffCommand   `cmd:"" help:"Say what differs in the configuration of two runs, with their numbers side by side."`
	Check  checkCommand  `cmd:"" help:"Read every file of runs, and name those that are not as they were stored."`
	Remove removeCommand `cmd:"" help:"Remove runs. Asks first, or takes --yes. The beginning of an id must be that of one run alone."`
}

// store is a folder of runs, and a selection of them.
type store struct {
	Store string   `default:"runs" placeholder:"FOLDER" help:"Folder in which runs are stored, or an extract of runs. Default: ${default}."`
	Runs  []string `arg:"" optional:"" name:"run" sep:"none" help:"Runs by id, or the beginning of it, and by labels and options: α=0.1 strategy=FedAvg Local.LR=0.1. Default: all."`
	form
}

// runs returns the selected runs. Damaged entries are named on standard error.
func (s *store) runs(c *console) (study.Runs, error) {
	all, damaged, err := runsIn(s.Store)
	if err != nil {
		return nil, fedkit.Invalid("--store", s.Store, "a folder that a study has made, or an extract: "+err.Error())
	}
	for _, err := range damaged {
		fmt.Fprintln(c.err, err)
	}
	ids := slices.Clone(s.Runs)
	for _, which := range s.Runs {
		if key, value, isFilter := strings.Cut(which, "="); isFilter {
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == which })
			if all = all.Where(key, value); len(all) == 0 {
				return nil, fedkit.Invalid(key, value, "a label or an option of a run in "+s.Store)
			}
		}
	}
	for _, id := range ids {
		if len(beginning(all, id)) == 0 || id == "" {
			return nil, fedkit.Invalid("run", strconv.Quote(id), "the beginning of the id of a run in "+s.Store+": see fedkit results list")
		}
	}
	return slices.DeleteFunc(all, func(r *study.Run) bool {
		return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(r.ID, id) })
	}), nil
}

// beginning returns the runs whose ids have this beginning.
func beginning(runs study.Runs, id string) study.Runs {
	return slices.DeleteFunc(slices.Clone(runs), func(r *study.Run) bool { return !strings.HasPrefix(r.ID, id) })
}

type listCommand struct{ store }

// Run lists runs.
func (l *listCommand) Run(c *console) error {
	runs, err := l.runs(c)
	if err != nil {
		return err
	}
	if l.JSON {
		return printLines(c, runs)
	}
	fmt.Fprintf(c.err, "%d runs, %.1f MB\n", len(runs), float64(runs.Size())/1e6)
	return printList(c, runs)
}

// printList prints a table of runs.
func printList(c *console, runs study.Runs) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "id\tname\tseed\trounds\taccuracy\tseconds\tfinished\t")
	for _, r := range runs {
		score := history.Accuracy.Write(float64(r.Accuracy))
		if r.R2 != nil {
			score = "R² " + history.R2.Write(float64(*r.R2))
		}
		why, _, _ := strings.Cut(r.Error, "\n")
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%.1f\t%s\t%s\n", r.ID, text.Line(r.String()), r.About.Seed, r.Rounds, score, r.Seconds,
			r.Finished.Local().Format(time.DateTime), text.Line(why))
	}
	return w.Flush()
}

// result is a stored run in one line of JSON.
type result struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels"`
	Strategy  *config.Config    `json:"strategy"`
	Data      string            `json:"data"`
	Partition string            `json:"partition"`
	Model     string            `json:"model"`
	Settings  *config.Config    `json:"settings,omitempty"` // options that change results
	Seed      uint64            `json:"seed"`
	Device    string            `json:"device"`
	Hardware  string            `json:"hardware"`
	Code      string            `json:"code"`
	Rounds    int               `json:"rounds"`
	Accuracy  fedkit.Float      `json:"accuracy"`     // of the last evaluated round
	R2        *fedkit.Float     `json:"r2,omitempty"` // of a regression, which has no accuracy
	Seconds   float64           `json:"seconds"`
	Finished  time.Time         `json:"finished"`
	Error     string            `json:"error,omitempty"`
}

// printLines prints runs in JSON lines.
func printLines(c *console, runs study.Runs) (err error) {
	for _, r := range runs {
		err = errors.Join(err, c.line(resultOf(r)))
	}
	return err
}

func resultOf(r *study.Run) result {
	h := r.About
	return result{r.ID, r.Name, labelsOf(r.Labels), h.Config, h.Data, h.Partition, h.Model, h.Settings, h.Seed, h.Device, h.Hardware, h.Code, r.Rounds, r.Accuracy, r.R2, r.Seconds, r.Finished, r.Error}
}

func labelsOf(labels []study.Label) map[string]string {
	all := map[string]string{}
	for _, l := range labels {
		all[l.Key] = l.Value
	}
	return all
}

// printTable prints the lines of a table, whose first one names the columns, in JSON lines.
func printTable(c *console, data [][]any) (err error) {
	for _, line := range data[1:] {
		cells := map[string]any{}
		for i, v := range line {
			if f, is := v.(float64); is {
				v = fedkit.Float(f) // may be NaN
			}
			cells[fmt.Sprint(data[0][i])] = v
		}
		err = errors.Join(err, c.line(cells))
	}
	return err
}

type showCommand struct{ store }

// printJSON prints a run, and its rounds with its id.
func (s *showCommand) printJSON(c *console, r *study.Run) error {
	h, err := r.Light()
	err = errors.Join(c.line(resultOf(r)), err)
	for i := 0; h != nil && i < len(h.Rounds); i++ {
		err = errors.Join(err, c.line(struct {
			ID string `json:"id"`
			line
		}{r.ID, lineOf(&h.Rounds[i])}))
	}
	return err
}

// Run shows runs.
func (s *showCommand) Run(c *console) error {
	runs, err := s.runs(c)
	for _, r := range runs {
		if s.JSON {
			err = errors.Join(err, s.printJSON(c, r))
			continue
		}
		h := r.About
		fmt.Fprintf(c.out, "%s: %s, seed %d\n  %v\n  %s; %s; %s\n  %v\n  %s, code %s, finished %s\n", r.ID, text.Line(r.String()), h.Seed, h.Config,
			text.Line(h.Data), text.Line(h.Partition), text.Line(h.Model), h.Settings, text.Line(h.Device), text.Line(h.Code), r.Finished.Local().Format(time.DateTime))
		if r.Error != "" {
			fmt.Fprintln(c.out, "  failed:", r.Error)
		}
		history, failed := r.Light()
		if err = errors.Join(err, failed); failed == nil {
			fmt.Fprintln(c.out, history)
		}
	}
	return err
}

type checkCommand struct{ store }

// Run verifies all files of runs.
func (k *checkCommand) Run(c *console) error {
	runs, err := k.runs(c)
	for _, r := range runs {
		wrong := r.Check()
		if err = errors.Join(err, wrong); k.JSON {
			says := map[string]any{"id": r.ID, "whole": wrong == nil}
			if wrong != nil {
				says["error"] = wrong.Error()
			}
			err = errors.Join(err, c.line(says))
		}
	}
	if err == nil && !k.JSON {
		fmt.Fprintln(c.out, len(runs), "runs are as they were stored")
	}
	return err
}

type removeCommand struct {
	store
	Yes bool `short:"y" help:"Do not ask."`
}

// confirm asks whether the runs are to be removed. Where nobody can be asked, it takes --yes.
func (r *removeCommand) confirm(c *console, runs study.Runs) error {
	switch {
	case r.Yes:
		return nil
	case !c.asks:
		return fedkit.Invalid("--yes", "nothing", "given where there is no terminal to ask on: runs that are removed cannot be brought back")
	}
	fmt.Fprintf(c.err, "Remove %d runs, %.1f MB, from %s? [y/N] ", len(runs), float64(runs.Size())/1e6, r.Store)
	answer, err := bufio.NewReader(c.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was removed")
	}
	return nil
}

// Run removes the named runs, and prints their ids. A prefix of an id must be unique.
func (r *removeCommand) Run(c *console) error {
	if len(r.Runs) == 0 {
		return fedkit.Invalid("run", "nothing", "given: ids, or labels and options such as α=0.1")
	}
	runs, err := r.runs(c)
	if err != nil {
		return err
	}
	for _, which := range r.Runs {
		if n := len(beginning(runs, which)); n > 1 {
			return fedkit.Invalid("run", which, fmt.Sprintf("the beginning of one id; %d begin with it", n))
		}
	}
	if err := r.confirm(c, runs); err != nil {
		return err
	}
	for _, run := range runs {
		failed := (study.Runs{run}).Remove()
		if failed == nil && r.JSON {
			failed = c.line(map[string]string{"removed": run.ID})
		} else if failed == nil {
			fmt.Fprintln(c.out, run.ID)
		}
		err = errors.Join(err, failed)
	}
	return err
}

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
	if t.JSON {
		return printTable(c, table.Data)
	}
	form := map[string]func() string{"text": table.String, "csv": table.CSV, "latex": table.LaTeX, "markdown": table.Markdown}
	_, err = fmt.Fprint(c.out, form[t.Format]())
	return err
}

// runsIn returns the runs of a folder or of an extract, and says which entries of a folder are damaged.
func runsIn(path string) (runs study.Runs, damaged []error, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		runs, damaged = study.List(path)
		return runs, damaged, nil
	}
	runs, err = study.Open(path)
	return runs, nil, err
}

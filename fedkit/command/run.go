package command

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"syscall"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/catalog"
	"fedkit.example/fedkit/experiment"
	"fedkit.example/fedkit/preset"
	"fedkit.example/fedkit/progress"
)

type runCommand struct {
	File string `arg:"" optional:"" help:"YAML file with the sections strategy, data, partition, model, holdout, devices, attack and options. What flags say is put into it."`

	Preset    string   `placeholder:"NAME" help:"Published experiment in place of a file: ${presets}."`
	Strategy  []string `sep:"none" placeholder:"'NAME OPTION=VALUE…'" help:"Strategy with its options."`
	Data      []string `sep:"none" placeholder:"'NAME …'" help:"Data set."`
	Partition []string `sep:"none" placeholder:"'NAME …'" help:"Rule that deals the data out to clients."`
	Model     []string `sep:"none" placeholder:"'NAME …'" help:"Model."`
	HoldOut   []string `name:"holdout" sep:"none" placeholder:"'Clients=4 …'" help:"Clients that never take part, and are scored."`
	Devices   []string `sep:"none" placeholder:"'Devices PerExample=0.1 …'" help:"Rule of what clients work on: the run has a simulated clock."`
	Attack    []string `sep:"none" placeholder:"'By=NAME Share=0.3 …'" help:"Attack by a share of the clients."`
	Options   []string `sep:"none" placeholder:"'OPTION=VALUE…'" help:"Options of the run."`

	Rounds     *int    `placeholder:"N" help:"Number of rounds."`
	Seed       *uint64 `placeholder:"N" help:"Seed of the run."`
	Checkpoint string  `placeholder:"FILE" help:"Write checkpoints to this file, and go on from it if it is there."`
	Save       string  `placeholder:"FILE" help:"Write the history to this file as rounds end."`
	form
}

// Help implements kong.HelpProvider.
func (*runCommand) Help() string {
	var options []string
	for _, o := range catalog.Options(reflect.TypeFor[fedkit.Options]()) {
		if o != "Watch" && o != "Workers" {
			options = append(options, o)
		}
	}
	return `Each part is its name, followed by options. The options of a part of a part have paths:

  fedkit run --strategy 'FedProx Mu=0.1 Local.LR=0.1 Local.Epochs=2' --data Digits \
    --partition 'Dirichlet Clients=20 Alpha=0.3' --model 'MLP Hidden=64' --rounds 30

  fedkit run --strategy 'FedAvg Aggregator=Krum Aggregator.F=3' --attack 'By=SignFlip By.Scale=5 Share=0.3' …

  fedkit run experiment.yaml --strategy Mu=0.01 --seed 2 --checkpoint mu.checkpoint >mu.jsonl

Case, dashes and underscores in names do not matter. An option that is left out has its default, and 0 is 0, or refused. The
same text, or an object with the name as its type, may stand in a file:

  strategy: {type: FedProx, Mu: 0.1, Local: {LR: 0.1, Epochs: 2}}
  data: Digits
  partition: Dirichlet Clients=20 Alpha=0.3
  model: MLP Hidden=64
  options: {Rounds: 30, Seed: 1, Metrics: [MacroF1]}

Options of the run are ` + strings.Join(options, ", ") + `.

Standard output has a table of the rounds or, with --json and where it is no terminal, a JSON line for each, then one with a
summary; progress goes to standard error. An interrupt or SIGTERM ends the run after its last finished round; with --checkpoint, the same command goes on from there.`
}

// tree returns the tree of the file or the preset, with the flags merged into it.
func (r *runCommand) tree(c *console) (map[string]any, error) {
	var tree map[string]any
	switch {
	case r.Preset != "" && r.File != "":
		return nil, fedkit.Invalid("preset", r.Preset, "without a file, of which the run is, too")
	case r.Preset != "":
		p, err := preset.ByName(r.Preset)
		if err == nil {
			tree, err = p.Tree()
		}
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(c.err, p)
	case r.File != "":
		var err error
		if tree, err = experiment.ReadTree(r.File); err != nil {
			return nil, err
		}
	}
	if tree == nil {
		tree = map[string]any{}
	}
	for _, s := range []struct {
		name  string
		texts []string
	}{{"strategy", r.Strategy}, {"data", r.Data}, {"partition", r.Partition}, {"model", r.Model}, {"holdout", r.HoldOut}, {"devices", r.Devices}, {"attack", r.Attack}, {"options", r.Options}} {
		for _, text := range s.texts {
			part, err := catalog.Parse(text)
			if err != nil {
				return nil, err
			}
			catalog.Set(tree, s.name, part)
		}
	}
	if r.Rounds != nil {
		catalog.Set(tree, "options.Rounds", *r.Rounds)
	}
	if r.Seed != nil {
		catalog.Set(tree, "options.Seed", *r.Seed)
	}
	if r.Checkpoint != "" {
		catalog.Set(tree, "options.Checkpoint", r.Checkpoint)
	}
	if r.Save != "" {
		catalog.Set(tree, "options.History", r.Save)
	}
	return tree, nil
}

// Run runs the strategy.
func (r *runCommand) Run(c *console) error {
	tree, err := r.tree(c)
	if err != nil {
		return err
	}
	e, err := experiment.Build(tree)
	if err != nil {
		return err
	}
	fed, err := e.Federation()
	if err != nil {
		return err
	}
	ctx, release := until(syscall.SIGTERM) // as Slurm sends it when time is up
	defer release()
	h, err := run(ctx, e, fed, c, r.JSON || !c.terminal)
	if h == nil {
		return err
	}
	if err == nil && h.Stopped {
		return errStopped
	}
	return err
}

// run prints each round and a summary in JSON lines, or a table at the end.
func run(ctx context.Context, e *experiment.Experiment, fed *fedkit.Federation, c *console, inJSON bool) (h *fedkit.History, err error) {
	fmt.Fprintln(c.err, fed)
	e.Options.Watch = progress.Line()
	printed, lines := 0, c.lines()
	for h, err = range fedkit.Rounds(ctx, fed, e.Strategy, e.Options) {
		if h == nil {
			return nil, err
		}
		for ; inJSON && printed < len(h.Rounds); printed++ { // rounds of a checkpoint come all at once
			if err := lines.Encode(lineOf(&h.Rounds[printed])); err != nil {
				return h, err
			}
		}
	}
	if errors.Is(err, context.Canceled) {
		h.Stopped, err = true, nil
	}
	if !inJSON {
		_, failed := fmt.Fprint(c.out, h)
		return h, errors.Join(err, failed)
	}
	return h, errors.Join(err, lines.Encode(map[string]any{"summary": summaryOf(h, err)}))
}

type followCommand struct {
	File string `arg:"" help:"Options.Checkpoint or Options.History of the run."`
	form
}

// Run shows the line of progress.Line on standard error. In JSON it prints the rounds and a summary at the end.
func (f *followCommand) Run(c *console) error {
	h, err := progress.Follow(f.File)
	if err != nil {
		return fedkit.Invalid("file", f.File, "one that a run writes: "+err.Error())
	}
	for i := 0; f.JSON && h != nil && err == nil && i < len(h.Rounds); i++ {
		err = c.lines().Encode(lineOf(&h.Rounds[i]))
	}
	if f.JSON && h != nil && err == nil {
		err = c.lines().Encode(map[string]any{"summary": summaryOf(h, nil)})
	}
	switch {
	case err != nil:
		return err
	case h == nil || h.Stopped:
		return errStopped
	}
	return nil
}

package command

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fleet"
	"fedkit.example/fedkit/internal/xla"
)

type workerCommand struct {
	File string `arg:"" help:"File that the hub has written."`

	GPU    *int          `placeholder:"N" help:"Work on this GPU alone; the first is 0. Default: what GOMLX_BACKEND says, or the processor."`
	Cores  string        `placeholder:"2|4-7" help:"Run on this many processors, or on these, by their place among those that the process may use. Default: all of those."`
	Slots  int           `placeholder:"N" help:"Programs at once. Default: half as many as processors; 1 on a GPU."`
	Memory size          `default:"4GB" placeholder:"SIZE" help:"Memory for data and results that are kept, at most. Default: ${default}."`
	Idle   time.Duration `placeholder:"1h" help:"End when no notebook was there for this long. Default: never."`
}

// Help implements kong.HelpProvider.
func (*workerCommand) Help() string {
	return `A worker runs the programs that notebooks send it, until it is interrupted. It needs the PJRT plugin, and neither data nor
the code of strategies and models. This program is enough: ./scripts/worker --build FILE writes it for other machines. It finds
the plugin where ./scripts/lab has put it, or by GOMLX_BACKEND=xla:/path/to/plugin.so.

  fedkit worker fleet.json
  fedkit worker fleet.json --gpu 0          # one worker for each GPU
  fedkit worker fleet.json --cores 0-3      # four of a machine's processors

Results have the same bytes on workers of one kind: the same plugin, model of processor or GPU, and number of processors.
Where that number is limited by a quota only, as in a container, say --cores.`
}

// Run is a worker until the program is interrupted.
func (w *workerCommand) Run(c *console) error {
	if err := w.check(); err != nil {
		return err
	}
	if w.Cores != "" {
		if err := fleet.UseCores(w.Cores); err != nil {
			return err
		}
	}
	if w.GPU != nil {
		if err := takeGPU(*w.GPU); err != nil {
			return err
		}
	}
	ctx, release := until(syscall.SIGINT, syscall.SIGTERM)
	defer release()
	err := fleet.RunWorker(ctx, w.File, fleet.WorkerOptions{Slots: w.Slots, Memory: int64(w.Memory), Idle: w.Idle, Logf: c.say})
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case errors.Is(err, fleet.ErrIdle):
		c.say("%v", err)
		return nil
	}
	return err
}

// check refuses what a worker cannot have.
func (w *workerCommand) check() error {
	switch {
	case w.GPU != nil && *w.GPU < 0:
		return fedkit.Invalid("--gpu", *w.GPU, "a number, the first 0")
	case w.Slots < 0:
		return fedkit.Invalid("--slots", w.Slots, "at least 1")
	case w.Idle < 0:
		return fedkit.Invalid("--idle", w.Idle, "a time, such as 1h")
	}
	return nil
}

// takeGPU restricts this process to one GPU. It opens the plugin.
func takeGPU(number int) error {
	for _, variable := range fleet.GPU(number) {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if _, err := xla.Backend(); err == nil && xla.OnCPU() {
		return fedkit.Invalid("--gpu", number, "left out: GOMLX_BACKEND = "+os.Getenv("GOMLX_BACKEND")+" is no GPU")
	}
	return nil
}

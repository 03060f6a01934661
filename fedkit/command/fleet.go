package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"fedkit.example/fedkit/fleet"
	"fedkit.example/fedkit/internal/text"
)

type fleetCommand struct {
	File string `arg:"" optional:"" default:"fleet.json" help:"File that the hub has written. Default: ${default}."`
	form
}

// hubLine is a hub in one line of JSON.
type hubLine struct {
	URL  string `json:"url"`
	Disk int64  `json:"disk"` // bytes of objects
}

// workerLine is a worker in one line of JSON.
type workerLine struct {
	Worker    string   `json:"worker"`
	Host      string   `json:"host"`
	Process   int      `json:"process"`
	Slots     int      `json:"slots"`
	Doing     []string `json:"doing"` // programs
	Bytes     int64    `json:"bytes"` // that it keeps
	Done      int64    `json:"done"`  // calls
	Kind      string   `json:"kind"`
	Processor string   `json:"processor"`
	Threads   int      `json:"threads"`
	Plugin    string   `json:"plugin"`
	Flags     string   `json:"flags"`
}

// Run lists the hub and the workers.
func (l *fleetCommand) Run(c *console) error {
	f, err := fleet.Join(l.File)
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, release := context.WithTimeout(context.Background(), 10*time.Second)
	defer release()
	hub, err := f.Hub(ctx)
	if err != nil {
		return err
	}
	time.Sleep(700 * time.Millisecond) // workers say twice a second that they are there
	if l.JSON {
		return printFleet(c, hub, f.Workers())
	}
	kinds := map[fleet.Platform]bool{}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "worker\thost\tprocess\tslots\tdoing\tkept\tdone\tkind")
	for _, b := range f.Workers() {
		kinds[b.Kind] = true
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%.1f MB\t%d calls\t%s\n", text.Line(b.Worker), text.Line(b.Host), b.PID, b.Slots,
			text.Line(cmp.Or(strings.Join(b.Programs, "; "), "nothing")), float64(b.Bytes)/1e6, b.Done, text.Line(b.Kind.String()))
	}
	fmt.Fprintf(c.err, "hub %s: %.1f MB of objects\n%d workers", hub.URL, float64(hub.Disk)/1e6, len(f.Workers()))
	if len(kinds) > 1 {
		fmt.Fprintf(c.err, " of %d kinds, which round differently: runs are refused unless Fleet.Mixed is set", len(kinds))
	}
	fmt.Fprintln(c.err)
	return w.Flush()
}

// printFleet prints the hub and the workers in JSON lines.
func printFleet(c *console, hub fleet.HubState, workers []fleet.WorkerInfo) error {
	lines := c.lines()
	if err := lines.Encode(map[string]hubLine{"hub": hubLine(hub)}); err != nil {
		return err
	}
	for _, b := range workers {
		k := b.Kind
		if err := lines.Encode(workerLine{b.Worker, b.Host, b.PID, b.Slots, append([]string{}, b.Programs...), b.Bytes, b.Done, k.Key(), k.Processor, k.Threads, k.Plugin, k.Flags}); err != nil {
			return err
		}
	}
	return nil
}

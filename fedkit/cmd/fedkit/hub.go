package main

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"fedkit.example/fedkit/fleet"
)

type hubCommand struct {
	File   string   `default:"fleet.json" placeholder:"FILE" help:"Write what workers and notebooks need to this file. Default: ${default}."`
	Listen string   `placeholder:"HOST:PORT" help:"Serve other machines too, with TLS and keys. Default: this machine alone."`
	Name   []string `placeholder:"NAME" help:"Host name or address by which other machines reach the hub. Default: this machine's name."`
	Dir    string   `placeholder:"FOLDER" help:"Folder for its keys and for objects. Default: FILE.hub."`
	Memory size     `default:"256MB" placeholder:"SIZE" help:"Memory for messages that wait for a worker or notebook which reads slowly. Default: ${default}."`
	Disk   size     `default:"16GB" placeholder:"SIZE" help:"Room for programs, data and models. Default: ${default}."`
}

// Help implements kong.HelpProvider.
func (*hubCommand) Help() string {
	return `A hub passes programs, data and results on, and computes nothing. It runs until it is interrupted. Started again with the same
folder, it has the same keys, and workers and notebooks find it again.

FILE has its address and the keys to it, and nobody else can read it. Whoever has it may run programs on the workers: trust
them as you trust those with a shell there. With --listen there is a second file, fleet.worker.json beside fleet.json. Whoever
has that one can only join as a new worker, with a key and a name of its own. Give it to machines that are trusted less:

  fedkit hub --listen 0.0.0.0:4222 --name head.cluster.example
  fedkit worker fleet.worker.json                                  # on any machine`
}

// Run is a hub until the program is interrupted.
func (h *hubCommand) Run(c *console) error {
	ctx, release := interrupted()
	defer release()
	say := func(format string, a ...any) {
		fmt.Fprintf(c.err, time.Now().Format(time.TimeOnly)+" "+format+"\n", a...)
	}
	hub, err := fleet.StartHub(fleet.HubOptions{File: h.File, Dir: h.Dir, Listen: h.Listen, Names: h.Name, Memory: int64(h.Memory), Disk: int64(h.Disk), Say: say})
	if err != nil {
		return err
	}
	defer hub.Close()
	fmt.Fprintf(c.err, "hub at %s\nworkers here:     ./scripts/worker %s\n", hub.URL(), hub.File())
	if less := hub.WorkerFile(); less != "" {
		fmt.Fprintf(c.err, "workers elsewhere: copy %s there; ./scripts/worker %s\n", less, less)
	}
	<-ctx.Done()
	return nil
}

// interrupted returns a context that an interrupt or SIGTERM cancels. A second one ends the program.
func interrupted() (ctx context.Context, release context.CancelFunc) {
	ctx, release = signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, release)
	return ctx, release
}

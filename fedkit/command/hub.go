package command

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"

	"fedkit.example/fedkit/fleet"
)

type hubCommand struct {
	File   string   `default:"fleet.json" placeholder:"FILE" help:"Write what workers and notebooks need to this file. Default: ${default}."`
	Listen string   `placeholder:"HOST:PORT" help:"Serve other machines too, with TLS and keys. Default: this machine alone."`
	Name   []string `placeholder:"NAME" help:"Host name or address by which other machines reach the hub. Default: this machine's name."`
	Dir    string   `placeholder:"FOLDER" help:"Folder for its keys and for objects. Default: FILE.hub."`
	Memory size     `default:"256MB" placeholder:"SIZE" help:"Memory for messages that wait for a worker or notebook which reads slowly. Default: ${default}."`
	Disk   size     `default:"16GB" placeholder:"SIZE" help:"Room for programs, data and models. Default: ${default}."`
	form
}

// Help implements kong.HelpProvider.
func (*hubCommand) Help() string {
	return `A hub passes programs, data and results on, and computes nothing. It runs until it is interrupted. Started again with the same
folder, it has the same keys, and workers and notebooks find it again.

FILE has its address and the keys to it, and nobody else can read it. Anybody who has it may run programs on the workers: trust
them as you trust those with a shell there. With --listen there is a second file, fleet.worker.json beside fleet.json. Anybody
who has that one can only join as a new worker, with a key and a name of its own. Give it to machines that are trusted less:

  fedkit hub --listen 0.0.0.0:4222 --name head.cluster.example
  fedkit worker fleet.worker.json                                  # on any machine`
}

// Run is a hub until the program is interrupted.
func (h *hubCommand) Run(c *console) error {
	ctx, release := until(syscall.SIGINT, syscall.SIGTERM)
	defer release()
	hub, err := fleet.StartHub(fleet.HubOptions{File: h.File, Dir: h.Dir, Listen: h.Listen, Names: h.Name, Memory: int64(h.Memory), Disk: int64(h.Disk), Logf: c.say})
	if err != nil {
		return err
	}
	defer hub.Close()
	fmt.Fprintf(c.err, "hub at %s\nworkers here:     ./scripts/worker %s\n", hub.URL(), hub.File())
	if less := hub.WorkerFile(); less != "" {
		fmt.Fprintf(c.err, "workers elsewhere: copy %s there; ./scripts/worker %s\n", less, less)
	}
	if h.JSON {
		if err := c.lines().Encode(map[string]string{"url": hub.URL(), "file": hub.File(), "worker_file": hub.WorkerFile()}); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// size is an option such as 500MB or 1.5GiB.
type size int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *size) UnmarshalText(text []byte) error {
	number := strings.TrimRight(string(text), "kKMGTiB")
	unit, known := map[string]float64{"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[string(text)[len(number):]]
	n, err := strconv.ParseFloat(number, 64)
	if n *= unit; err != nil || !known || !(n >= 1 && n < math.MaxInt64) {
		return errors.New("must be a size, such as 500MB or 4GiB")
	}
	*s = size(n)
	return nil
}

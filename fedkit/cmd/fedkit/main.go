// Command fedkit runs the studies of the notebooks, and presets, without a notebook: over ssh, in tmux, in Slurm. See package command.
//
//	./scripts/fedkit --help
package main

import (
	"fedkit.example/fedkit/command"
	"fedkit.example/notebooks/studies"
)

func main() { command.Main(studies.All...) }

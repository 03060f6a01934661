// Command fedkit runs strategies without a notebook: over ssh, in tmux, in Slurm. See package command.
//
//	./scripts/fedkit --help
package main

import "fedkit.example/fedkit/command"

func main() { command.Main() }

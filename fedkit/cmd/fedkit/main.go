// Command fedkit runs strategies without a notebook: over ssh, in tmux, in Slurm. See package command.
//
//	./scripts/fedkit --help
package main

import (
	"fedkit.example/datasets/huggingface"
	"fedkit.example/datasets/parquet"
	"fedkit.example/fedkit/command"
)

// Parquet files and data sets of the Hugging Face hub are read by name here, and not in package catalog, which notebooks link.
func main() { command.Main(parquet.Table{}, huggingface.Dataset{}) }

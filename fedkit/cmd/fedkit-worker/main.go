// Command fedkit-worker runs programs for a fedkit that has started it: see package worker.
package main

import (
	"os"

	"fedkit.example/fedkit/worker"
)

func main() { os.Exit(worker.Command(os.Args[1:])) }

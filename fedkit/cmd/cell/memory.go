package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// memory is the file beside the cell that keeps what earlier cells declared.
func memory(dir string) string { return filepath.Join(dir, ".fedkit", "variables") }

// remember stores the names of the variables of a cell that compiles.
func remember(dir string) {
	if c := check(dir, "main.go"); c != nil {
		names := slices.Concat(c.earlier, c.locals())
		slices.Sort(names)
		_ = os.WriteFile(memory(dir), []byte(strings.Join(slices.Compact(names), "\n")), 0o600)
	}
}

func remembered(dir string) []string {
	data, _ := os.ReadFile(memory(dir))
	return strings.Fields(string(data))
}

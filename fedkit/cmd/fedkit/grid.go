package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/catalog"
	"fedkit.example/fedkit/config"
	"github.com/goccy/go-yaml"
)

// grid is a study as it is written down: what all of its runs have, and lists of what varies. It has a run for each
// combination; the first list varies slowest.
type grid struct {
	Base   map[string]any    `yaml:"base"`   // sections, as in a file for run
	Vary   yaml.MapSlice     `yaml:"vary"`   // by path, such as partition.Alpha, a list of values, in order
	Labels map[string]string `yaml:"labels"` // by path, what a value is called; default: the end of the path
}

// cell is one run of a grid.
type cell struct {
	tree   map[string]any
	name   string // if strategies vary
	labels []any  // pairs of a key and a value
	*experiment
}

// cells returns the runs. All of them are made before any is run, so that a mistake is found first.
func (g *grid) cells() ([]*cell, error) {
	if err := errors.Join(g.checkPaths(), g.checkLabels()); err != nil {
		return nil, err
	}
	base := map[string]any{}
	catalog.Merge(base, g.Base)
	cells := []*cell{{tree: base}}
	for _, v := range g.Vary {
		path := fmt.Sprint(v.Key)
		values, ok := v.Value.([]any)
		if !ok || len(values) == 0 {
			return nil, fedkit.Invalid("vary."+path, fmt.Sprint(v.Value), "a list of values")
		}
		var more []*cell
		for _, c := range cells {
			for _, value := range values {
				more = append(more, c.with(path, g.label(path), value))
			}
		}
		cells = more
	}
	for _, c := range cells {
		e, err := newExperiment(c.tree)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		e.Options.Name = cmp.Or(c.name, e.Options.Name)
		c.experiment = e
	}
	return cells, nil
}

// with returns the cell with a value for what the path names. A strategy is no label: the run is called by it.
func (c *cell) with(path, label string, value any) *cell {
	n := &cell{tree: maps.Clone(c.tree), name: c.name, labels: slices.Clone(c.labels)}
	catalog.Set(n.tree, path, value)
	switch text := catalog.Text(value); {
	case strings.EqualFold(path, "strategy"):
		n.name = text
	case label != "":
		n.labels = append(n.labels, label, text)
	}
	return n
}

// String is what a cell is called: "FedProx Mu=0.1, α 0.1".
func (c *cell) String() string {
	words := []string{cmp.Or(c.name, "run")}
	for pair := range slices.Chunk(c.labels, 2) {
		words = append(words, fmt.Sprintf("%v %v", pair...))
	}
	return strings.Join(words, ", ")
}

// label is what values of a path are called. Runs that differ in their seed alone are repetitions: they need no label.
func (g *grid) label(path string) string {
	for p, label := range g.Labels {
		if strings.EqualFold(p, path) {
			return label
		}
	}
	if strings.EqualFold(path, "options.seed") {
		return ""
	}
	end := path[strings.LastIndex(path, ".")+1:]
	for _, v := range g.Vary {
		if p := fmt.Sprint(v.Key); p != path && strings.EqualFold(p[strings.LastIndex(p, ".")+1:], end) {
			return path
		}
	}
	return end
}

// checkPaths refuses a path that varies twice: its second list would hide the first.
func (g *grid) checkPaths() error {
	for i, v := range g.Vary {
		path := fmt.Sprint(v.Key)
		if slices.ContainsFunc(g.Vary[:i], func(o yaml.MapItem) bool { return strings.EqualFold(fmt.Sprint(o.Key), path) }) {
			return fedkit.Invalid("vary."+path, "given twice", "given once: case does not matter")
		}
	}
	return nil
}

// checkLabels refuses names for what does not vary.
func (g *grid) checkLabels() error {
	for path := range g.Labels {
		varies := false
		for _, v := range g.Vary {
			varies = varies || strings.EqualFold(fmt.Sprint(v.Key), path)
		}
		if !varies {
			return fedkit.Invalid("labels."+path, g.Labels[path], "the name of a path that is in vary")
		}
	}
	return nil
}

// federations makes each federation once, however many runs share it.
type federations map[string]*fedkit.Federation

func (fs federations) of(w world) (fed *fedkit.Federation, err error) {
	key := config.Of(w).String()
	if fs[key] == nil {
		fs[key], err = w.federation()
	}
	return fs[key], err
}

// readCells reads a file.
func readCells(path string) ([]*cell, error) {
	var sections map[string]any
	if err := readFile(path, &sections); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		if name != "base" && name != "vary" && name != "labels" {
			return nil, fedkit.Invalid(path, fmt.Sprintf("%q", name), "sections base, vary and labels")
		}
	}
	g := new(grid)
	if err := readFile(path, g); err != nil {
		return nil, err
	}
	return g.cells()
}

package study

import (
	"context"
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/weights"
)

// keepModels stores the models that the strategy serves at the end.
func (p *plan) keepModels(ctx context.Context) error {
	sv, err := fedkit.Served(ctx, p.fed, p.strategy)
	if err != nil {
		return err
	}
	if err := weights.Models(p.Path(modelsFile), p.fed.Task, sv); err != nil {
		return err
	}
	return p.record(modelsFile)
}

// Final loads the models that the strategy served at the end, for the task that it ran on, and which each client used.
// Study.Models keeps them. A file that is not what was stored is refused: remove it, and the study computes the run anew.
func (r *Run) Final(task *fedkit.Task) (*fedkit.Serving, error) {
	f, err := r.open(modelsFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sv, err := weights.ReadModels(f, task)
	if err != nil {
		return nil, fmt.Errorf("study: %s: %w", f.Name(), err)
	}
	return sv, nil
}

package study

import (
	"context"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/export"
)

// keepModels keeps what the strategy serves at the end.
func (p *plan) keepModels(ctx context.Context) error {
	sv, err := fedkit.Served(ctx, p.fed, p.strategy)
	if err != nil {
		return err
	}
	return export.Models(p.Path(modelsFile), p.fed.Task, sv)
}

// Final loads the models that the strategy served at the end, for the task that it ran on, and which each client used.
// Study.Models keeps them.
func (r *Run) Final(task *fedkit.Task) (*fedkit.Serving, error) {
	return export.LoadModels(r.Path(modelsFile), task)
}

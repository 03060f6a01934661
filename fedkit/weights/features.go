package weights

import (
	"cmp"
	"context"
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
)

// Features computes once what a frozen network makes of the clients' examples: a data set whose examples are the outputs of a layer of
// one model [1, d], Shape [f], or of the input of the last layer if the name is empty. Each example is owned by its client, so that
// partition.Natural deals the same clients; validation rows are left out.
//
//	data, err := weights.Features(ctx, fed, x, "")
//	head, err := fedkit.New(data, partition.Natural{}, model.LogisticRegression())
//
// Training head is training fed with all layers but the last one frozen, without the frozen layers' time, and without their bytes.
// Errors: as Federation.Features has, or data with a label at each position.
func Features(ctx context.Context, fed *fedkit.Federation, x *fedkit.Matrix, layer string) (*datasets.Dataset, error) {
	if fed == nil || fed.Data == nil || fed.Task == nil {
		return nil, fmt.Errorf("weights: %w", fedkit.Invalid("federation", fed, "made by fedkit.New"))
	}
	if s := fed.Data.Train; s.Labels != nil && s.Width > 1 {
		return nil, fmt.Errorf("weights: %w", fedkit.Invalid("data", fed.Data.Name, "one with a label or targets for each example, not with a label at each position"))
	}
	var d *datasets.Dataset
	for _, part := range []datasets.Part{datasets.TrainPart, datasets.TestPart} {
		all, err := fed.Features(ctx, x, layer, part, fed.AllClients())
		if err != nil {
			return nil, err
		}
		if d == nil {
			name := fmt.Sprintf("%s, %s of %s", fed.Data.Name, cmp.Or(layer, "features"), fed.Task.Name)
			d = &datasets.Dataset{Name: name, Shape: []int{len(all[0].Outputs[0])}, Classes: fed.Data.Classes, Tags: fed.Data.Tags}
		}
		to := d.Part(part)
		to.Width = fed.Data.Part(part).Width
		for client, p := range all {
			for _, out := range p.Outputs {
				to.Floats, to.Owner = append(to.Floats, out...), append(to.Owner, int32(client))
			}
			to.Labels, to.Targets = append(to.Labels, p.Labels...), append(to.Targets, p.Targets...)
		}
	}
	return d, d.Check()
}

package examples

import (
	"fmt"

	"fedkit.example/fedkit"
)

// adapted refuses a model that is not LoRA's, and other ranks than one per client from 1 to the model's.
func adapted(fed *fedkit.Federation, ranks Ranks) error {
	if fed == nil {
		return nil
	}
	all := adapters(fed.Task)
	if all == nil {
		return fedkit.Invalid("model", fed.Task.Name, "one of examples.LoRA")
	}
	if ranks != nil && len(ranks) != fed.Size() {
		return fedkit.Invalid("option Ranks", fmt.Sprintf("%d numbers", len(ranks)), fmt.Sprintf("%d, one per client", fed.Size()))
	}
	for c, r := range ranks {
		if r < 1 || r > all[0].r {
			return fedkit.Invalid(fmt.Sprintf("option Ranks[%d]", c), r, fmt.Sprintf("from 1 to %d, the model's rank", all[0].r))
		}
	}
	return nil
}

package strategy

import (
	"fmt"
	"strings"

	"fedkit.example/fedkit"
)

// headLayers returns the names of a head's layers; nil stands for the layer of the last parameter.
func headLayers(t *fedkit.Task, names []string) []string {
	if names != nil {
		return names
	}
	return []string{lastLayer(t)}
}

// checkLayers rejects names in an option that are not layers of the federation's task.
func checkLayers(option string, fed *fedkit.Federation, names []string) error {
	if _, err := fed.Task.Mask(names...); err != nil {
		return fmt.Errorf("option %s: %w", option, err)
	}
	return nil
}

// lastLayer returns the name of the layer that the task's last parameter belongs to.
func lastLayer(t *fedkit.Task) string {
	last := t.Params[len(t.Params)-1].Name
	if slash := strings.LastIndex(last, "/"); slash > 0 {
		return last[:slash]
	}
	return last
}

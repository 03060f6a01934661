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

// denseLayers returns the names of a decision's layers; nil stands for the dense layers (with weights [in, out]) after the last
// convolution (kernels have four axes), or for the last layer where there are none.
func denseLayers(t *fedkit.Task, names []string) (layers []string) {
	convolutions := 0
	for _, p := range t.Params {
		switch {
		case len(p.Shape) == 4:
			convolutions, layers = convolutions+1, nil
		case len(p.Shape) == 2 && convolutions > 0:
			layers = append(layers, layerOf(p))
		}
	}
	if names != nil || layers == nil {
		return headLayers(t, names)
	}
	return layers
}

// lastLayer returns the name of the layer that the task's last parameter belongs to.
func lastLayer(t *fedkit.Task) string { return layerOf(t.Params[len(t.Params)-1]) }

// layerOf returns the name of the layer that a parameter belongs to.
func layerOf(p fedkit.Param) string {
	if slash := strings.LastIndex(p.Name, "/"); slash > 0 {
		return p.Name[:slash]
	}
	return p.Name
}

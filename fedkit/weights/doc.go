// Package weights writes models for other programs, and reads theirs.
//
// Models become safetensors files with the names of their layers, for NumPy, PyTorch and JAX:
//
//	err := weights.SafeTensors("avg.safetensors", fed.Task, avg.State.X)
//
// and in Python
//
//	from safetensors.numpy import load_file
//	w = load_file("avg.safetensors")["dense1/weights"]
//
// Pretrained makes a model start from weights that another program wrote, as safetensors or as a state dict of PyTorch.
//
// GoMLX writes a checkpoint for programs that use GoMLX without fedkit.
package weights

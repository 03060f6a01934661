// Package weights writes models for other programs, and reads them back.
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
// GoMLX writes a checkpoint for programs that use GoMLX without fedkit.
package weights

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
// Pretrained makes a model start from weights that another program wrote. A file of PyTorch is converted first:
//
//	python -c "import torch, safetensors.torch as s; s.save_file({k: v.contiguous().clone() for k, v in
//	torch.load('mlp.pt', map_location='cpu', weights_only=True).items()}, 'mlp.safetensors')"
package weights

package xla

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

// HostBytes copies a tensor's raw bytes to the host.
func HostBytes(t *tensors.Tensor) (data []byte, err error) {
	defer Caught(&err)
	b, err := Backend()
	if err != nil {
		return nil, err
	}
	if t.HasLocal() {
		err = t.ConstBytes(func(all []byte) { data = slices.Clone(all) })
		return data, err
	}
	buffer, err := t.Buffer(b, 0)
	if err != nil {
		return nil, err
	}
	data = make([]byte, t.Shape().ByteSize())
	return data, buffer.ToFlatData(data)
}

// FromBytes uploads bytes as HostBytes returns them.
func FromBytes(data []byte, dtype dtypes.DType, dims []int) (t *tensors.Tensor, err error) {
	defer Caught(&err)
	b, err := Backend()
	if err != nil {
		return nil, err
	}
	if t, err = tensors.FromRaw(b, 0, shapes.Make(dtype, dims...), data); err == nil {
		count(t)
	}
	return t, err
}

package xla

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

// collectAfter is how many new bytes may accumulate on the device before the garbage collector is called. Device memory is freed
// by finalizers, but the collector sees only the small Go objects that hold it and would wait far too long.
var collectAfter = sync.OnceValue(func() int64 {
	if OnCPU() {
		return 192 << 20
	}
	return 1 << 30
})

var pending atomic.Int64

// count accounts for a new tensor on the device.
func count(t *tensors.Tensor) {
	if pending.Add(t.ByteSize()) > collectAfter() {
		pending.Store(0)
		runtime.GC()
	}
}

// Upload puts values on the device, with the given dimensions.
func Upload[T interface{ uint8 | int32 | float32 }](values []T, dims ...int) (t *tensors.Tensor, err error) {
	shape := shapes.Make(dtypes.FromGenericsType[T](), dims...)
	if shape.Size() != len(values) {
		return nil, fmt.Errorf("upload: %d values do not fill shape %v", len(values), dims)
	}
	return FromBytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), shape.ByteSize()), shape.DType, dims)
}

// Host copies a tensor of float32 to the host.
func Host(t *tensors.Tensor) (values []float32, err error) {
	defer Caught(&err)
	return tensors.CopyFlatData[float32](t)
}

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
	buffer, err := t.Buffer(b, home(t))
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

// Free releases the device memory of temporaries at once.
func Free(ts ...*tensors.Tensor) {
	for _, t := range ts {
		if t != nil {
			_ = t.FinalizeAll() // freeing twice is harmless; the collector would do it later
		}
	}
}

package xla

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

// collectAfter is how many new bytes may accumulate on the device before the garbage collector is called. Device memory is freed
// by finalizers, but the collector sees only the small Go objects that hold it and would wait far too long.
const collectAfter = 192 << 20

var pending atomic.Int64

// count accounts for a new tensor on the device.
func count(t *tensors.Tensor) {
	if pending.Add(t.ByteSize()) > collectAfter {
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

// Free releases the device memory of temporaries at once.
func Free(ts ...*tensors.Tensor) {
	for _, t := range ts {
		if t != nil {
			_ = t.FinalizeAll() // freeing twice is harmless; the collector would do it later
		}
	}
}

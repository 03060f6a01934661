package weights

import (
	"encoding/binary"
	"math"

	"fedkit.example/fedkit"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/dtypes/float16"
)

// array is a tensor of another program's file, with its axes in any order.
type array struct {
	dtype         string // as safetensors has it
	shape, stride []int
	load          func() ([]byte, error) // all of its values
}

// decoders turn little-endian bytes into a number.
var decoders = map[string]func([]byte) float32{
	"F32":  func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) },
	"F16":  func(b []byte) float32 { return float16.FromBits(binary.LittleEndian.Uint16(b)).Float32() },
	"BF16": func(b []byte) float32 { return bfloat16.FromBits(binary.LittleEndian.Uint16(b)).Float32() },
}

// contiguous returns the strides of an array in row-major order.
func contiguous(shape []int) []int {
	stride, step := make([]int, len(shape)), 1
	for a := len(shape) - 1; a >= 0; a-- {
		stride[a] = step
		step *= shape[a]
	}
	return stride
}

// permuted returns a view with the axes in another order.
func (a array) permuted(axes ...int) array {
	shape, stride := make([]int, len(axes)), make([]int, len(axes))
	for to, from := range axes {
		shape[to], stride[to] = a.shape[from], a.stride[from]
	}
	a.shape, a.stride = shape, stride
	return a
}

// split returns a view whose second axis [ch·h·w] is [ch, h, w]. The array has two axes.
func (a array) split(ch, h, w int) array {
	s := a.stride[1]
	a.shape, a.stride = []int{a.shape[0], ch, h, w}, []int{a.stride[0], s * h * w, s * w, s}
	return a
}

// values reads the array, row-major, into to, which has as many numbers; its dtype is one of decoders.
func (a array) values(to []float32) error {
	decode, size := decoders[a.dtype], int(sizes[a.dtype])
	b, err := a.load()
	if err != nil {
		return err
	}
	index, at := make([]int, len(a.shape)), 0
	for i := range to {
		to[i] = decode(b[at*size:])
		if v := float64(to[i]); math.IsNaN(v) || math.IsInf(v, 0) {
			return fedkit.Invalid("value", v, "finite")
		}
		for axis := len(index) - 1; axis >= 0; axis-- { // the next
			at += a.stride[axis]
			if index[axis]++; index[axis] < a.shape[axis] {
				break
			}
			at -= index[axis] * a.stride[axis]
			index[axis] = 0
		}
	}
	return nil
}

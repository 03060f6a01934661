package xla

/*
#include <stdlib.h>
#include "kernels.h"
*/
import "C"

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"fedkit.example/fedkit/internal/plugins"
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	gxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/stablehlo"
	xlashapes "github.com/gomlx/go-xla/types/shapes"
)

// XLA compiles a loop's convolutions to slow code. The CPU's plugin lets programs call functions of others, by its FFI extension: here
// onednn_convolve, for a convolution and for both of its gradients. What oneDNN computes has the same bytes whatever its threads.

// kernelLibrary is the file that set-up puts beside the plugin: oneDNN of the wheel onednn-cpu-gomp.
const kernelLibrary = "libdnnl.so.3.2"

// Kernels returns the name by which programs call oneDNN's convolutions, "" if they do not: on a GPU, without the library, on a processor without
// AVX2, or if FEDKIT_CONVOLUTIONS asks for another form. It opens the library, and tries one program.
var Kernels = sync.OnceValue(func() string {
	if Form() != OneDNN {
		return ""
	}
	name, err := openKernels(plugins.Folders())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "fedkit: convolutions are computed without oneDNN, more slowly: %v\n", err)
	}
	return name
})

var kernels = Kernels // tests have others

// openKernels opens oneDNN in the first of the folders that has it.
func openKernels(folders []string) (name string, err error) {
	if plain == nil {
		return "", errors.New("the plugin is another one")
	}
	i := slices.IndexFunc(folders, func(folder string) bool { _, err := os.Stat(filepath.Join(folder, kernelLibrary)); return err == nil })
	if i < 0 {
		return "", os.ErrNotExist
	}
	path := filepath.Join(folders[i], kernelLibrary)
	if err := checkLibrary(path); err != nil {
		return "", fmt.Errorf("%s: %w; ./scripts/lab setup installs it again", path, err)
	}
	file := C.CString(path)
	defer C.free(unsafe.Pointer(file))
	if wrong := C.onednn_open(file); wrong != nil {
		return "", fmt.Errorf("%s: %s", path, C.GoString(wrong))
	}
	name = fmt.Sprintf("%s.%d", kernelTarget, C.onednn_version())
	called := C.CString(name) // for as long as the plugin
	if wrong := C.kernels_register(plain, called); wrong != nil {
		return "", errors.New(C.GoString(wrong))
	}
	return name, try(name)
}

// kernelTarget and the library's version are the name by which programs call.
const kernelTarget = "fedkit.convolution"

// try runs a convolution of two numbers.
func try(name string) error {
	c, err := NewClient()
	if err != nil {
		return err
	}
	one := C.convolution{space: 1, groups: 1}
	for role := range one.dims {
		for a := range 3 {
			one.dims[role][a], one.steps[role][a] = 1, 1
		}
	}
	one.strides[0], one.dilations[0] = 1, 1
	const scalar = "tensor<1x1x1xf32>"
	text := fmt.Sprintf("module @try {\n func.func @main(%%x: %[1]s, %%w: %[1]s) -> %[1]s {\n  %%y = \"stablehlo.custom_call\"(%%x, %%w) {call_target_name = %[2]q, api_version = 4 : i32, backend_config = {of = %[3]s}} : (%[1]s, %[1]s) -> %[1]s\n  return %%y : %[1]s\n }\n}\n",
		scalar, name, numbers(&one))
	run, err := c.Compile([]byte(text))
	if err != nil {
		return err
	}
	var in []*Buffer
	for _, v := range []float32{3, 7} {
		b, err := c.Put(binary.NativeEndian.AppendUint32(nil, math.Float32bits(v)), dtypes.Float32, []int{1, 1, 1})
		if err != nil {
			return err
		}
		in = append(in, b)
	}
	out, err := run.Run(in...)
	if err != nil {
		return err
	}
	y, err := out[0].Host()
	if err == nil && math.Float32frombits(binary.NativeEndian.Uint32(y)) != 21 {
		err = errors.New("it computes 3 · 7 wrong")
	}
	return err
}

// numbers formats a convolution as an attribute of a program's text.
func numbers(c *C.convolution) string {
	of := unsafe.Slice((*int64)(unsafe.Pointer(c)), unsafe.Sizeof(*c)/8)
	return "array<i64: " + strings.Trim(strings.ReplaceAll(fmt.Sprint(of), " ", ", "), "[]") + ">"
}

// convolved is a convolution as oneDNN knows it.
type convolved struct {
	c        C.convolution
	dims     []int // of its result
	reversed bool  // whether it takes the kernel reversed in space
}

// tensor sets what a convolution knows of one of its tensors, from the tensor's dimensions and which of its axes are what.
func (k *convolved) tensor(role, batch, channels int, space, dims []int) {
	for i, axis := range append([]int{batch, channels}, space...) {
		k.c.dims[role][i], k.c.steps[role][i] = C.int64_t(dims[axis]), C.int64_t(product(dims[axis+1:]))
	}
}

// convolved returns the convolution as oneDNN knows it, nil if oneDNN has none.
func (c *convolution) convolved(axes compute.ConvolveAxesConfig) *convolved {
	n := len(c.strides)
	x, w := c.dims(c.x), c.dims(c.w)
	if c.err != nil || n < 1 || n > C.most_space {
		return nil
	}
	in, window := at(x, axes.InputSpatial), at(w, axes.KernelSpatial)
	out := c.spatial(in, window)
	k := &convolved{c: C.convolution{space: C.int64_t(n), groups: C.int64_t(c.groups)}, dims: make([]int, n+2)}
	k.dims[axes.OutputBatch], k.dims[axes.OutputChannels] = x[axes.InputBatch], w[axes.KernelOutputChannels]
	for a, axis := range axes.OutputSpatial {
		k.dims[axis] = out[a]
	}
	strides, dilations, before := c.strides, c.kernel, make([]int, n)
	for a, p := range c.paddings {
		before[a] = p[0]
	}
	switch {
	case !all(c.input, 1): // the gradient of the input of a strided convolution, by its reversed kernel
		if !all(c.strides, 1) || c.groups > 1 {
			return nil
		}
		k.c.kind, k.reversed = C.backward_data, true
		k.tensor(C.src, axes.OutputBatch, axes.OutputChannels, axes.OutputSpatial, k.dims)
		k.tensor(C.weights, axes.KernelInputChannels, axes.KernelOutputChannels, axes.KernelSpatial, w)
		k.tensor(C.dst, axes.InputBatch, axes.InputChannels, axes.InputSpatial, x)
		for a := range before {
			before[a] = (window[a]-1)*c.kernel[a] - before[a]
		}
		strides, in, out = c.input, out, in
	case axes.InputChannels == 0 && axes.KernelInputChannels == 0 && c.groups == 1: // the gradient of the kernel, a sum over the examples
		k.c.kind = C.backward_weights
		k.tensor(C.src, axes.InputChannels, axes.InputBatch, axes.InputSpatial, x)
		k.tensor(C.weights, axes.OutputChannels, axes.OutputBatch, axes.OutputSpatial, k.dims)
		k.tensor(C.dst, axes.KernelInputChannels, axes.KernelOutputChannels, axes.KernelSpatial, w)
		strides, dilations, window, out = c.kernel, c.strides, out, window
	default:
		k.tensor(C.src, axes.InputBatch, axes.InputChannels, axes.InputSpatial, x)
		k.tensor(C.weights, axes.KernelOutputChannels, axes.KernelInputChannels, axes.KernelSpatial, w)
		k.tensor(C.dst, axes.OutputBatch, axes.OutputChannels, axes.OutputSpatial, k.dims)
	}
	for a := range n {
		// Any padding after with which the sizes fit will do: none, if it does.
		least := (out[a]-1)*strides[a] + (window[a]-1)*dilations[a] + 1 - in[a] - before[a]
		after := max(least, min(0, least+strides[a]-1))
		if before[a] < 0 || after < 0 {
			return nil
		}
		k.c.strides[a], k.c.dilations[a], k.c.before[a], k.c.after[a] = C.int64_t(strides[a]), C.int64_t(dilations[a]), C.int64_t(before[a]), C.int64_t(after)
	}
	if C.onednn_has(&k.c) == 0 {
		return nil
	}
	return k
}

func at(dims, axes []int) (of []int) {
	for _, a := range axes {
		of = append(of, dims[a])
	}
	return of
}

// byKernel computes the convolution by oneDNN; nil if that has none.
func (c *convolution) byKernel(name string, axes compute.ConvolveAxesConfig) compute.Value {
	k := c.convolved(axes)
	if k == nil {
		return nil
	}
	w := c.w
	if k.reversed {
		w = c.do(c.f.Reverse(w, axes.KernelSpatial...))
	}
	var in []*stablehlo.Value
	for _, v := range []compute.Value{c.x, w} {
		if c.err == nil {
			in = append(in, private[stablehlo.Value](v.(*gxla.Node), "value"))
		}
	}
	if c.err != nil {
		return nil
	}
	out, err := stablehlo.CustomCallV2(name, numbers(&k.c), in, [][]int{nil, nil}, []xlashapes.Shape{xlashapes.Make(dtypes.Float32, k.dims...)}, [][]int{nil})
	if c.do(nil, err); err != nil {
		return nil
	}
	y := &gxla.Node{}
	*field[*stablehlo.Value](y, "value") = out[0]
	*field[shapes.Shape](y, "shape") = shapes.Make(dtypes.Float32, k.dims...)
	*field[*gxla.Builder](y, "builder") = private[gxla.Builder](c.f.Function, "builder")
	return y
}

var kernelCall = regexp.MustCompile(`api_version = 2 : i32,(\s*)backend_config = "(array<i64: [-\d, ]+>)"`)

// withKernels gives calls of kernels in a program's text the version that has their numbers, which go-xla does not write.
func withKernels(text []byte) []byte {
	if !bytes.Contains(text, []byte(kernelTarget)) {
		return text
	}
	return kernelCall.ReplaceAll(text, []byte(`api_version = 4 : i32,${1}backend_config = {of = $2}`))
}

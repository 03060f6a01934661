package xla

import (
	"slices"
	"sync"

	"github.com/gomlx/compute"
	gxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/core/tensors"
)

// deviceCount is the CPU plugin's option for the number of devices. Programs of one device run one after the other, those of two side by
// side. The plugin has at least one thread per device, however, and more than there are processors contend: with its default of four, a
// round of the benchmark's MLP takes a third longer on two.
const deviceCount = "cpu_device_count"

// mostDevices bounds the CPU's devices.
const mostDevices = 8

// Devices returns how many programs run side by side: on a CPU as many as it has threads, at most eight.
var Devices = sync.OnceValue(func() int {
	b, err := Backend()
	if err != nil || !OnCPU() {
		return 1
	}
	return min(b.NumDevices(), mostDevices)
})

// devices has the number of calls in progress by device.
var devices struct {
	sync.Mutex
	calls [mostDevices]int
}

// enter begins a call on the device with the fewest of them, the first if several have. Results do not depend on it.
func enter() compute.DeviceNum {
	devices.Lock()
	defer devices.Unlock()
	calls := devices.calls[:Devices()]
	d := slices.Index(calls, slices.Min(calls))
	calls[d]++
	return compute.DeviceNum(d)
}

// leave ends a call.
func leave(d compute.DeviceNum) {
	devices.Lock()
	defer devices.Unlock()
	devices.calls[d]--
}

// home is the device that has a tensor, or is to have it: a tensor never moves. Device does not wait for another call that puts it there.
func home(t *tensors.Tensor) compute.DeviceNum {
	mu := field[sync.Mutex](t, "mu")
	mu.Lock()
	defer mu.Unlock()
	d, err := t.Device()
	if err != nil { // on none yet
		return 0
	}
	return d
}

// bufferOn returns a tensor's memory as an argument of a program on a device, which must not outlive the tensor. All of a CPU's devices have
// the same memory, so nothing is copied.
func bufferOn(b compute.Backend, d compute.DeviceNum, t *tensors.Tensor) (compute.Buffer, error) {
	where := home(t)
	buffer, err := t.Buffer(b, where)
	if err != nil || where == d {
		return buffer, err
	}
	at, err := private[pjrt.Buffer](buffer, "pjrtBuffer").UnsafePointer()
	if err != nil {
		return nil, err
	}
	client := private[pjrt.Client](b, "client")
	shape := t.Shape()
	view, err := client.CreateViewOfDeviceBuffer(at, shape.DType, shape.Dimensions, client.AddressableDevices()[d])
	if err != nil {
		return nil, err
	}
	other := &gxla.Buffer{}
	*field[*pjrt.Buffer](other, "pjrtBuffer") = view
	*field[*gxla.Backend](other, "backend") = b.(*gxla.Backend)
	return other, nil
}

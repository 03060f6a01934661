package xla

import (
	"cmp"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	gxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
)

// Client is the device of this process without graphs and tensors, for a worker, which runs the programs of other processes.
type Client struct{ pjrt *pjrt.Client }

// Buffer is a value on the device of a Client.
type Buffer struct{ pjrt *pjrt.Buffer }

// Executable is a program that a Client has compiled.
type Executable struct{ pjrt *pjrt.LoadedExecutable }

// NewClient returns the device that Backend opens, with the same options as programs in this process. go-xla does not export its
// client, so it is read from a private field.
func NewClient() (c *Client, err error) {
	defer Caught(&err)
	b, err := Backend()
	if err != nil {
		return nil, err
	}
	x, ok := b.(*gxla.Backend)
	if !ok {
		return nil, fmt.Errorf("%w: backend %q is not go-xla's", ErrNoPlugin, b.Name())
	}
	return &Client{private[pjrt.Client](x, "client")}, nil
}

// Plugin returns the path of the device's plugin.
func (c *Client) Plugin() string { return cmp.Or(keptPlugin, c.pjrt.Plugin().Path()) }

// Device describes the device in the plugin's words.
func (c *Client) Device() string {
	devices := c.pjrt.AddressableDevices()
	if len(devices) == 0 {
		return "no device"
	}
	d, err := devices[0].GetDescription()
	if err != nil {
		return err.Error()
	}
	return d.DebugString()
}

// Compile compiles StableHLO text.
func (c *Client) Compile(text []byte) (e *Executable, err error) {
	defer Caught(&err)
	compilations.Add(1)
	run, err := c.pjrt.Compile().WithStableHLO(text).Done()
	if err != nil {
		return nil, err
	}
	return &Executable{run}, nil
}

// Put copies a value to the device.
func (c *Client) Put(data []byte, dtype dtypes.DType, dims []int) (b *Buffer, err error) {
	defer Caught(&err)
	if data == nil {
		data = []byte{}
	}
	buffer, err := c.pjrt.BufferFromHost().FromRawData(data, dtype, dims).Done()
	if err != nil {
		return nil, err
	}
	return &Buffer{buffer}, nil
}

// Run runs the program, and returns when the device is done.
func (e *Executable) Run(arguments ...*Buffer) (results []*Buffer, err error) {
	defer Caught(&err)
	in := make([]*pjrt.Buffer, len(arguments))
	for i, a := range arguments {
		in[i] = a.pjrt
	}
	out, err := e.pjrt.Execute(in...).Done()
	if err != nil {
		return nil, err
	}
	for _, b := range out {
		results = append(results, &Buffer{b})
	}
	return results, nil
}

// Shape returns type and dimensions.
func (b *Buffer) Shape() (dtype dtypes.DType, dims []int, err error) {
	defer Caught(&err)
	if dtype, err = b.pjrt.DType(); err != nil {
		return dtype, nil, err
	}
	dims, err = b.pjrt.Dimensions()
	return dtype, dims, err
}

// Host copies the value to the host, and blocks until it is there.
func (b *Buffer) Host() (data []byte, err error) {
	defer Caught(&err)
	dtype, dims, err := b.Shape()
	if err != nil {
		return nil, err
	}
	data = make([]byte, Bytes(dtype, dims))
	if len(data) == 0 {
		return data, nil
	}
	return data, b.pjrt.ToHost(data)
}

// Free releases the memory.
func (b *Buffer) Free() { _ = b.pjrt.Destroy() }

// Bytes returns the size of a value in bytes, −1 if a dimension is negative or it is more than a terabyte.
func Bytes(dtype dtypes.DType, dims []int) int {
	const most = 1 << 40
	n := dtype.Size()
	for _, d := range dims {
		if d < 0 || d > 0 && n > most/d {
			return -1
		}
		n *= d
	}
	return n
}

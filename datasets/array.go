package datasets

import (
	"fmt"
	"reflect"
	"slices"
)

// array is the content of an NPY file.
type array struct {
	path    string
	shape   []int
	strides []int         // of each dimension in values
	values  reflect.Value // a slice of the file's type
}

// stridesOf returns the strides of an array in C or Fortran order.
func stridesOf(shape []int, fortran bool) []int {
	strides, step := make([]int, len(shape)), 1
	for k := range shape {
		if !fortran {
			k = len(shape) - 1 - k
		}
		strides[k] = step
		step *= shape[k]
	}
	return strides
}

// images moves channels last, and returns the shape of an example.
func (a *array) images(channelsFirst bool) ([]int, error) {
	switch dims := len(a.shape); {
	case channelsFirst && dims != 4:
		return nil, fmt.Errorf("datasets: %s has shape %v: must be [n, channels, height, width], for ChannelsFirst", a.path, a.shape)
	case dims == 3:
		return append(slices.Clone(a.shape[1:]), 1), nil
	case dims != 2 && dims != 4:
		return nil, fmt.Errorf("datasets: %s has shape %v: must be [n, f], [n, height, width] or [n, height, width, channels]", a.path, a.shape)
	}
	if channelsFirst {
		last := func(list []int) []int { return []int{list[0], list[2], list[3], list[1]} }
		a.shape, a.strides = last(a.shape), last(a.strides)
	}
	return a.shape[1:], nil
}

// fill sets the features of a part, row after row.
func (a *array) fill(s *Split) (err error) {
	if bytes, ok := a.values.Interface().([]uint8); ok {
		s.Bytes, s.Scale = rowMajor(bytes, a.shape, a.strides), 1.0/255
		return nil
	}
	s.Floats, err = a.floats()
	return err
}

// along reads an array with one value per row of this one.
func (a *array) along(path string) (*array, error) {
	b, err := openArray(path)
	if err != nil {
		return nil, err
	}
	if n := a.shape[0]; !slices.Equal(b.shape, []int{n}) && !slices.Equal(b.shape, []int{n, 1}) {
		return nil, fmt.Errorf("datasets: %s has shape %v: must be [%d], one value per row of %s", b.path, b.shape, n, a.path)
	}
	return b, nil
}

func (a *array) isFloat() bool { return a.values.Type().Elem().Kind() >= reflect.Float32 }

// floats returns the values in C order. All must be finite.
func (a *array) floats() ([]float32, error) {
	v, ok := a.values.Interface().([]float32)
	if !ok {
		v = make([]float32, a.values.Len())
		for i := range v {
			v[i] = float32(a.at(i))
		}
	}
	v = rowMajor(v, a.shape, a.strides)
	if i := slices.IndexFunc(v, notFinite); i >= 0 {
		f := len(v) / a.shape[0]
		return nil, fmt.Errorf("datasets: %s: row %d, value %d is %v: must be a finite float32", a.path, i/f, i%f, v[i])
	}
	return v, nil
}

// whole returns whole numbers in [0, end).
func (a *array) whole(end int) ([]int32, error) {
	v := make([]int32, a.values.Len())
	for i := range v {
		x := a.at(i)
		if a.isFloat() || !(x >= 0 && x < float64(end)) {
			return nil, fmt.Errorf("datasets: %s: row %d is %v (%s): must be a whole number in [0, %d)", a.path, i, x, a.values.Type().Elem(), end)
		}
		v[i] = int32(x)
	}
	return v, nil
}

// at returns the i-th value in memory.
func (a *array) at(i int) float64 {
	switch v := a.values.Index(i); {
	case v.CanFloat():
		return v.Float()
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	case v.Bool():
		return 1
	}
	return 0
}

// rowMajor returns values in C order: the last dimension changes fastest.
func rowMajor[T any](values []T, shape, strides []int) []T {
	if slices.Equal(strides, stridesOf(shape, false)) {
		return values
	}
	ordered := make([]T, 0, len(values))
	var visit func(k, from int)
	visit = func(k, from int) {
		if k == len(shape) {
			ordered = append(ordered, values[from])
			return
		}
		for i := range shape[k] {
			visit(k+1, from+i*strides[k])
		}
	}
	visit(0, 0)
	return ordered
}

// Package packed is a compact columnar encoding of lists that is quick to read: a list of structs has a column for each exported
// field, under its name in JSON, and a list of integers has one. Fields may be floats, ints, bools, and maps of strings to
// floats. Fields that JSON omits ("-") are omitted, and so are columns of zeros.
//
// A list is
//
//	1 + rows (0: nil), columns, then for each column its name and its cells
//
// with numbers as varints. A cell is a number of 64 bits: 8 bytes for a float, otherwise a signed varint. A column has the
// shortest of these encodings, after its number:
//
//	0 constant    one cell for all rows
//	1 dictionary  number of distinct cells − 1 in a byte, up to 256 cells, then a byte for each row
//	2 singles     floats that are exact in float32, in 4 bytes each
//	3 doubles     floats
//	4 steps       integers, delta-encoded
//
// A map has a column for each key: which rows have it, and then the values. The first cells of a list and of a map are never
// constant, so there are at most as many rows as bytes, and the memory that a crafted list takes is bounded by its length.
package packed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

const (
	constant = iota
	dictionary
	singles
	doubles
	steps
)

// Append packs a list, a slice of structs or ints.
func Append(b []byte, list any) ([]byte, error) { return packList(b, reflect.ValueOf(list)) }

// Read unpacks what Append packed into list, a pointer to a slice, and returns the bytes after it.
func Read(b []byte, list any) (rest []byte, err error) {
	return unpackList(b, reflect.ValueOf(list).Elem())
}

// figure is a field of a row; a row that is a number has one figure, itself.
type figure struct {
	name string
	at   []int // reflect's field index
	kind reflect.Kind
}

// figuresOf returns the fields of a row that JSON has.
func figuresOf(row reflect.Type) (all []figure) {
	if row.Kind() != reflect.Struct {
		return []figure{{"", nil, row.Kind()}}
	}
	for i := range row.NumField() {
		f := row.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && name != "-" {
			all = append(all, figure{name, f.Index, f.Type.Kind()})
		}
	}
	return all
}

// of returns the field of a row.
func (f figure) of(row reflect.Value) reflect.Value { return row.FieldByIndex(f.at) }

// offset is the field's byte offset in a row.
func (f figure) offset(row reflect.Type) uintptr {
	if f.at == nil {
		return 0
	}
	return row.FieldByIndex(f.at).Offset
}

// each calls do with the address of the field in every row: lists are long, and reflection is slow.
func (f figure) each(list reflect.Value, do func(i int, field unsafe.Pointer)) {
	row := list.Type().Elem()
	at := unsafe.Add(list.UnsafePointer(), f.offset(row))
	for i := range list.Len() {
		do(i, unsafe.Add(at, uintptr(i)*row.Size()))
	}
}

// get copies the field of every row to the cells.
func (f figure) get(list reflect.Value, cells []uint64) {
	f.each(list, func(i int, field unsafe.Pointer) {
		switch f.kind {
		case reflect.Float64:
			cells[i] = math.Float64bits(*(*float64)(field))
		case reflect.Int:
			cells[i] = uint64(*(*int)(field))
		case reflect.Bool:
			cells[i] = 0
			if *(*bool)(field) {
				cells[i] = 1
			}
		}
	})
}

// set copies the cells to the field of every row.
func (f figure) set(list reflect.Value, cells []uint64) {
	f.each(list, func(i int, field unsafe.Pointer) {
		switch f.kind {
		case reflect.Float64:
			*(*float64)(field) = math.Float64frombits(cells[i])
		case reflect.Int:
			*(*int)(field) = int(cells[i])
		case reflect.Bool:
			*(*bool)(field) = cells[i] != 0
		}
	})
}

func packList(b []byte, list reflect.Value) ([]byte, error) {
	if list.IsNil() {
		return append(b, 0), nil
	}
	b = binary.AppendUvarint(b, uint64(list.Len())+1)
	n, columns := 0, []byte(nil)
	cells := make([]uint64, list.Len())
	for _, f := range figuresOf(list.Type().Elem()) {
		switch f.kind {
		case reflect.Map:
			columns = packMap(columns, f, list, &n)
			continue
		case reflect.Float64, reflect.Int, reflect.Bool:
		default:
			return nil, fmt.Errorf("%v.%s: no number and no map of numbers", list.Type().Elem(), f.name)
		}
		f.get(list, cells)
		zeros := !slices.ContainsFunc(cells, func(c uint64) bool { return c != 0 })
		if first := n == 0; first || !zeros {
			columns = packCells(appendName(columns, f.name), cells, f.kind == reflect.Float64, first)
			n++
		}
	}
	return append(binary.AppendUvarint(b, uint64(n)), columns...), nil
}

// packMap packs a map of floats as two columns per key: which rows have it, and its values.
func packMap(b []byte, f figure, list reflect.Value, n *int) []byte {
	keys := map[string]bool{}
	rows := make([]reflect.Value, list.Len())
	for i := range rows {
		rows[i] = f.of(list.Index(i))
		for _, key := range rows[i].MapKeys() {
			keys[key.String()] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		has, cells := make([]uint64, len(rows)), make([]uint64, len(rows))
		for i, m := range rows {
			if v := m.MapIndex(reflect.ValueOf(key)); v.IsValid() {
				has[i], cells[i] = 1, math.Float64bits(v.Float())
			}
		}
		b = packCells(appendName(b, f.name+"."+key), has, false, true)
		b = packCells(b, cells, true, false)
		*n++
	}
	return b
}

func appendName(b []byte, name string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(name))), name...)
}

// packCells appends the cells of a column in their shortest form; full ones are never constant.
func packCells(b []byte, cells []uint64, floats, full bool) []byte {
	words, index := dictionaryOf(cells)
	if len(words) == 1 && !full {
		return appendCell(append(b, constant), words[0], floats)
	}
	plain := plainCells(cells, floats)
	if words == nil {
		return append(b, plain...)
	}
	coded := []byte{dictionary, byte(len(words) - 1)}
	for _, w := range words {
		coded = appendCell(coded, w, floats)
	}
	if len(coded)+len(index) < len(plain) {
		return append(append(b, coded...), index...)
	}
	return append(b, plain...)
}

// dictionaryOf returns the distinct cells, and each row's index into them; nil if there are none, or more than 256.
func dictionaryOf(cells []uint64) (words []uint64, index []byte) {
	known := map[uint64]byte{}
	index = make([]byte, len(cells))
	for i, c := range cells {
		at, ok := known[c]
		if !ok {
			if len(words) == 256 {
				return nil, nil
			}
			at = byte(len(words))
			known[c], words = at, append(words, c)
		}
		index[i] = at
	}
	return words, index
}

func plainCells(cells []uint64, floats bool) []byte {
	if !floats {
		b, before := []byte{steps}, uint64(0)
		for _, c := range cells {
			b, before = binary.AppendVarint(b, int64(c-before)), c
		}
		return b
	}
	if slices.ContainsFunc(cells, func(c uint64) bool { return widen(narrow(c)) != c }) {
		b := append(make([]byte, 0, 1+8*len(cells)), doubles)
		for _, c := range cells {
			b = binary.LittleEndian.AppendUint64(b, c)
		}
		return b
	}
	b := append(make([]byte, 0, 1+4*len(cells)), singles)
	for _, c := range cells {
		b = binary.LittleEndian.AppendUint32(b, narrow(c))
	}
	return b
}

func narrow(c uint64) uint32 { return math.Float32bits(float32(math.Float64frombits(c))) }

func widen(c uint32) uint64 { return math.Float64bits(float64(math.Float32frombits(c))) }

func appendCell(b []byte, c uint64, float bool) []byte {
	if float {
		return binary.LittleEndian.AppendUint64(b, c)
	}
	return binary.AppendVarint(b, int64(c))
}

// errBroken says that a list ends too early, or has an impossible number.
var errBroken = errors.New("a packed list is broken")

func unpackList(b []byte, list reflect.Value) ([]byte, error) {
	n, b, err := count(b)
	if n == 0 || err != nil {
		return b, err
	}
	n--
	columns, b, err := count(b)
	if err != nil || n > len(b) { // the first column takes a byte for each row, or more
		return nil, errBroken
	}
	list.Set(reflect.MakeSlice(list.Type(), n, n))
	cells, seen := make([]uint64, n), map[string]bool{}
	for i := range columns {
		var name string
		if name, b, err = nameOf(b); err != nil || seen[name] {
			return nil, errBroken
		}
		seen[name] = true
		f, key, err := find(list.Type().Elem(), name)
		switch {
		case err != nil:
			return nil, err
		case f.kind == reflect.Map:
			b, err = unpackMap(b, f, key, list)
		default:
			b, err = unpackCells(b, cells, f.kind == reflect.Float64, i == 0)
			f.set(list, cells)
		}
		if err != nil {
			return nil, err
		}
	}
	if n > 0 && columns == 0 {
		return nil, errBroken
	}
	return b, nil
}

// find returns the figure that a column holds, and its key if it is a map.
func find(row reflect.Type, name string) (f figure, key string, err error) {
	field, key, _ := strings.Cut(name, ".")
	for _, f := range figuresOf(row) {
		if f.kind != reflect.Map && f.name == name || f.kind == reflect.Map && f.name == field && field != name {
			return f, key, nil
		}
	}
	return f, "", fmt.Errorf("%v has no field %q", row, name)
}

func unpackMap(b []byte, f figure, key string, list reflect.Value) ([]byte, error) {
	has, cells := make([]uint64, list.Len()), make([]uint64, list.Len())
	b, err := unpackCells(b, has, false, true)
	if err == nil {
		b, err = unpackCells(b, cells, true, false)
	}
	if err != nil {
		return nil, err
	}
	for i := range has {
		if has[i] == 0 {
			continue
		}
		v := f.of(list.Index(i))
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(math.Float64frombits(cells[i])).Convert(v.Type().Elem()))
	}
	return b, nil
}

func unpackCells(b []byte, cells []uint64, floats, full bool) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, errBroken
	}
	form, b, n := b[0], b[1:], len(cells)
	switch {
	case form == constant && !full:
		c, b, err := cell(b, floats)
		for i := range cells {
			cells[i] = c
		}
		return b, err
	case form == dictionary && len(b) > 0:
		return fromDictionary(b, cells, floats)
	case form == singles && floats && len(b) >= 4*n:
		for i := range cells {
			cells[i] = widen(binary.LittleEndian.Uint32(b[4*i:]))
		}
		return b[4*n:], nil
	case form == doubles && floats && len(b) >= 8*n:
		for i := range cells {
			cells[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		return b[8*n:], nil
	case form == steps && !floats:
		before := uint64(0)
		for i := range cells {
			step, k := binary.Varint(b)
			if k <= 0 {
				return nil, errBroken
			}
			before += uint64(step)
			cells[i], b = before, b[k:]
		}
		return b, nil
	}
	return nil, errBroken
}

func fromDictionary(b []byte, cells []uint64, floats bool) (rest []byte, err error) {
	words, b := make([]uint64, int(b[0])+1), b[1:]
	for i := range words {
		if words[i], b, err = cell(b, floats); err != nil {
			return nil, err
		}
	}
	if len(b) < len(cells) {
		return nil, errBroken
	}
	for i := range cells {
		if int(b[i]) >= len(words) {
			return nil, errBroken
		}
		cells[i] = words[b[i]]
	}
	return b[len(cells):], nil
}

func cell(b []byte, float bool) (c uint64, rest []byte, err error) {
	if float {
		if len(b) < 8 {
			return 0, nil, errBroken
		}
		return binary.LittleEndian.Uint64(b), b[8:], nil
	}
	v, n := binary.Varint(b)
	if n <= 0 {
		return 0, nil, errBroken
	}
	return uint64(v), b[n:], nil
}

// count reads a number of things that take at least a byte each.
func count(b []byte) (n int, rest []byte, err error) {
	v, k := binary.Uvarint(b)
	if k <= 0 || v > uint64(len(b)) {
		return 0, nil, errBroken
	}
	return int(v), b[k:], nil
}

func nameOf(b []byte) (name string, rest []byte, err error) {
	n, b, err := count(b)
	if err != nil || n > len(b) {
		return "", nil, errBroken
	}
	return string(b[:n]), b[n:], nil
}

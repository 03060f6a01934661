package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"fmt"
	"io"
	"reflect"
	"strings"

	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/rows"
	"fedkit.example/fedkit/internal/tree"
)

// States are pointers to the States of a strategy and of those that it wraps.
type States []any

// Savable refuses State types that gob does not save completely; path is that of the State.
func Savable(path string, state reflect.Type) error {
	return tree.Types(state, func(n tree.Node) error {
		t, at := n.Type, path+n.Path
		switch k := t.Kind(); {
		case n.Hidden() && n.Field.Name != "_":
			return fault.Invalid(at, "unexported", "exported, or encoding/gob leaves it out of the checkpoint")
		case tree.SavesItself(t):
			return tree.Skip
		case k == reflect.Func, k == reflect.Chan, k == reflect.Interface, k == reflect.UnsafePointer:
			return fault.Invalid(at, t, "of a type that encoding/gob saves whole: no function, channel or interface")
		case k == reflect.Pointer && t.Elem().Kind() != reflect.Struct && !tree.SavesItself(t.Elem()):
			return fault.Invalid(at, t, "no pointer: encoding/gob does not tell one to 0 from nil")
		}
		return nil
	})
}

// Copy returns copies that the next round does not change. Matrices are immutable and shared, so this is fast. A State with a cycle is refused: gob would not terminate.
func (s States) Copy() (copies States, err error) {
	defer func() {
		if err != nil {
			copies, err = nil, fmt.Errorf("the strategy's State cannot be saved: %w", err)
		}
	}()
	defer fault.Recovered("its own method", &err)
	for _, state := range s {
		v := reflect.ValueOf(state).Elem()
		if path, found := tree.Cycle(v); found {
			return nil, fault.Invalid("State"+path, "what holds it", "a value that holds neither itself nor more than 100,000 others, one in the other")
		}
		c := reflect.New(v.Type())
		c.Elem().Set(v)
		if err := tree.Own(c.Elem(), shares, own); err != nil {
			return nil, err
		}
		copies = append(copies, c.Interface())
	}
	return copies, nil
}

// shares reports whether values of a type share mutable memory with their shallow copies.
var shares = tree.Holds(func(n tree.Node) error {
	switch k := n.Type.Kind(); {
	case isMatrix(n.Type):
		return tree.Skip
	case k == reflect.Pointer, k == reflect.Slice, k == reflect.Map:
		return tree.Stop
	}
	return nil
})

func isMatrix(t reflect.Type) bool {
	return t == reflect.TypeFor[rows.Matrix]() || t == reflect.TypeFor[*rows.Matrix]()
}

// own copies values that save themselves by encoding and decoding them, and refuses what gob would lose.
func own(n tree.Node) error {
	switch t := n.Type; {
	case tree.SavesItself(t):
		p := reflect.New(t) // gob needs an address, which map values lack
		p.Elem().Set(n.Value)
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).EncodeValue(p); err != nil {
			return err
		}
		n.Value.SetZero()
		return cmp.Or(gob.NewDecoder(&b).DecodeValue(n.Value.Addr()), tree.Skip)
	case t.Kind() == reflect.Struct:
		for f := range t.Fields() {
			if !f.IsExported() && f.Name != "_" {
				return fault.Invalid(cmp.Or(t.Name(), "State")+"."+f.Name, "unexported", "exported")
			}
		}
	}
	return nil
}

// Restore sets the States to their copies.
func (s States) Restore(copies States) {
	for i, c := range copies {
		reflect.ValueOf(s[i]).Elem().Set(reflect.ValueOf(c).Elem())
	}
}

// Settle materializes every matrix in the States. It returns the bytes of all matrices and of all slices of numbers, or the error
// of a failed matrix and its path. Sums over pieces round differently, so when pieces are joined must not depend on their first
// reader.
func (s States) Settle() (size int64, err error) {
	path, err := tree.Walk(reflect.ValueOf([]any(s)), mayHold, func(n tree.Node) error {
		t := n.Type
		switch {
		case t.Kind() == reflect.Slice && isNumeric(t.Elem()):
			size += int64(n.Value.Len()) * int64(t.Elem().Size()) // counted each time if shared: a checkpoint has copies
			return tree.Skip
		case t != reflect.TypeFor[*rows.Matrix]():
			return nil
		case n.Again || n.Value.IsNil():
			return tree.Skip
		}
		m := (*rows.Matrix)(n.Value.UnsafePointer()) // works for unexported fields too
		size += 4 * int64(m.Rows()) * int64(m.Cols())
		_, err := rows.Tensor(m)
		return cmp.Or(err, tree.Skip)
	})
	if err != nil {
		_, path, _ = strings.Cut(path, "]") // without the index of the State
		return 0, fmt.Errorf("%s: %w", "State"+path, err)
	}
	return size, nil
}

// mayHold reports whether a value of a type can lead to a matrix or a slice of numbers.
var mayHold = tree.Holds(func(n tree.Node) error {
	t := n.Type
	if k := t.Kind(); k == reflect.Interface || t == reflect.TypeFor[*rows.Matrix]() || k == reflect.Slice && isNumeric(t.Elem()) {
		return tree.Stop
	}
	return nil
})

// isNumeric reports whether values of a type are numbers, or arrays of numbers.
func isNumeric(t reflect.Type) bool {
	k := t.Kind()
	return reflect.Int <= k && k <= reflect.Complex128 && k != reflect.Uintptr || k == reflect.Array && isNumeric(t.Elem())
}

// Encode writes the States.
func (s States) Encode(w io.Writer) error {
	e := gob.NewEncoder(w)
	for _, state := range s {
		if err := e.Encode(state); err != nil {
			return fmt.Errorf("the strategy's State cannot be saved: %w", err)
		}
	}
	return nil
}

// decode sets the States to what Encode wrote.
func (s States) decode(b []byte) (err error) {
	defer fault.Recovered("the strategy's State", &err) // gob decodes untrusted bytes
	d := gob.NewDecoder(bytes.NewReader(b))
	for _, state := range s {
		reflect.ValueOf(state).Elem().SetZero() // gob omits zero values
		if err := d.Decode(state); err != nil {
			return fmt.Errorf("the strategy's State: %w", err)
		}
	}
	return nil
}

package fedkit

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"fmt"
	"reflect"

	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/tree"
)

// copyStates returns the addresses of copies of States, which the next round does not change. Matrices never change, and
// are shared: so this is fast, and what is large can be written while the next round runs. A State with a cycle has no copy, and
// gob would not come to an end with it.
func copyStates(states []any) (copies []any, err error) {
	defer func() {
		if err != nil {
			copies, err = nil, fmt.Errorf("the strategy's State cannot be saved: %w", err)
		}
	}()
	defer fault.Recovered("its own method", &err)
	for _, state := range states {
		p := reflect.ValueOf(state)
		if path, found := tree.Cycle(p.Elem()); found {
			return nil, Invalid("State"+path, "what holds it", "a value that holds neither itself nor more than 100,000 others, one in the other")
		}
		q := reflect.New(p.Type().Elem())
		if err := copyInto(q.Elem(), p.Elem()); err != nil {
			return nil, err
		}
		copies = append(copies, q.Interface())
	}
	return copies, nil
}

// copyInto sets to, which is zero, to a copy of v, of a type that checkSaved allows.
func copyInto(to, v reflect.Value) (err error) {
	t := v.Type()
	switch k := t.Kind(); {
	case !shares(t):
		to.Set(v)
	case tree.SavesItself(t):
		err = copySelf(to, v)
	case v.IsZero():
	case k == reflect.Pointer:
		to.Set(reflect.New(t.Elem()))
		err = copyInto(to.Elem(), v.Elem())
	case k == reflect.Struct:
		for i := 0; i < t.NumField() && err == nil; i++ {
			if t.Field(i).IsExported() {
				err = copyInto(to.Field(i), v.Field(i))
			} else if t.Field(i).Name != "_" { // it would be lost
				err = Invalid(cmp.Or(t.Name(), "State")+"."+t.Field(i).Name, "unexported", "exported")
			}
		}
	case k == reflect.Slice:
		to.Set(reflect.MakeSlice(t, v.Len(), v.Len()))
		err = copyElements(to, v)
	case k == reflect.Array:
		err = copyElements(to, v)
	case k == reflect.Map:
		to.Set(reflect.MakeMapWithSize(t, v.Len()))
		err = copyMap(to, v)
	}
	return err
}

func copyElements(to, v reflect.Value) error {
	if !shares(v.Type().Elem()) {
		reflect.Copy(to, v)
		return nil
	}
	for i := range v.Len() {
		if err := copyInto(to.Index(i), v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func copyMap(to, v reflect.Value) error {
	for key, value := range v.Seq2() {
		k, e := reflect.New(key.Type()).Elem(), reflect.New(value.Type()).Elem()
		if err := cmp.Or(copyInto(k, key), copyInto(e, value)); err != nil {
			return err
		}
		to.SetMapIndex(k, e)
	}
	return nil
}

// copySelf copies what saves itself as a checkpoint does.
func copySelf(to, v reflect.Value) error {
	p := reflect.New(v.Type()) // gob wants an address, which the values of a map have not
	p.Elem().Set(v)
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).EncodeValue(p); err != nil {
		return err
	}
	return gob.NewDecoder(&b).DecodeValue(to.Addr())
}

// shares says whether a value of a type shares memory that may change with its copies.
func shares(t reflect.Type) bool {
	if t == reflect.TypeFor[Matrix]() || t == reflect.TypeFor[*Matrix]() {
		return false
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return true
	case reflect.Array:
		return shares(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if shares(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

package fedkit

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

// settleState looks at every matrix that a State keeps. It returns their bytes, and the error of one that failed, and where
// it is. It puts together those in pieces, whose sums are rounded otherwise: when that happens must not depend on who looks at
// them first.
func settleState(states []any) (bytes int64, err error) {
	seen := map[any]bool{}
	for _, state := range states {
		if path, err := settleIn(reflect.ValueOf(state).Elem(), seen); err != nil {
			return 0, fmt.Errorf("%s: %w", "State"+path, err)
		}
	}
	for at := range seen {
		if at := at.([2]any); at[0] == reflect.TypeFor[*Matrix]() {
			m := (*Matrix)(at[1].(unsafe.Pointer))
			bytes += 4 * int64(m.rows) * int64(m.cols)
		}
	}
	return bytes, nil
}

// settleIn enters each pointer once.
func settleIn(v reflect.Value, seen map[any]bool) (path string, err error) {
	if !mayHold(v.Type()) {
		return "", nil
	}
	switch k := v.Kind(); {
	case k == reflect.Pointer && !v.IsNil():
		at := [2]any{v.Type(), v.UnsafePointer()}
		if seen[at] {
			return "", nil
		}
		seen[at] = true
		if v.Type() == reflect.TypeFor[*Matrix]() {
			_, err = (*Matrix)(v.UnsafePointer()).tensor()
			return "", err
		}
		return settleIn(v.Elem(), seen)
	case k == reflect.Interface && !v.IsNil():
		return settleIn(v.Elem(), seen)
	case k == reflect.Struct:
		for f, in := range v.Fields() {
			if path, err = settleIn(in, seen); err != nil {
				return "." + f.Name + path, err
			}
		}
	case k == reflect.Slice, k == reflect.Array, k == reflect.Map:
		for key, in := range v.Seq2() {
			if path, err = settleIn(in, seen); err != nil {
				return fmt.Sprintf("[%v]%s", key, path), err
			}
		}
	}
	return path, err
}

// mayHold says whether a value of a type can lead to a matrix: most cannot, and there may be millions of them.
func mayHold(t reflect.Type) bool {
	known, ok := leads.Load(t)
	if !ok {
		known, _ = leads.LoadOrStore(t, leadsToMatrix(t, map[reflect.Type]bool{}))
	}
	return known.(bool)
}

var leads sync.Map // by type

func leadsToMatrix(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer:
		return t == reflect.TypeFor[*Matrix]() || leadsToMatrix(t.Elem(), seen)
	case reflect.Slice, reflect.Array, reflect.Map:
		return leadsToMatrix(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if leadsToMatrix(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

package config

import (
	"math"
	"reflect"
	"strconv"
	"sync"
)

// Zero stands for 0 itself in options whose zero value stands for a default.
const Zero = math.SmallestNonzeroFloat64

// Defaults returns v with the defaults of its options, which are the numbers in the tags of its fields:
//
//	Beta float64 `range:"[0,1)" default:"0.9"` // β
//
// Each such field of v, or of a struct that v embeds, becomes that number if it is 0, and 0 if it is Zero. Everything else stays as
// it is: a default in words, such as "all clients", is for readers, and a value that is not a struct has none.
//
// Defaults are filled in once, where the options are used: a second time, a Zero that became 0 would become the default.
func Defaults[T any](v T) T {
	t := reflect.TypeFor[T]()
	known, ok := defaults.Load(t)
	if !ok {
		known, _ = defaults.LoadOrStore(t, defaultsOf(t))
	}
	if all := known.([]option); len(all) > 0 {
		filled := reflect.ValueOf(&v).Elem()
		for _, f := range all {
			fill(filled.FieldByIndex(f.index), f.usual)
		}
	}
	return v
}

// defaults caches defaultsOf.
var defaults sync.Map

// option is a field with a number as its default.
type option struct {
	index []int
	usual float64
}

// defaultsOf returns the fields of a type to fill, those of embedded structs included.
func defaultsOf(t reflect.Type) (all []option) {
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		f := t.Field(i)
		if usual, ok := usual(f); ok {
			all = append(all, option{f.Index, usual})
		}
		if f.Anonymous && f.Name != "State" {
			for _, in := range defaultsOf(f.Type) {
				all = append(all, option{append(f.Index, in.index...), in.usual})
			}
		}
	}
	return all
}

// usual returns the number in a field's tag, if there is one.
func usual(f reflect.StructField) (float64, bool) {
	k := f.Type.Kind()
	if text := f.Tag.Get("default"); text != "" && f.IsExported() && k >= reflect.Int && k <= reflect.Float64 {
		v, err := strconv.ParseFloat(text, 64)
		return v, err == nil
	}
	return 0, false
}

// Fill does to the value of one field what Defaults does.
func Fill(f reflect.StructField, v reflect.Value) {
	if usual, ok := usual(f); ok && v.CanSet() {
		fill(v, usual)
	}
}

// fill sets v to its default if it is 0, and to 0 if it is Zero.
func fill(v reflect.Value, usual float64) {
	switch {
	case v.CanFloat() && v.Float() == Zero:
		v.SetZero()
	case !v.IsZero():
	case v.CanFloat():
		v.SetFloat(usual)
	case v.CanInt():
		v.SetInt(int64(usual))
	default:
		v.SetUint(uint64(usual))
	}
}

package config

import (
	"math"
	"reflect"
	"strconv"
)

// Zero stands for 0 itself in options whose zero value stands for a default.
const Zero = math.SmallestNonzeroFloat64

// Defaults returns v with the defaults of its options, which are the numbers in the tags of its fields: see fedkit.Defaults.
func Defaults[T any](v T) T {
	fillIn(reflect.ValueOf(&v).Elem())
	return v
}

func fillIn(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for f, in := range v.Fields() {
		if Fill(f, in); f.Anonymous && f.Name != "State" {
			fillIn(in)
		}
	}
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
	usual, ok := usual(f)
	switch {
	case !ok || !v.CanSet():
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

package fedtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit"
)

// option is a field with a range, at any depth of structs.
type option struct {
	path          string
	index         []int
	limits, usual string
}

func optionsOf(t reflect.Type) (all []option) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Name == "State" || f.Anonymous || !f.IsExported() {
			continue
		}
		if limits, tagged := f.Tag.Lookup("range"); tagged {
			all = append(all, option{f.Name, f.Index, limits, f.Tag.Get("default")})
		}
		if f.Type.Kind() == reflect.Struct {
			for _, inner := range optionsOf(f.Type) {
				inner.path, inner.index = f.Name+"."+inner.path, append(slices.Clone(f.Index), inner.index...)
				all = append(all, inner)
			}
		}
	}
	return all
}

// with returns a fresh copy of the strategy with another value for the option.
func (o option) with(s fedkit.Strategy, value float64) fedkit.Strategy {
	s = fresh(s)
	f := reflect.ValueOf(s).Elem().FieldByIndex(o.index)
	if f.CanInt() {
		f.SetInt(int64(value))
	} else {
		f.SetFloat(value)
	}
	return s
}

// below returns a negative number below the range.
func (o option) below() float64 {
	least, _, _ := strings.Cut(strings.TrimLeft(o.limits, "[("), ",")
	lo, _ := strconv.ParseFloat(least, 64)
	return min(-1, math.Floor(lo)-1)
}

// ranges tries a value below each range, and NaN.
func (c Suite) ranges(s fedkit.Strategy) error {
	fed, err := c.federation()
	if err != nil {
		return err
	}
	t := reflect.TypeOf(s).Elem()
	options := optionsOf(t)
	if f, ok := t.FieldByName("Fraction"); ok && f.Type.Kind() == reflect.Float64 {
		options = append(options, option{path: "Fraction", index: f.Index})
	}
	for _, o := range options {
		bad := []float64{o.below()}
		if t.FieldByIndex(o.index).Type.Kind() == reflect.Float64 {
			bad = append(bad, math.NaN())
		}
		for _, v := range bad {
			h, err := fedkit.Run(context.Background(), fed, o.with(s, v), fedkit.Options{Rounds: 1})
			if h != nil || !errors.Is(err, fedkit.ErrInvalid) || !strings.Contains(err.Error(), o.path+" = ") {
				return fmt.Errorf("%s = %v: error %v, want one that names the option, before anything runs", o.path, v, err)
			}
		}
	}
	return nil
}

// defaults runs the strategy with each option at 0 and at the default of its tag.
func (c Suite) defaults(s fedkit.Strategy) error {
	fed, err := c.federation()
	if err != nil {
		return err
	}
	for _, o := range optionsOf(reflect.TypeOf(s).Elem()) {
		usual, err := strconv.ParseFloat(o.usual, 64)
		holder := reflect.ValueOf(s).Elem().FieldByIndex(o.index[:len(o.index)-1])
		if holder.Type() == reflect.TypeFor[fedkit.Local]() && holder.FieldByName("Steps").Int() > 0 && o.usual == "1" {
			continue // Epochs, which Steps are instead of
		}
		if err != nil || len(o.index) > 1 && holder.IsZero() {
			continue // in words, or part of a default as a whole
		}
		var first []byte
		for _, v := range []float64{0, usual} {
			s := o.with(s, v)
			h, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 3, EvalEvery: 3, Seed: 1})
			if err != nil {
				return fmt.Errorf("%s = %v: %w", o.path, v, err)
			}
			b, err := Outcome(s, h)
			if err != nil {
				return err
			}
			if first != nil && !bytes.Equal(first, b) {
				return fmt.Errorf("%s: 0 is not the default of %s", o.path, o.usual)
			}
			first = b
		}
	}
	return nil
}

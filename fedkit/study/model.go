package study

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
)

// Model is the model of a World: a function and its arguments, so that runs are found by them. Make it with Of.
type Model struct {
	key       string
	make      func() (fedkit.Model, error)
	of        any // what Of was given
	arguments []any
}

// Of describes a model by the function that makes it and the function's arguments: numbers, texts, lists, structs, or other models. Or f
// is a fedkit.Model itself, without arguments. Nothing is called before a run needs the model.
//
//	study.Of(model.MLP, 200, 200)
//	study.Of(model.UniformInit, study.Of(model.LeNet))
//	study.Of(weights.Pretrained.Model, weights.Pretrained{Path: "start.safetensors"}, study.Of(model.LeNet))
//
// World.Federation reports a function without a name, such as a closure, and arguments that do not suit it.
func Of(f any, arguments ...any) Model {
	name, named := config.Of(f).At("func")
	words := make([]string, len(arguments))
	for i, a := range arguments {
		words[i] = word(a)
	}
	made := func() (fedkit.Model, error) {
		if !named {
			return nil, fedkit.Invalid("World.Model", fmt.Sprintf("%T", f), "study.Of a function with a name: runs are found by it")
		}
		if m, is := f.(func(*datasets.Dataset) (*fedkit.Task, error)); is && len(arguments) == 0 {
			return m, nil
		}
		return call(name, reflect.ValueOf(f), arguments)
	}
	return Model{name + "(" + strings.Join(words, ", ") + ")", made, f, arguments}
}

// Key is the call: "model.MLP(200, 200)".
func (m Model) Key() string { return m.key }

// word is an argument in words.
func word(a any) string {
	switch v := reflect.ValueOf(a); {
	case v.Kind() == reflect.String:
		return strconv.Quote(v.String())
	case v.CanInt(), v.CanUint(), v.CanFloat(), v.Kind() == reflect.Bool, a == nil:
		return fmt.Sprint(a)
	}
	if m, is := a.(Model); is {
		return m.key
	}
	return config.Of(a).String()
}

// call calls a function that returns a model.
func call(name string, f reflect.Value, arguments []any) (fedkit.Model, error) {
	t := f.Type()
	if t.NumOut() != 1 || !t.Out(0).ConvertibleTo(reflect.TypeFor[fedkit.Model]()) {
		return nil, fedkit.Invalid("World.Model", name, "a function that returns a fedkit.Model")
	}
	if n := t.NumIn(); len(arguments) != n && (!t.IsVariadic() || len(arguments) < n-1) {
		return nil, fedkit.Invalid("World.Model", fmt.Sprintf("%s with %d arguments", name, len(arguments)), fmt.Sprintf("%d, as in %v", n, t))
	}
	in := make([]reflect.Value, len(arguments))
	for i, a := range arguments {
		to := t.In(min(i, t.NumIn()-1))
		if t.IsVariadic() && i >= t.NumIn()-1 {
			to = to.Elem()
		}
		if m, is := a.(Model); is {
			made, err := m.make()
			if err != nil {
				return nil, err
			}
			a = made
		}
		v := reflect.ValueOf(a)
		switch {
		case a == nil && !to.Comparable():
			v = reflect.Zero(to)
		case a != nil && (v.Type().AssignableTo(to) || v.CanInt() && to.Kind() == reflect.Float64 || v.Kind() == reflect.Func && v.CanConvert(to)):
			v = v.Convert(to)
		default:
			return nil, fedkit.Invalid("World.Model", fmt.Sprintf("%s with a %T as argument %d", name, arguments[i], i+1), fmt.Sprintf("a %v", to))
		}
		in[i] = v
	}
	return f.Call(in)[0].Convert(reflect.TypeFor[fedkit.Model]()).Interface().(fedkit.Model), nil
}

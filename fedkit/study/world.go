package study

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/sim"
)

// World is everything a federation is made of. Nothing is loaded before a run needs it.
type World struct {
	Data      Data           // examples
	Partition partition.Rule // deals them to clients
	Model     Model          // to train: study.Of(model.MLP, 200)
	HoldOut   HeldOut        // hold-out clients; default none
	Devices   sim.Rule       // simulated devices of clients; default: a run without a clock
	Attack    Attackers      // malicious clients; default none

	files map[string]string // SHA-256 of the files that it names, by path: see Trial.reading
	code  string            // hash of the code of your own components; "" for fedkit's
}

// Data is a data set that is loaded or made when it is needed, such as datasets.Name("mnist") or a datasets.CSV.
type Data interface {
	Make() (*datasets.Dataset, error) // loads it, or makes it
}

// HeldOut are hold-out clients, which never take part and are only evaluated: see fedkit.Federation.HoldOut.
type HeldOut struct {
	Clients int    // how many
	Seed    uint64 // draws them
}

// Attackers are a share of the clients, drawn by a seed: see attack.Apply.
type Attackers struct {
	By    attack.Attack // what they do
	Share float64       // of the clients, in (0, 1]
	Seed  uint64        // draws them
}

// Federation loads the data and deals them to the clients.
//
// Errors: a field that is missing or wrong, by its name; data that cannot be loaded.
func (w World) Federation() (*fedkit.Federation, error) {
	for _, s := range []struct {
		field, such string
		missing     bool
	}{
		{"World.Data", `datasets.Name("digits")`, w.Data == nil}, {"World.Partition", "partition.IID{Clients: 20}", w.Partition == nil},
		{"World.Model", "study.Of(model.MLP, 64)", w.Model.of == nil},
		{"World.Attack.By", "attack.SignFlip{}", w.Attack.By == nil && (w.Attack.Share != 0 || w.Attack.Seed != 0)},
	} {
		if s.missing {
			return nil, fedkit.Invalid(s.field, "nothing", "given, such as "+s.such)
		}
	}
	build, err := w.Model.make()
	if err != nil {
		return nil, err
	}
	data, err := w.Data.Make()
	if err != nil {
		return nil, err
	}
	fed, err := fedkit.New(data, w.Partition, build)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fedkit.ErrInvalid, err)
	}
	if w.HoldOut != (HeldOut{}) {
		if fed, err = fed.HoldOut(w.HoldOut.Clients, w.HoldOut.Seed); err != nil {
			return nil, err
		}
	}
	if w.Devices != nil {
		if fed, err = fed.WithDevices(w.Devices); err != nil {
			return nil, err
		}
	}
	if w.Attack.By == nil {
		return fed, nil
	}
	return attack.Apply(fed, w.Attack.Share, w.Attack.By, w.Attack.Seed)
}

// Model is the model of a World: a function and its arguments, so that runs are found by them. Make it with Of.
type Model struct {
	of        any
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
func Of(f any, arguments ...any) Model { return Model{f, arguments} }

// Key is the call: "model.MLP(200, 200)".
func (m Model) Key() string {
	if m.of == nil {
		return ""
	}
	name, _ := config.Of(m.of).At("func")
	words := make([]string, len(m.arguments))
	for i, a := range m.arguments {
		words[i] = word(a)
	}
	return name + "(" + strings.Join(words, ", ") + ")"
}

// word is an argument in words.
func word(a any) string {
	switch v := reflect.ValueOf(a); {
	case v.Kind() == reflect.String:
		return strconv.Quote(v.String())
	case v.CanInt(), v.CanUint(), v.CanFloat(), v.Kind() == reflect.Bool, a == nil:
		return fmt.Sprint(a)
	}
	if m, is := a.(Model); is {
		return m.Key()
	}
	return config.Of(a).String()
}

// make calls the function.
func (m Model) make() (fedkit.Model, error) {
	name, named := config.Of(m.of).At("func")
	if !named {
		return nil, fedkit.Invalid("World.Model", fmt.Sprintf("%T", m.of), "study.Of a function with a name: runs are found by it")
	}
	if made, is := m.of.(func(*datasets.Dataset) (*fedkit.Task, error)); is && len(m.arguments) == 0 {
		return made, nil
	}
	f, arguments := reflect.ValueOf(m.of), m.arguments
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

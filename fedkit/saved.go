package fedkit

import (
	"fmt"
	"reflect"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/checkpoint"
	"fedkit.example/fedkit/internal/fault"
)

// checkStates refuses a strategy if a checkpoint would lose part of its State, or of those it wraps.
func checkStates(all []Strategy) error {
	err := config.Walk(all[0], func(path string, part any) error {
		if isStrategyType(reflect.TypeOf(part)) && path != "" && !isOneOf(all, part) {
			return Invalid(path, fmt.Sprintf("%T", part), "returned by a method Unwrap() fedkit.Strategy, so that "+saved)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return config.Walk(all[0], func(path string, part any) error {
		if s, ok := part.(Strategy); ok {
			return fault.Within(path, checkState(s))
		}
		return nil
	})
}

// saved ends the errors about States.
const saved = "Options.Checkpoint can save its State"

func checkState(s Strategy) error {
	_, wraps := s.(interface{ Unwrap() Strategy })
	v := reflect.Indirect(reflect.ValueOf(s))
	if v.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(v.Type()) {
			if !f.IsExported() && !f.Anonymous && isStrategyType(f.Type) {
				return Invalid(f.Name, "unexported", "exported and returned by a method Unwrap() fedkit.Strategy, so that "+saved)
			}
		}
	}
	state, _ := config.Field(s, "State")
	switch {
	case !state.IsValid() && !wraps:
		return Invalid("State", "missing", "an exported field with all that outlives a round (struct{} if nothing does), so that Options.Checkpoint can save it")
	case state.IsValid() && !state.CanAddr():
		return Invalid("strategy", fmt.Sprintf("%T", s), "a pointer, so that "+saved)
	}
	for _, state := range statesIn(v) {
		if err := checkpoint.Savable("State", state.Type()); err != nil {
			return err
		}
	}
	return nil
}

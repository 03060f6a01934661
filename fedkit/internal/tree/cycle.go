package tree

import (
	"errors"
	"reflect"
)

// Cycle returns the path of a cycle in a value, such as ".Head.Next", and whether there is one: encoding/gob and recursive copies
// would end the program. A value that is nested too deeply counts as one. Like gob, it skips unexported fields and values that
// save themselves.
func Cycle(v reflect.Value) (path string, found bool) {
	path, err := Walk(v, mayLoop, func(n Node) error {
		switch {
		case n.Hidden(), SavesItself(n.Type):
			return Skip
		case n.Above:
			return errCycle
		}
		return nil
	})
	return path, err != nil
}

var errCycle = errors.New("cycle")

// mayLoop reports whether values of a type can contain themselves: those of most cannot.
var mayLoop = Holds(func(n Node) error {
	switch {
	case n.Hidden(), SavesItself(n.Type):
		return Skip
	case n.Above, n.Type.Kind() == reflect.Interface:
		return Stop
	}
	return nil
})

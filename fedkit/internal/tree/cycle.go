package tree

import (
	"errors"
	"reflect"
)

// Cycle returns where a value holds what holds it, such as ".Head.Next", and whether it does anywhere: encoding/gob and recursive
// copies then end the program. A value that is too deep counts as one. Like gob, it leaves out unexported fields and what saves
// itself.
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

// mayLoop says whether values of a type can hold themselves: those of most cannot.
var mayLoop = Holds(func(n Node) error {
	switch {
	case n.Hidden(), SavesItself(n.Type):
		return Skip
	case n.Above, n.Type.Kind() == reflect.Interface:
		return Stop
	}
	return nil
})

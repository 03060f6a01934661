// Package columns gives the columns of a table their roles, and quotes their names in errors.
package columns

import (
	"fmt"
	"strconv"
	"strings"
)

// Role is the purpose of a column.
type Role int

// The roles. The values of the columns before Label make an example; a Picture has the bytes of an image.
const (
	None Role = iota
	Feature
	Picture
	Text
	Label
	Owner
	Skipped
)

// Use is a field of a reader that names columns for a role.
type Use struct {
	Field string
	Role  Role
	Names []string // empty ones name none
}

// Roles returns the role of each of all columns. Those that are used must be there, and have one use.
func Roles(all []string, uses ...Use) (map[string]Role, error) {
	roles := make(map[string]Role, len(all))
	for _, name := range all {
		roles[name] = None
	}
	for _, u := range uses {
		for _, name := range u.Names {
			switch role, known := roles[name]; {
			case name == "":
				continue
			case !known:
				return nil, fmt.Errorf("%s = %s: must be one of the columns %s", u.Field, Quote(name), List(all))
			case role != None:
				return nil, fmt.Errorf("%s = %s: must be a column without another use", u.Field, Quote(name))
			}
			roles[name] = u.Role
		}
	}
	return roles, nil
}

// List quotes names, only the first of many.
func List(names []string) string {
	const most = 8
	var words []string
	for _, name := range names[:min(len(names), most)] {
		words = append(words, Quote(name))
	}
	list := "[" + strings.Join(words, " ") + "]"
	if len(names) > most {
		return fmt.Sprintf("%s … (%d)", list, len(names))
	}
	return list
}

// Quote quotes untrusted text, only the beginning if it is long.
func Quote(words string) string {
	const most = 60
	if len(words) <= most {
		return strconv.Quote(words)
	}
	return fmt.Sprintf("%.*q… (%d bytes)", most, words, len(words))
}

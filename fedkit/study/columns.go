package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/lines"
)

// column is a quantity of rounds, by its path in the JSON of a record. A value is its JSON: a number, a string, a bool, or null if
// the record has none. That of a list of whole numbers, whose path ends with listMark, is a string: "0 0 1 -1".
type column struct {
	Path   []string          `json:"path"`
	Values []json.RawMessage `json:"values"` // of all rows
}

// columns are the quantities of a list of records.
type columns struct {
	all    []*column
	byPath map[string]*column
	rows   int
}

// listMark ends the path of a list of whole numbers.
const listMark = "[]"

// add adds a record, without its lists of anything but whole numbers.
func (cs *columns) add(r *fedkit.Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := cs.put(nil, b); err != nil {
		return err
	}
	cs.rows++
	for _, c := range cs.all {
		for len(c.Values) < cs.rows {
			c.Values = append(c.Values, nil)
		}
	}
	return nil
}

func (cs *columns) put(path []string, b json.RawMessage) error {
	switch b[0] {
	case '[':
		var list []int
		if json.Unmarshal(b, &list) != nil || len(list) == 0 {
			return nil
		}
		path, b = append(path[:len(path):len(path)], listMark), strconv.AppendQuote(nil, strings.Trim(fmt.Sprint(list), "[]"))
	case '{':
		var tree map[string]json.RawMessage
		if err := json.Unmarshal(b, &tree); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			if err := cs.put(append(path[:len(path):len(path)], name), tree[name]); err != nil {
				return err
			}
		}
		return nil
	}
	key := strings.Join(path, "\x00")
	c := cs.byPath[key]
	if c == nil {
		if cs.byPath == nil {
			cs.byPath = map[string]*column{}
		}
		c = &column{Path: path, Values: make([]json.RawMessage, cs.rows)}
		cs.byPath[key] = c
		cs.all = append(cs.all, c)
	}
	c.Values = append(c.Values, rounded(b))
	return nil
}

// rounded rounds a number to four decimals.
func rounded(b json.RawMessage) json.RawMessage {
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !bytes.ContainsAny(b, ".eE") || math.Abs(decimals*v) > 1<<53 {
		return b
	}
	return strconv.AppendFloat(nil, math.Round(decimals*v)/decimals, 'f', -1, 64)
}

// deepest limits the names of a path; real ones have far fewer.
const deepest = 10

// readColumns reads lines, one for each column.
func readColumns(text [][]byte) (*columns, error) {
	cs := &columns{all: make([]*column, len(text))}
	errs := make([]error, len(text))
	each(len(text), func(i int) {
		c := new(column)
		err := lines.Strict(text[i], c)
		if err == nil && (len(c.Path) == 0 || len(c.Path) > deepest) {
			err = errors.New("it is not a figure of rounds")
		}
		if i := slices.IndexFunc(c.Values, func(v json.RawMessage) bool { return bytes.IndexAny(v, "{[") == 0 }); err == nil && i >= 0 {
			err = fmt.Errorf("%v has the value %s", c.Path, c.Values[i])
		}
		if cs.all[i] = c; err != nil {
			errs[i] = fmt.Errorf("figure %d: %w", i+1, err)
		}
	})
	for _, c := range cs.all {
		cs.rows = max(cs.rows, len(c.Values))
	}
	return cs, errors.Join(errs...)
}

// record returns the record of a row.
func (cs *columns) record(row int) (r fedkit.Record, err error) {
	tree := map[string]any{}
	for _, c := range cs.all {
		if row >= len(c.Values) || string(c.Values[row]) == "null" {
			continue
		}
		path, into, value := c.Path, tree, any(c.Values[row])
		if path[len(path)-1] == listMark {
			if path, value = path[:len(path)-1], numbers(c.Values[row]); len(path) == 0 || value.([]int) == nil {
				return r, fmt.Errorf("%v has the value %s", c.Path, c.Values[row])
			}
		}
		for _, name := range path[:len(path)-1] {
			inner, is := into[name].(map[string]any)
			if !is {
				inner = map[string]any{}
				into[name] = inner
			}
			into = inner
		}
		into[path[len(path)-1]] = value
	}
	b, err := json.Marshal(tree)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(b, &r)
}

// numbers reads a list of whole numbers; nil for anything else.
func numbers(value json.RawMessage) (list []int) {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return nil
	}
	for word := range strings.FieldsSeq(text) {
		v, err := strconv.Atoi(word)
		if err != nil {
			return nil
		}
		list = append(list, v)
	}
	return list
}

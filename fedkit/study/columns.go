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
)

// column is a quantity of rounds, by its path in the JSON of a record.
type column struct {
	Path   []string `json:"path"`
	Scale  int64    `json:"scale,omitempty"` // 0: the numbers are whole
	Values []any    `json:"values"`

	raw []json.RawMessage // of all rows, as they were added
}

// columns are the quantities of a list of records.
type columns struct {
	all    []*column
	byPath map[string]*column
	rows   int
}

// add adds a record, whose lists are left out.
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
		for len(c.raw) < cs.rows {
			c.raw = append(c.raw, nil)
		}
	}
	return nil
}

func (cs *columns) put(path []string, b json.RawMessage) error {
	switch b[0] {
	case '[':
		return nil
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
		c = &column{Path: path, raw: make([]json.RawMessage, cs.rows)}
		cs.byPath[key] = c
		cs.all = append(cs.all, c)
	}
	c.raw = append(c.raw, b)
	return nil
}

// MarshalJSON writes the column in the form that extractSchema describes.
func (c *column) MarshalJSON() ([]byte, error) {
	type plain column // without methods
	w := plain{Path: c.Path, Values: make([]any, len(c.raw))}
	for _, b := range c.raw {
		if bytes.ContainsAny(b, ".eE") && isNumber(b) {
			w.Scale = decimals
		}
	}
	last := int64(0)
	for i, b := range c.raw {
		v, err := strconv.ParseFloat(string(b), 64)
		v *= float64(max(1, w.Scale))
		switch n := math.Round(v); {
		case b == nil:
		case err != nil || math.Abs(n) > 1<<53:
			w.Values[i] = string(b)
		default:
			w.Values[i] = int64(n) - last
			last = int64(n)
		}
	}
	return json.Marshal(w)
}

// deepest limits the names of a path; real ones have far fewer.
const deepest = 10

func isNumber(b []byte) bool { return b[0] == '-' || b[0] >= '0' && b[0] <= '9' }

// UnmarshalJSON reads what MarshalJSON writes.
func (c *column) UnmarshalJSON(b []byte) error {
	type plain column
	var p plain
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return err
	}
	if len(p.Path) == 0 || len(p.Path) > deepest || p.Scale < 0 {
		return errors.New("it is not a figure of rounds")
	}
	*c = column(p)
	c.raw = make([]json.RawMessage, len(c.Values))
	last := int64(0)
	for i, v := range c.Values {
		switch v := v.(type) {
		case nil:
		case string:
			c.raw[i] = json.RawMessage(v)
		case json.Number:
			n, err := v.Int64()
			if err != nil {
				return err
			}
			last += n
			if c.raw[i] = strconv.AppendInt(nil, last, 10); c.Scale > 0 {
				c.raw[i] = strconv.AppendFloat(nil, float64(last)/float64(c.Scale), 'g', -1, 64)
			}
		default:
			return fmt.Errorf("%v has the value %v", p.Path, v)
		}
	}
	c.Values = nil
	return nil
}

// readColumns reads lines, one for each column.
func readColumns(lines [][]byte) (*columns, error) {
	cs := &columns{all: make([]*column, len(lines))}
	errs := make([]error, len(lines))
	each(len(lines), func(i int) {
		cs.all[i] = new(column)
		if err := json.Unmarshal(lines[i], cs.all[i]); err != nil {
			errs[i] = fmt.Errorf("figure %d: %w", i+1, err)
		}
	})
	for _, c := range cs.all {
		cs.rows = max(cs.rows, len(c.raw))
	}
	return cs, errors.Join(errs...)
}

// record returns the record of a row.
func (cs *columns) record(row int) (r fedkit.Record, err error) {
	tree := map[string]any{}
	for _, c := range cs.all {
		if row >= len(c.raw) || c.raw[row] == nil {
			continue
		}
		into := tree
		for _, name := range c.Path[:len(c.Path)-1] {
			inner, is := into[name].(map[string]any)
			if !is {
				inner = map[string]any{}
				into[name] = inner
			}
			into = inner
		}
		into[c.Path[len(c.Path)-1]] = c.raw[row]
	}
	b, err := json.Marshal(tree)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(b, &r)
}

package datasets

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/datasets/internal/columns"
	"fedkit.example/datasets/room"
)

// csvFile is the content of a CSV file.
type csvFile struct {
	Rows
	names []string // of all columns
	label string   // name of the column of labels
	index bool     // the first column has pandas' row numbers
	room  room.Growing
}

// open reads a file. If names are given, its columns must have them.
func (c CSV) open(path string, names []string) (*csvFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	defer file.Close()
	t := &csvFile{names: names}
	if err := c.read(t, file); err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", path, err)
	}
	return t, nil
}

func (c CSV) read(t *csvFile, from io.Reader) error {
	unpacked, err := gunzip(from)
	if err != nil {
		return err
	}
	longest := min(longestRow, int(room.Free()/8)) // its fields are copied
	row := &rowReader{unpacked, longest, longest}
	b := bufio.NewReader(row)
	if err := isText(b, "comma-separated text"); err != nil {
		return err
	}
	if mark, _ := b.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = b.Discard(len(mark)) // Peek has buffered them
	}
	r := csv.NewReader(b)
	r.FieldsPerRecord, r.TrimLeadingSpace, r.ReuseRecord = -1, true, true
	first, err := r.Read()
	if err == io.EOF {
		return errors.New("is empty: must have a line per example")
	}
	if err != nil {
		return err
	}
	roles, err := c.columns(t, first)
	if err != nil {
		return err
	}
	if c.NoHeader {
		err = c.add(t, r, first, roles)
	}
	for err == nil {
		var fields []string
		row.left = longest
		if fields, err = r.Read(); err == nil {
			err = c.add(t, r, fields, roles)
		}
	}
	switch {
	case err != io.EOF:
		return err
	case t.Labels == nil && t.Targets == nil:
		return errors.New("has no line after its header: must have a line per example; NoHeader if the first line is one")
	}
	return nil
}

// longestRow limits the bytes of a row, which is in memory before its fields are counted. Tests lower it.
var longestRow = 1 << 26

// rowReader fails after the longest row, unless left is set again.
type rowReader struct {
	r             io.Reader
	left, longest int
}

func (l *rowReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, fmt.Errorf("has a row of more than %d MiB: must be at most as many; is a quotation mark missing?", l.longest>>20)
	}
	return n, err
}

// byteOrderMark is what some programs write first.
const byteOrderMark = "\ufeff"

// columns names the columns after the first line, and returns the role of each.
func (c CSV) columns(t *csvFile, first []string) ([]columns.Role, error) {
	names, seen := make([]string, len(first)), make(map[string]bool, len(first))
	for i, name := range first {
		names[i] = strings.TrimSpace(name)
		if c.NoHeader {
			names[i] = strconv.Itoa(i + 1)
		}
		switch {
		case names[i] == "" && i > 0:
			return nil, fmt.Errorf("column %d of the first line has no name: must have one, or NoHeader if that line is data", i+1)
		case seen[names[i]]:
			return nil, fmt.Errorf("two columns are named %s: names must differ, or NoHeader if the first line is data", columns.Quote(names[i]))
		}
		seen[names[i]] = true
	}
	if t.names != nil && !slices.Equal(names, t.names) {
		return nil, fmt.Errorf("has the columns %s: must be those of %s, %s", columns.List(names), c.File, columns.List(t.names))
	}
	t.names, t.label = names, cmp.Or(c.Label, names[len(names)-1])
	of, err := columns.Roles(names, columns.Use{Field: "Label", Role: columns.Label, Names: []string{t.label}},
		columns.Use{Field: "Owner", Role: columns.Owner, Names: []string{c.Owner}}, columns.Use{Field: "Skip", Role: columns.Skipped, Names: c.Skip})
	if err != nil {
		return nil, err
	}
	roles, features := make([]columns.Role, len(names)), []string(nil)
	words := c.NoHeader || c.Label != "" // the names are known to be names
	for i, name := range names {
		switch roles[i] = of[name]; {
		case roles[i] != columns.None:
		case i == 0 && (name == "" || name == "Unnamed: 0"):
			roles[i], t.index = columns.Skipped, true
		default:
			_, err := strconv.ParseFloat(name, 64)
			roles[i], features, words = columns.Feature, append(features, name), words || err != nil
		}
	}
	if features == nil {
		return nil, fmt.Errorf("has the columns %s, separated by commas: must have at least one with features beside them", columns.List(names))
	}
	if !words {
		return nil, fmt.Errorf("the first line has numbers for the names of features, %s: must be words; NoHeader if that line is data, Label if it is a header", columns.List(features))
	}
	return roles, nil
}

// add appends a line.
func (c CSV) add(t *csvFile, r *csv.Reader, fields []string, roles []columns.Role) error {
	line, _ := r.FieldPos(0)
	if len(fields) != len(roles) {
		return fmt.Errorf("line %d has %d fields: must have %d, as the first line has", line, len(fields), len(roles))
	}
	if len(t.Features) > maxValues-len(fields) {
		return fmt.Errorf("line %d: more than %d values: must be at most as many", line, maxValues)
	}
	size := 4 * len(fields) // in lists that grow, where words count by a quarter of their letters, which stay where they are
	for i, field := range fields {
		field = strings.TrimSpace(field)
		if err := c.addField(t, field, roles[i]); err != nil {
			line, _ := r.FieldPos(i)
			return fmt.Errorf("line %d, column %s: %w", line, columns.Quote(t.names[i]), err)
		}
		if roles[i] == columns.Owner || roles[i] == columns.Label && !c.Regression {
			size += 36 + len(field)/4
		}
	}
	if err := t.room.Add(size); err != nil {
		return fmt.Errorf("line %d: reading on %w", line, err)
	}
	return nil
}

// addField appends the value of one column.
func (c CSV) addField(t *csvFile, field string, of columns.Role) error {
	switch {
	case of == columns.Skipped:
	case of != columns.Feature && field == "":
		return errors.New("must not be empty")
	case of == columns.Owner:
		t.Owners = append(t.Owners, strings.Clone(field))
	case of == columns.Label && !c.Regression:
		if v, err := strconv.ParseFloat(field, 64); err == nil && (v != math.Trunc(v) || math.IsInf(v, 0)) {
			return fmt.Errorf("%s: must be a whole number or a word; Regression predicts numbers", columns.Quote(field))
		}
		t.Labels = append(t.Labels, strings.Clone(field))
	default:
		to, hint := &t.Features, "; Skip leaves a column out"
		if of == columns.Label {
			to, hint = &t.Targets, ", for Regression"
		}
		v, err := strconv.ParseFloat(field, 32)
		if err != nil || notFinite(float32(v)) {
			return fmt.Errorf("%s: must be a finite number%s", columns.Quote(field), hint)
		}
		*to = append(*to, float32(v))
	}
	return nil
}

// ranks numbers names by their rank among the distinct ones in ascending order, and returns how many there are. If all
// names are whole numbers, they are compared by value.
func ranks(names []string) (numbers []int32, different int) {
	if values, ok := wholeNumbers(names); ok {
		return places(values)
	}
	return places(names)
}

func places[T cmp.Ordered](names []T) (numbers []int32, different int) {
	all := slices.Clone(names)
	slices.Sort(all)
	all = slices.Compact(all)
	numbers = make([]int32, len(names))
	for i, name := range names {
		place, _ := slices.BinarySearch(all, name)
		numbers[i] = int32(place)
	}
	return numbers, len(all)
}

// wholeNumbers returns the values of names if all are whole numbers that a float64 tells apart.
func wholeNumbers(names []string) (values []float64, ok bool) {
	for _, name := range names {
		v, err := strconv.ParseFloat(name, 64)
		if err != nil || v != math.Trunc(v) || math.Abs(v) >= 1<<53 {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

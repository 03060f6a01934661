// Package parquet reads tables in Parquet as data sets, as pandas, Polars, DuckDB and Hugging Face write them.
//
// It is a package of its own because programs that link a reader of Parquet are larger and take longer to link.
package parquet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"fedkit.example/datasets"
	"fedkit.example/datasets/internal/columns"
	"fedkit.example/datasets/room"
)

// Table reads a table: one example per row, a column of labels, and numbers in all other columns.
//
//	data := must.M1(parquet.Table{File: "wine.parquet", Label: "cultivar", Standardize: true}.Make())
//
// A column of features has numbers or bools, or lists, also nested, of equally many numbers in each row. Instead, one column may have
// images in Hugging Face's form, structs {bytes, path} with the bytes of PNG or JPEG files: see datasets.Rows. Labels and owners are
// whole numbers, bools or words, and are numbered as those of datasets.Table. With Regression, labels are numbers, the targets.
// The index of pandas, which the file's metadata or the name "__index_level_0__" or "Unnamed: 0" tells, is left out unless a field
// names its column.
type Table struct {
	File        string   // this or Files is required
	Files       []string // several files with the same columns, such as shards, whose rows follow one another
	Name        string   // default: the file's, without its extension
	Label       string   // name of the column of labels; default: the last one, or none with Text
	Owner       string   // name of the column of owners; default: unknown
	Features    []string // names of the columns with features, read in the order of the file; default: that of images, else all others
	Text        string   // name of a column of texts in place of Features; without a Label, their next characters are predicted: see datasets.Rows
	Regression  bool     // labels are numbers to be predicted
	Shape       []int    // of one example; default [f], the number of features, or [height width channels] of images
	Standardize bool     // (x − mean) / standard deviation of each feature, both of the training rows
	Test        string   // a file with the same columns that has the test rows; default: a Share of the other rows is held back
	TestFiles   []string // several files with the test rows
	Share       float64  `range:"(0,1)" default:"0.2"` // of the rows to hold back, stratified by owner and label, ± 1 row
	Seed        uint64   // chooses these rows

	UnseenLabels bool // test rows may have labels that no training row has
}

// Make returns the data set: Floats, or Bytes of images, rows in the order of the files. It fails if a column is missing or is of a type
// that is not allowed, a value is missing or is not a finite float32, or an image has another size or color than the first one, and says
// where: rows count from 0, as in pandas; with images that do not fit, over all files of a part.
// Damaged files are refused too, and those that take more memory than is free.
func (t Table) Make() (*datasets.Dataset, error) {
	files, tests := t.Files, t.TestFiles
	switch {
	case t.File == "" && len(files) == 0:
		return nil, errors.New("datasets: parquet.Table: File is empty: must be the path of a file, or Files those of several")
	case t.File != "" && len(files) > 0:
		return nil, fmt.Errorf("datasets: parquet.Table: File = %s and Files = %q: must be only one of them", t.File, files)
	case t.Test != "" && len(tests) > 0:
		return nil, fmt.Errorf("datasets: parquet.Table: Test = %s and TestFiles = %q: must be only one of them", t.Test, tests)
	case t.Text != "" && (t.Features != nil || t.Regression):
		return nil, fmt.Errorf("datasets: parquet.Table: Text = %q, Features = %q, Regression = %v: must be no features and no regression with a text", t.Text, t.Features, t.Regression)
	case t.File != "":
		files = []string{t.File}
	}
	if t.Test != "" {
		tests = []string{t.Test}
	}
	if len(tests) > 0 && t.Share != 0 {
		return nil, fmt.Errorf("datasets: parquet.Table: Share = %v: must be 0 if a file has the test rows, here %s", t.Share, tests[0])
	}
	name := strings.TrimSuffix(filepath.Base(files[0]), filepath.Ext(files[0]))
	to := datasets.Table{Name: cmp.Or(t.Name, name), Shape: t.Shape, Standardize: t.Standardize, Share: t.Share, Seed: t.Seed, Source: cmp.Or(t.File, t.Name, files[0]),
		UnseenLabels: t.UnseenLabels}
	all := new(content)
	if err := t.open(all, files, files[0]); err != nil {
		return nil, err
	}
	if len(all.index) > 0 && t.Features == nil && t.Text == "" {
		fmt.Fprintf(os.Stderr, "datasets: %s: %s was left out as the index of pandas; Features, Label and Owner may name it\n", to.Source, columns.List(all.index))
	}
	if t.Label == "" && t.Text == "" {
		fmt.Fprintf(os.Stderr, "datasets: %s: the last column, %.60q, was taken for the labels; Label names another\n", to.Source, all.label)
	}
	to.Train, to.Label, all.Rows = all.Rows, all.label, datasets.Rows{}
	if err := t.open(all, tests, files[0]); err != nil {
		return nil, err
	}
	to.Test = all.Rows
	return to.Make()
}

// content is what files have.
type content struct {
	datasets.Rows
	label  string
	index  []string // columns left out as pandas' index
	names  []string // of the columns with features
	widths []int    // number of features in each
}

// open adds the rows of files, whose columns must be those of the first of all.
func (t Table) open(all *content, paths []string, first string) error {
	for i, path := range paths {
		if slices.Contains(paths[:i], path) {
			return fmt.Errorf("datasets: parquet.Table: %s is there twice: must be once, or its rows would be", path)
		}
		c := &content{Rows: all.Rows, label: cmp.Or(all.label, t.Label)}
		if err := t.read(c, path); err != nil {
			return fmt.Errorf("datasets: %w", err)
		}
		if all.names != nil && (!slices.Equal(c.names, all.names) || !slices.Equal(c.widths, all.widths)) {
			return fmt.Errorf("datasets: %s: has the features %q of widths %v: must be those of %s, %q of widths %v", path, c.names, c.widths, first, all.names, all.widths)
		}
		*all = *c
	}
	return nil
}

// read adds the rows of a file.
func (t Table) read(c *content, path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	defer func() {
		if p := recover(); p != nil { // on damaged files, the library may panic
			err = fmt.Errorf("is damaged: %.200v", p)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := checkFooter(file, info.Size()); err != nil {
		return err
	}
	f, err := parquet.OpenFile(file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("is damaged: %.200v", err)
	}
	all, err := t.columns(f, c)
	if err != nil {
		return err
	}
	need := 0.0 // of numbers, in lists that are copied while they grow
	for _, g := range f.Metadata().RowGroups {
		for i, c := range g.Columns[:min(len(all), len(g.Columns))] {
			if all[i].role == columns.Feature {
				need += 2.25 * 4 * float64(c.MetaData.NumValues)
			}
		}
	}
	if err := room.For(need); err != nil {
		return err
	}
	r := reader{content: c, columns: all, most: max(always, times*int(info.Size())), regression: t.Regression}
	for _, group := range f.RowGroups() {
		if err := r.group(group); err != nil {
			return err
		}
	}
	if r.row == 0 {
		return errors.New("has no row: must have one per example")
	}
	return nil
}

// A file may have 32 million numbers, or bytes of images, and a larger one 200 times as many as it has bytes: columns that compress better would fill
// the memory.
const always, times = 1 << 25, 200

// column is a leaf of the schema.
type column struct {
	role     columns.Role
	name     string
	unsigned bool
	width    int // index in content.widths
}

// isIndex is how pandas names columns with the index of its rows, in Parquet and when it reads CSV.
var isIndex = regexp.MustCompile(`^(__index_level_[0-9]+__|Unnamed: 0)$`)

// columns returns the columns of a file.
func (t Table) columns(f *parquet.File, c *content) ([]column, error) {
	s := f.Schema()
	paths := s.Columns()
	if len(paths) == 0 {
		return nil, errors.New("has no columns")
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = p[0]
	}
	last := t.leaveOutIndex(f, c, names)
	if t.Text == "" {
		c.label = cmp.Or(c.label, last, names[0])
	}
	roles, err := columns.Roles(names, columns.Use{Field: "Label", Role: columns.Label, Names: []string{c.label}},
		columns.Use{Field: "Text", Role: columns.Text, Names: []string{t.Text}}, columns.Use{Field: "Owner", Role: columns.Owner, Names: []string{t.Owner}},
		columns.Use{Field: "Features", Role: columns.Feature, Names: t.Features})
	if err != nil {
		return nil, err
	}
	var images []string // columns of images
	for _, path := range paths {
		name := path[0]
		if t.Features == nil && t.Text == "" && roles[name] == columns.None && !slices.Contains(c.index, name) {
			roles[name] = columns.Feature
		}
		if leaf, _ := s.Lookup(path...); roles[name] == columns.Feature && isImage(paths, path, leaf) {
			images = append(images, name)
		}
	}
	if len(images) > 1 || len(images) == 1 && len(t.Features) > 1 {
		return nil, fmt.Errorf("has the columns of images %s: Features must be one of them, or columns of numbers", columns.List(images))
	}
	all := make([]column, len(paths))
	for i, path := range paths {
		is := roles[path[0]]
		if len(images) == 1 && is == columns.Feature {
			if is = columns.None; path[0] == images[0] && path[1] == "bytes" {
				is = columns.Picture
			}
		}
		all[i] = column{role: is, name: path[0], width: len(c.names)}
		if is == columns.None {
			continue
		}
		if is < columns.Label {
			c.names, c.widths = append(c.names, path[0]), append(c.widths, 0)
		}
		if is == columns.Picture {
			continue
		}
		if i > 0 && names[i-1] == path[0] || i+1 < len(names) && names[i+1] == path[0] {
			return nil, fmt.Errorf("column %q has the parts %s: must be one value, or a list of them%s", path[0], columns.List(parts(paths, path[0])), hint(is))
		}
		leaf, _ := s.Lookup(path...)
		if err := all[i].check(leaf, t.Regression); err != nil {
			return nil, err
		}
	}
	if len(c.names) == 0 {
		return nil, fmt.Errorf("has the columns %s: must have at least one with features", columns.List(names))
	}
	return all, nil
}

// leaveOutIndex sets which columns are left out as the index of pandas, and returns the last of the others.
func (t Table) leaveOutIndex(f *parquet.File, c *content, names []string) (last string) {
	var pandas struct {
		Index []any `json:"index_columns"` // names, or ranges, which are no columns
	}
	metadata, _ := f.Lookup("pandas")
	_ = json.Unmarshal([]byte(metadata), &pandas) // none, if they are damaged
	named := slices.Concat(t.Features, []string{t.Label, t.Owner, t.Text})
	for _, name := range names {
		if !slices.Contains(pandas.Index, any(name)) && !isIndex.MatchString(name) {
			last = name
		} else if !slices.Contains(named, name) {
			c.index = append(c.index, name)
		}
	}
	return last
}

// isImage reports whether a leaf is the bytes of an image, in a struct of the parts bytes and path.
func isImage(paths [][]string, path []string, leaf parquet.LeafColumn) bool {
	if len(path) != 2 || path[1] != "bytes" || leaf.Node.Type().Kind() != parquet.ByteArray || leaf.MaxRepetitionLevel != 0 {
		return false
	}
	parts := parts(paths, path[0])
	return len(parts) == 2 && slices.Contains(parts, "path")
}

// parts are the names below a column.
func parts(paths [][]string, name string) (parts []string) {
	for _, p := range paths {
		if p[0] == name {
			parts = append(parts, strings.Join(p[1:], "."))
		}
	}
	return parts
}

// hint is how to leave out a column with features.
func hint(r columns.Role) string {
	if r == columns.Feature {
		return "; Features names those to read"
	}
	return ""
}

// check refuses a column whose values have another type than its role allows.
func (c *column) check(leaf parquet.LeafColumn, regression bool) error {
	of := leaf.Node.Type()
	number, word, fraction := false, false, of.Kind() == parquet.Float || of.Kind() == parquet.Double
	switch logical := of.LogicalType(); {
	case logical == nil || logical.Value == nil:
		number, word = of.Kind() <= parquet.Double && of.Kind() != parquet.Int96, of.Kind() == parquet.ByteArray
	default:
		switch is := logical.Value.(type) { // others are dates, times and decimal numbers
		case *format.IntType:
			number, c.unsigned = true, !is.IsSigned
		case *format.StringType, *format.EnumType:
			word = true
		}
	}
	list, must, ok := leaf.MaxRepetitionLevel > 0, "numbers or bools", number
	switch {
	case c.role == columns.Label && regression:
		ok = number && !list
	case c.role == columns.Text:
		must, ok = "words", word && !list
	case c.role != columns.Feature:
		must, ok = "whole numbers, bools or words", (number && !fraction || word) && !list
		if c.role == columns.Label && number && !list {
			must += "; Regression predicts numbers"
		}
	}
	if ok {
		return nil
	}
	what := of.String()
	if list {
		what = "lists of " + what
	}
	return fmt.Errorf("column %q has values of type %.60s: must be %s%s", c.name, what, must, hint(c.role))
}

// reader reads rows.
type reader struct {
	*content
	columns    []column
	most       int // numbers to read
	regression bool
	room       room.Growing
	row        int // of the file
	numbers    int // read, or bytes of images
	seen       []int
}

func (r *reader) group(g parquet.RowGroup) error {
	rows := g.Rows()
	defer rows.Close()
	values := int64(1)
	for _, c := range g.ColumnChunks() {
		values += c.NumValues()
	}
	buffer := make([]parquet.Row, max(1, min(64, g.NumRows()<<20/values))) // fewer long rows at a time
	for {
		n, err := rows.ReadRows(buffer)
		for _, row := range buffer[:n] {
			if err := r.add(row); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("is damaged after row %d: %.200v", r.row, err)
		case n == 0:
			return errors.New("is damaged: a group ends before its last row")
		}
	}
}

// add appends a row.
func (r *reader) add(row parquet.Row) error {
	if r.numbers > r.most-len(row) {
		return fmt.Errorf("row %d: more than %d numbers, or bytes of images: must be at most as many; split the file", r.row, r.most)
	}
	size := 0 // in lists that grow, where words count by a quarter of their letters, which stay where they are
	r.seen = append(r.seen[:0], make([]int, len(r.widths))...)
	for _, v := range row {
		c := &r.columns[v.Column()]
		if c.role == columns.None {
			continue
		}
		if v.IsNull() {
			return fmt.Errorf("row %d, column %q: the value is missing: must be there", r.row, c.name)
		}
		var word []byte
		if v.Kind() == parquet.ByteArray {
			word = v.ByteArray()
		}
		switch {
		case c.role == columns.Text:
			r.Texts = append(r.Texts, string(word))
			r.numbers += len(word) + 80 // of which windows are made
			size += 9 * len(word)       // with windows and their labels
		case c.role == columns.Picture:
			r.Images = append(r.Images, slices.Clone(word))
			r.numbers += len(word) + 32 // a slice, and its place
			size += 32 + len(word)/4
		case c.role == columns.Owner:
			r.Owners = append(r.Owners, c.word(v))
			size += 40 + len(word)/4 // in several lists while they are numbered
		case c.role == columns.Label && !r.regression:
			r.Labels = append(r.Labels, c.word(v))
			size += 40 + len(word)/4
		default:
			x := c.number(v)
			if y := float32(x); y-y != 0 {
				return fmt.Errorf("row %d, column %q: %v: must be a finite float32%s", r.row, c.name, x, hint(c.role))
			} else if c.role == columns.Label {
				r.Targets = append(r.Targets, y)
			} else {
				r.Rows.Features = append(r.Rows.Features, y)
				r.numbers++
			}
			size += 4
		}
		if c.role < columns.Label {
			r.seen[c.width]++
		}
	}
	if err := r.room.Add(size); err != nil {
		return fmt.Errorf("row %d: reading on %w", r.row, err)
	}
	if r.row == 0 {
		copy(r.widths, r.seen)
	}
	for i, n := range r.seen {
		if n != r.widths[i] {
			return fmt.Errorf("row %d, column %q: a list of %d values: must have %d, as in row 0", r.row, r.names[i], n, r.widths[i])
		}
	}
	r.row++
	return nil
}

// number returns a value as a number; NaN if it is none.
func (c *column) number(v parquet.Value) float64 {
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return 1
		}
		return 0
	case parquet.Int32:
		if c.unsigned {
			return float64(v.Uint32())
		}
		return float64(v.Int32())
	case parquet.Int64:
		if c.unsigned {
			return float64(v.Uint64())
		}
		return float64(v.Int64())
	case parquet.Float:
		return float64(v.Float())
	case parquet.Double:
		return v.Double()
	}
	return math.NaN()
}

// word returns a value as a word.
func (c *column) word(v parquet.Value) string {
	switch {
	case c.unsigned && v.Kind() == parquet.Int32:
		return strconv.FormatUint(uint64(v.Uint32()), 10)
	case c.unsigned:
		return strconv.FormatUint(v.Uint64(), 10)
	}
	return v.String()
}

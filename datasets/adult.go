package datasets

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Adult is UCI's census income data: does a person earn more than 50,000 dollars a year (1) or not (0)? It has 32,561
// training and 16,281 test rows, Shape [108], Floats: first the 6 columns with numbers, (x − mean) / standard deviation
// of the training rows, then the 8 columns with words, 1 for the row's value and 0 for each other value that occurs in
// training, in alphabetical order. A ? for an unknown value is a value too, so that no row is left out. Rows are in the
// official order.
//
// The files adult.data and adult.test, gzipped or not, are found as Loader describes, in the folder adult; a download
// takes 6 MB. UCI publishes no checksum: their content must be the one whose SHA-256 many programs that use them give.
//
// Source: B. Becker, R. Kohavi, Adult, UCI Machine Learning Repository, 1996; R. Kohavi, Scaling up the accuracy of
// naive-Bayes classifiers: a decision-tree hybrid, 1996. Clients by education are from M. Mohri, G. Sivek, A. T. Suresh,
// Agnostic Federated Learning, 2019 (arXiv 1902.00146).
type Adult struct {
	Owner string // column with words whose values are the owners, such as "education"; it stays a feature; default: owners are unknown
}

// Make returns the data set, or an error for another Owner or a file that is missing or not the published one.
func (a Adult) Make() (*Dataset, error) {
	return new(Loader).Adult(context.Background(), a)
}

// Adult is the method Make with the loader's settings; ctx can stop a download.
func (l *Loader) Adult(ctx context.Context, a Adult) (*Dataset, error) {
	return l.loadAdult(ctx, a, adult())
}

// adultFile is one published file.
type adultFile struct {
	name   string
	sha256 string // of the uncompressed content
	size   int64  // of it, in bytes
}

func adult() []adultFile {
	return []adultFile{
		{"adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d", 3974305},
		{"adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05", 2003153},
	}
}

// adultColumns are the columns but the last, which is the label. Those with words have true.
var adultColumns = []struct {
	name  string
	words bool
}{
	{"age", false}, {"workclass", true}, {"fnlwgt", false}, {"education", true}, {"education-num", false}, {"marital-status", true},
	{"occupation", true}, {"relationship", true}, {"race", true}, {"sex", true}, {"capital-gain", false}, {"capital-loss", false},
	{"hours-per-week", false}, {"native-country", true},
}

func (l *Loader) loadAdult(ctx context.Context, a Adult, files []adultFile) (*Dataset, error) {
	owner, named := -1, []string{}
	for i, c := range adultColumns {
		if c.words {
			named = append(named, c.name)
			if c.name == a.Owner {
				owner = i
			}
		}
	}
	if a.Owner != "" && owner < 0 {
		return nil, fmt.Errorf("datasets: Adult: Owner = %s: must be empty or one of %s", quoted(a.Owner), strings.Join(named, ", "))
	}
	d := &Dataset{Name: "adult", Classes: 2}
	rows := make([][][]string, len(files))
	for i, s := range []*Split{&d.Train, &d.Test} {
		f := &files[i]
		path, err := l.locate(ctx, f.source())
		if err == nil {
			if rows[i], s.Labels, err = f.read(path); err != nil {
				err = fmt.Errorf("%s %w; replace or delete the file", path, err)
			}
		}
		if err != nil {
			return d.named(err)
		}
	}
	if owner >= 0 {
		d.Train.Owner, d.Test.Owner, _ = ranksOf(column(rows[0], owner), column(rows[1], owner))
	}
	encodeAdult(d, rows)
	return d.named(nil)
}

func (f *adultFile) source() *source {
	return &source{
		what: f.name + " (nor .gz)", folder: "adult", name: f.name, limit: f.size,
		urls: []string{"https://archive.ics.uci.edu/ml/machine-learning-databases/adult/" + f.name},
		find: func(root string) string {
			name := filepath.Join(root, "adult", f.name)
			return firstFile(name+".gz", name)
		},
		check: func(r io.Reader) error { return checkSHA256(r, f.sha256) },
	}
}

// read returns the rows of the file at path, without their labels, and these.
func (f *adultFile) read(path string) (rows [][]string, labels []int32, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	r, err := gunzip(file)
	if err != nil {
		return nil, nil, err
	}
	content, err := io.ReadAll(io.LimitReader(r, f.size+1))
	if err == nil {
		err = checkSHA256(bytes.NewReader(content), f.sha256)
	}
	if err != nil {
		return nil, nil, err
	}
	return readAdult(bytes.NewReader(content))
}

// readAdult reads lines of 14 values and <=50K or >50K, which has a point behind it in the test file. That file begins with
// a remark after |.
func readAdult(from io.Reader) (rows [][]string, labels []int32, err error) {
	r := csv.NewReader(from)
	r.Comment, r.TrimLeadingSpace, r.FieldsPerRecord = '|', true, -1
	for {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("is damaged: %w", err)
		}
		line, _ := r.FieldPos(0)
		if len(row) != len(adultColumns)+1 {
			return nil, nil, fmt.Errorf("line %d has %d fields: must have %d", line, len(row), len(adultColumns)+1)
		}
		label := slices.Index([]string{"<=50K", ">50K"}, strings.TrimSuffix(row[len(adultColumns)], "."))
		if label < 0 {
			return nil, nil, fmt.Errorf("line %d: label %s: must be <=50K or >50K", line, quoted(row[len(adultColumns)]))
		}
		for i, c := range adultColumns {
			if v, err := strconv.ParseFloat(row[i], 32); !c.words && (err != nil || notFinite(float32(v))) {
				return nil, nil, fmt.Errorf("line %d, column %s: %s: must be a finite number", line, c.name, quoted(row[i]))
			}
		}
		rows, labels = append(rows, row[:len(adultColumns)]), append(labels, int32(label))
	}
	if len(rows) == 0 {
		return nil, nil, errors.New("has no rows")
	}
	return rows, labels, nil
}

// encodeAdult sets the features of both parts, and their shape.
func encodeAdult(d *Dataset, rows [][][]string) {
	numbers := 0
	for _, c := range adultColumns {
		if !c.words {
			numbers++
		}
	}
	f, at := numbers, make([]map[string]int, len(adultColumns)) // where a column's words are
	for i, c := range adultColumns {
		if at[i] = map[string]int{}; c.words {
			for _, word := range slices.Compact(slices.Sorted(slices.Values(column(rows[0], i)))) {
				at[i][word] = f
				f++
			}
		}
	}
	d.Shape = []int{f}
	for part, s := range []*Split{&d.Train, &d.Test} {
		s.Floats = make([]float32, len(rows[part])*f)
		for k, row := range rows[part] {
			x, next := s.Floats[k*f:(k+1)*f], 0
			for i, c := range adultColumns {
				if !c.words {
					v, _ := strconv.ParseFloat(row[i], 32) // as readAdult has checked
					x[next] = float32(v)
					next++
				} else if to, known := at[i][row[i]]; known {
					x[to] = 1
				}
			}
		}
	}
	d.standardize(numbers)
}

// column returns one column of rows.
func column(rows [][]string, i int) []string {
	values := make([]string, len(rows))
	for k, row := range rows {
		values[k] = row[i]
	}
	return values
}

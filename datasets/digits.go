package datasets

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
)

// digitsFile is the file that scikit-learn ships: 1,797 lines of 64 values and a label.
//
//go:embed digits.csv.gz
var digitsFile []byte

// digitsSHA256 is the SHA-256 of digits.csv.gz as in scikit-learn 1.5.2.
const digitsSHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"

const (
	digitsFeatures = 8 * 8
	digitsWhite    = 16 // the greatest value: a 4×4 block with every pixel set
)

// Digits returns the handwritten digits that are embedded in the package: 1,797 gray images of 10 classes, Shape
// [8 8 1], values 0..16 as Bytes with Scale 1/16, so that a model sees [0, 1]. It needs no network and no file, and
// every call returns a new copy.
//
// There is no official split. Here 359 rows are for testing and 1,438 for training: counting the rows digit by digit
// (all zeros in file order, then all ones, …), every fifth is a test row. Every fifth line of the file would not do,
// because its labels run in cycles of ten: the test part would have 52 threes but 21 ones. Rows keep the order of the
// file. The same people wrote training and test rows, so accuracy is measured on known handwriting.
//
// Source: E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998,
// doi 10.24432/C50P49, license CC BY 4.0; the part that its authors used for testing, in the form that scikit-learn ships.
func Digits() *Dataset {
	pixels, labels, err := parseDigits(digitsFile)
	if err != nil {
		panic(err) // the embedded file is wrong, and TestDigitsFile fails
	}
	d := &Dataset{Name: "digits", Shape: []int{8, 8, 1}, Classes: 10}
	test := everyFifth(labels)
	for i, label := range labels {
		s := &d.Train
		if test[i] {
			s = &d.Test
		}
		s.Bytes = append(s.Bytes, pixels[i*digitsFeatures:(i+1)*digitsFeatures]...)
		s.Labels = append(s.Labels, label)
	}
	d.Train.Scale, d.Test.Scale = 1.0/digitsWhite, 1.0/digitsWhite
	return d
}

// parseDigits returns the pixels [n, 64] and labels [n] of a gzipped file like digits.csv.gz.
func parseDigits(file []byte) (pixels []uint8, labels []int32, err error) {
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, nil, fmt.Errorf("datasets: digits: %w", err)
	}
	lines := csv.NewReader(z)
	lines.FieldsPerRecord = digitsFeatures + 1
	rows, err := lines.ReadAll()
	if err != nil {
		return nil, nil, fmt.Errorf("datasets: digits: %w", err)
	}
	for i, row := range rows {
		for j, field := range row {
			v, err := strconv.ParseUint(field, 10, 8)
			if err != nil {
				return nil, nil, fmt.Errorf("datasets: digits: row %d: %w", i, err)
			}
			if j < digitsFeatures {
				pixels = append(pixels, uint8(v))
			} else {
				labels = append(labels, int32(v))
			}
		}
	}
	return pixels, labels, nil
}

// everyFifth marks every fifth row, counting label by label.
func everyFifth(labels []int32) []bool {
	rows := make([]int, len(labels))
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int { return int(labels[a] - labels[b]) })
	marked := make([]bool, len(labels))
	for k, i := range rows {
		marked[i] = k%5 == 4
	}
	return marked
}

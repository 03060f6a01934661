package datasets

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"strconv"

	"github.com/janpfeifer/must"
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
	d := &Dataset{Name: "digits", Shape: []int{8, 8, 1}, Classes: 10}
	lines := must.M1(csv.NewReader(must.M1(gzip.NewReader(bytes.NewReader(digitsFile)))).ReadAll()) // the embedded file is that of TestDigitsFile
	var before, count [10]int                                                                       // rows of the digits before each, and of it so far
	for _, line := range lines {
		for digit := line[digitsFeatures][0] - '0' + 1; digit < 10; digit++ {
			before[digit]++
		}
	}
	for _, line := range lines {
		label := line[digitsFeatures][0] - '0'
		s := d.part((before[label]+count[label])%5 != 4)
		count[label]++
		for _, value := range line[:digitsFeatures] {
			s.Bytes = append(s.Bytes, uint8(must.M1(strconv.Atoi(value))))
		}
		s.Labels = append(s.Labels, int32(label))
	}
	d.Train.Scale, d.Test.Scale = 1.0/digitsWhite, 1.0/digitsWhite
	return d
}

package datasets

import (
	"bytes"
	"reflect"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

func TestDigitsFile(t *testing.T) {
	expect.That(t, sumOf(digitsFile) == digitsSHA256, "digits.csv.gz is not the file of scikit-learn")
}

// The sums are Python's for the same file: sum(sum(row[:-1])) over all rows is 561718, as is
// sklearn.datasets.load_digits().data.sum().
func TestDigits(t *testing.T) {
	d := Digits()
	expect.OK(t, d.Check())
	expect.That(t, d.Train.Len() == 1438 && d.Test.Len() == 359,
		"%d train and %d test rows, want 1438 and 359", d.Train.Len(), d.Test.Len())
	sum := func(values []uint8) (s int) {
		for _, v := range values {
			expect.Must(t, v <= digitsWhite, "a value is %d: must be at most %d", v, digitsWhite)
			s += int(v)
		}
		return s
	}
	test, all := sum(d.Test.Bytes), sum(d.Train.Bytes)+sum(d.Test.Bytes)
	expect.That(t, test == 113088 && all == 561718, "values sum to %d, in the test part %d; want 561718 and 113088", all, test)
	first := []uint8{0, 0, 5, 13, 9, 1, 0, 0} // the top of the file's first row, a zero
	expect.That(t, bytes.Equal(d.Train.Bytes[:8], first) && d.Train.Labels[0] == 0,
		"begins with %v, label %d", d.Train.Bytes[:8], d.Train.Labels[0])
	got, want := d.Train.Row(0, nil)[3], float32(13)/16
	expect.That(t, got == want, "a model sees %v, want %v", got, want)
}

func TestDigitsSplitHoldsAFifthOfEachDigit(t *testing.T) {
	d := Digits()
	var train, test [10]int
	for _, l := range d.Train.Labels {
		train[l]++
	}
	for _, l := range d.Test.Labels {
		test[l]++
	}
	for l := range test {
		n := train[l] + test[l]
		expect.That(t, test[l] >= n/5 && test[l] <= n/5+1, "%d of %d images of a %d are for testing", test[l], n, l)
	}
}

func TestMNISTOrDigits(t *testing.T) {
	t.Setenv("FEDKIT_OFFLINE", "1")
	t.Setenv("FEDKIT_DATA", t.TempDir())
	t.Setenv("FEDKIT_CACHE", t.TempDir())
	d := MNISTOrDigits()
	d.Train.Labels = d.Train.Labels[:1]
	again := MNISTOrDigits()
	expect.That(t, again.Name == "digits" && again.Train.Len() == 1438, "%s with %d rows, without MNIST", again.Name, again.Train.Len())
}

func TestDigitsAreTheCallersOwn(t *testing.T) {
	d, want := Digits(), Digits()
	for _, s := range []*Split{&d.Train, &d.Test} {
		clear(s.Bytes)
		clear(s.Labels)
	}
	d.Shape[0] = 0
	got := Digits()
	expect.That(t, reflect.DeepEqual(got, want), "what one caller writes another reads")
}

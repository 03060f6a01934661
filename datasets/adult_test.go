package datasets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// Invented persons, in the form of the published files.
const (
	adultTrain = "30, Private, 100, Masters, 14, Divorced, Sales, Unmarried, White, Male, 0, 0, 40, Peru, >50K\n" +
		"50, ?, 300, 9th, 5, Widowed, ?, Unmarried, Black, Female, 10, 0, 20, Cuba, <=50K\n" +
		"40, Private, 200, Masters, 14, Divorced, Sales, Unmarried, White, Male, 20, 0, 60, ?, <=50K\n\n"
	adultTest = "|1x3 Cross validator\n" +
		"60, Private, 200, 9th, 14, Widowed, Sales, Wife, White, Female, 10, 0, 40, Cuba, <=50K.\n" +
		"40, Never-worked, 200, Masters, 14, Divorced, ?, Unmarried, Black, Male, 0, 0, 40, Peru, >50K.\n\n"
)

// tinyAdult are these files in the place of the published ones.
func tinyAdult(train, test string) (files []adultFile, contents map[string][]byte) {
	files, contents = adult(), map[string][]byte{}
	for i, content := range []string{train, test} {
		sum := sha256.Sum256([]byte(content))
		files[i].sha256, files[i].size = hex.EncodeToString(sum[:]), int64(len(content))
		contents[files[i].name] = []byte(content)
	}
	return files, contents
}

func TestAdult(t *testing.T) {
	files, contents := tinyAdult(adultTrain, adultTest)
	contents["adult.data.gz"] = zipped(contents["adult.data"])
	delete(contents, "adult.data")
	l := &Loader{Cache: putIn(t, "adult", contents), Offline: true}
	d := expect.Value(l.loadAdult(context.Background(), Adult{Owner: "education"}, files))(t)
	// 6 numbers, then the words of training: 2 of workclass, 2 of education, 2 of marital-status, and so on.
	if d.Name != "adult" || d.Classes != 2 || !slices.Equal(d.Shape, []int{6 + 2 + 2 + 2 + 2 + 1 + 2 + 2 + 3}) {
		t.Errorf("%q, %d classes, shape %v", d.Name, d.Classes, d.Shape)
	}
	if !slices.Equal(d.Train.Labels, []int32{1, 0, 0}) || !slices.Equal(d.Test.Labels, []int32{0, 1}) {
		t.Errorf("labels %v, test %v", d.Train.Labels, d.Test.Labels)
	}
	if !slices.Equal(d.Train.Owner, []int32{1, 0, 1}) || !slices.Equal(d.Test.Owner, []int32{0, 1}) {
		t.Errorf("owners %v, test %v: 9th is 0, Masters 1", d.Train.Owner, d.Test.Owner)
	}
	// Ages 30, 50 and 40 have the mean 40 and the standard deviation √(200/3); capital-loss is constant.
	sd := float32(math.Sqrt(200. / 3))
	x, y := d.Train.Row(0, nil), d.Test.Row(0, nil)
	if x[0] != -10/sd || y[0] != 20/sd || x[4] != 0 {
		t.Errorf("numbers %v, test %v", x[:6], y[:6])
	}
	// ? before Private, 9th before Masters, Divorced, ? before Sales, Unmarried, Black, Female, and ? before Cuba before Peru.
	if want := []float32{0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1}; !slices.Equal(x[6:], want) {
		t.Errorf("words %v, want %v", x[6:], want)
	}
	// Wife does not occur in training.
	if want := []float32{0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0}; !slices.Equal(y[6:], want) {
		t.Errorf("words of the test row %v, want %v", y[6:], want)
	}
	if d := expect.Value(l.loadAdult(context.Background(), Adult{}, files))(t); d.Train.Owner != nil {
		t.Errorf("owners %v of nobody", d.Train.Owner)
	}
}

func TestAdultDownload(t *testing.T) {
	t.Setenv("FEDKIT_DATA", "")
	files, contents := tinyAdult(adultTrain, adultTest)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		must.M1(w.Write(contents[path.Base(r.URL.Path)]))
	}))
	defer server.Close()
	l := &Loader{Cache: t.TempDir(), Progress: io.Discard}
	for _, f := range files {
		s := f.source()
		s.urls = []string{server.URL + "/" + f.name}
		expect.Value(l.locate(context.Background(), s))(t)
	}
	l.Offline = true
	expect.Value(l.loadAdult(context.Background(), Adult{}, files))(t)
}

func TestAdultRefuses(t *testing.T) {
	for want, change := range map[string][2]string{
		"line 1, column age: \"old\": must be a finite number":            {"30,", "old,"},
		"line 3, column hours-per-week: \"NaN\": must be a finite number": {"60,", "NaN,"},
		"line 1: label \">50\": must be <=50K or >50K":                    {">50K", ">50"},
		"line 2 has 14 fields: must have 15":                              {"50, ?,", "50,"},
		"is damaged: record on line 1":                                    {"Sales", "\"Sales"},
		"has no rows":                                                     {adultTrain, "\n"},
	} {
		files, contents := tinyAdult(strings.Replace(adultTrain, change[0], change[1], 1), adultTest)
		l := &Loader{Cache: putIn(t, "adult", contents), Offline: true}
		expect.Error(t, "datasets: adult: ", "adult.data "+want, "; replace or delete the file")(l.loadAdult(context.Background(), Adult{}, files))
	}
	files, contents := tinyAdult(adultTrain, adultTest)
	contents["adult.test"] = append(contents["adult.test"], '\n')
	l := &Loader{Cache: putIn(t, "adult", contents), Offline: true}
	expect.Error(t, "adult.test has SHA-256 ", "the published file has "+files[1].sha256)(l.loadAdult(context.Background(), Adult{}, files))
	expect.Error(t, `datasets: Adult: Owner = "age": must be empty or one of workclass, education, marital-status, occupation, relationship, race, sex, native-country`)(Adult{Owner: "age"}.Make())
	t.Setenv("FEDKIT_CACHE", t.TempDir())
	t.Setenv("FEDKIT_DATA", "")
	t.Setenv("FEDKIT_OFFLINE", "1")
	expect.Error(t, "datasets: adult: no adult.data (nor .gz)")(Adult{}.Make())
}

// The numbers that UCI gives of the rows and the positive ones, if the files are there.
func TestAdultAsPublished(t *testing.T) {
	d := expect.Value(realData(t, "adult").Adult(context.Background(), Adult{}))(t)
	positive := 0
	for _, l := range d.Train.Labels {
		positive += int(l)
	}
	if d.Train.Len() != 32561 || d.Test.Len() != 16281 || positive != 7841 || !slices.Equal(d.Shape, []int{108}) {
		t.Errorf("%d and %d rows, %d positive, shape %v", d.Train.Len(), d.Test.Len(), positive, d.Shape)
	}
}

func FuzzAdult(f *testing.F) {
	f.Add([]byte(adultTrain))
	f.Add([]byte(adultTest))
	f.Add([]byte(adultTest[:60]))
	f.Add([]byte("\"" + adultTrain))
	f.Fuzz(func(t *testing.T, file []byte) {
		rows, labels, err := readAdult(bytes.NewReader(file))
		if (err == nil) != (len(rows) > 0) || len(rows) != len(labels) {
			t.Fatalf("%d rows, %d labels, error %v", len(rows), len(labels), err)
		}
		if err != nil {
			return
		}
		d := &Dataset{Classes: 2, Train: Split{Labels: labels}, Test: Split{Labels: labels}}
		encodeAdult(d, [][][]string{rows, rows})
		if slices.ContainsFunc(d.Train.Floats, notFinite) {
			t.Fatal("a feature is not finite")
		}
	})
}

package plot

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/color"
	"image/png"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

// tiny is a federation of two groups, with images of 2 × 3 of three labels: groups 0 = {0, 1} and 5 = {2}.
func tiny() *fedkit.Federation {
	part := datasets.Split{Scale: 1. / 16, Labels: []int32{0, 1, 2, 0, 1, 0}}
	for i := range 6 * len(part.Labels) {
		part.Bytes = append(part.Bytes, uint8(i%17))
	}
	return &fedkit.Federation{
		Data: &datasets.Dataset{Name: "pixels", Shape: []int{2, 3, 1}, Classes: 3, Train: part, Test: part},
		Rule: "by hand",
		Clients: []partition.Client{
			{Train: []int{0, 1}, Test: []int{0}}, {Train: []int{3, 4}, Test: []int{1}}, {Group: 5, Train: []int{2, 5}, Test: []int{2}},
		},
	}
}

func TestSamples(t *testing.T) {
	f := Samples(tiny(), 4)
	expect.OK(t, f.Err())
	s := f.Series[0]
	// Columns are the labels 0, 1, 2, 0. Column 1 of group 0 begins its search at client 0, column 3 at client 1; nobody
	// of group 0 holds a 2, nor does group 5 hold a 1 or a second 0.
	want := []string{"row 0, client 0, label 0", "row 1, client 0, label 1", "row 3, client 1, label 0", "row 5, client 2, label 0", "row 2, client 2, label 2"}
	expect.That(t, slices.Equal(s.Tip, want) && near(s.X, []float64{0, 1, 3, 0, 2}) && near(s.Y, []float64{1, 1, 1, 0, 0}), "%q at %v, %v", s.Tip, s.X, s.Y)
	expect.That(t, slices.Equal(f.X.Names, []string{"0", "1", "2", "0"}) && slices.Equal(f.Y.Names, []string{"group 5", "group 0"}),
		"axes %q, %q", f.X.Names, f.Y.Names)
	expect.That(t, strings.HasPrefix(f.Note, "pixels: by hand; "), "note %q", f.Note)

	// The image that the notebook gets is the row's: 6 … 11 sixteenths of white.
	data := f.VegaLite()["layer"].([]any)[0].(map[string]any)["data"].(map[string]any)
	url := data["values"].([]any)[0].(map[string]any)["u"].([]any)[1].(string)
	file := expect.Value(base64.StdEncoding.DecodeString(strings.TrimPrefix(url, "data:image/png;base64,")))(t)
	img, err := png.Decode(bytes.NewReader(file))
	expect.Must(t, err == nil && img.Bounds().Dx() == 3 && img.Bounds().Dy() == 2, "%v %v", img, err)
	for i, v := range []uint8{96, 112, 128, 143, 159, 175} { // round(255·v/16)
		got := color.GrayModel.Convert(img.At(i%3, i/3)).(color.Gray).Y
		expect.That(t, got == v, "element %d is %d, want %d", i, got, v)
	}
}

// Colors keep their places, and black is −1 if that is what a model sees.
func TestSamplesInColor(t *testing.T) {
	part := datasets.Split{Scale: 1 / 127.5, Shift: -1, Labels: []int32{1}, Bytes: []uint8{255, 0, 0, 0, 51, 255}}
	other := part
	other.Labels = []int32{0}
	fed := &fedkit.Federation{
		Data:    &datasets.Dataset{Name: "rgb", Shape: []int{1, 2, 3}, Classes: 2, Train: part, Test: other},
		Clients: []partition.Client{{Train: []int{0}, Test: []int{0}}},
	}
	f := Samples(fed, 2)
	expect.OK(t, f.Err())
	for x, want := range []color.RGBA{{255, 0, 0, 255}, {0, 51, 255, 255}} {
		got := f.Series[0].Images[0].At(x, 0)
		expect.That(t, got == want, "element %d is %v, want %v", x, got, want)
	}
	// Images that are not bytes go from their least value to their greatest; one of a single value is black.
	fed.Data.Train = datasets.Split{Floats: []float32{-3, -1, 1, 5, 1, 1}, Labels: []int32{1}}
	if f = Samples(fed, 2); f.Err() != nil || f.Series[0].Images[0].At(0, 0) != (color.RGBA{0, 64, 128, 255}) {
		t.Error(f, f.Err())
	}
	fed.Data.Train.Floats = []float32{7, 7, 7, 7, 7, 7}
	if f = Samples(fed, 2); f.Err() != nil || f.Series[0].Images[0].At(0, 0) != (color.RGBA{0, 0, 0, 255}) {
		t.Error(f, f.Err())
	}
}

// Many images of much detail become fewer and coarser until the output is light, and the note says so.
func TestSamplesStayLight(t *testing.T) {
	if testing.Short() {
		t.Skip("drawing")
	}
	const clients, each = 12, 30
	r := rand.New(rand.NewPCG(1, 2))
	part := datasets.Split{Scale: 1. / 255}
	fed := &fedkit.Federation{Data: &datasets.Dataset{Name: "noise", Shape: []int{32, 32, 3}, Classes: 2}}
	for c := range clients {
		cl := partition.Client{Group: c}
		for range each {
			cl.Train = append(cl.Train, len(part.Labels))
			part.Labels = append(part.Labels, int32(len(part.Labels)%2))
			for range 32 * 32 * 3 {
				part.Bytes = append(part.Bytes, uint8(r.Uint32()))
			}
		}
		fed.Clients = append(fed.Clients, cl)
	}
	fed.Data.Train, fed.Data.Test = part, part
	f := Samples(fed, each)
	expect.OK(t, f.Err())
	charttest.Spec(t, f)
	shown := len(f.X.Names)
	want := fmt.Sprintf("the first %d of 30; the first 10 of 12 groups", shown)
	expect.That(t, shown < 30 && strings.HasSuffix(f.Note, want), "%d in a row: %q", shown, f.Note)
}

func TestSamplesThatCannotBeDrawn(t *testing.T) {
	for want, change := range map[string]func(f *fedkit.Federation){
		"the federation has no Clients":  func(f *fedkit.Federation) { f.Clients = nil },
		"shape [6]: images are":          func(f *fedkit.Federation) { f.Data.Shape = []int{6} },
		"shape [3 1 2]: images are":      func(f *fedkit.Federation) { f.Data.Shape = []int{3, 1, 2} },
		"Bytes has 35 values":            func(f *fedkit.Federation) { f.Data.Train.Bytes = f.Data.Train.Bytes[:35] },
		"client 2 holds training row 6":  func(f *fedkit.Federation) { f.Clients[2].Train[0] = 6 },
		"client 0 holds training row -1": func(f *fedkit.Federation) { f.Clients[0].Train[1] = -1 },
	} {
		fed := tiny()
		change(fed)
		expect.Error(t, want)(Samples(fed, 4).Err())
	}
}

func TestSizes(t *testing.T) {
	fed := federation(3, 2, 1, 1)
	for i, n := range []int{2, 7, 2} {
		fed.Clients[i] = partition.Client{Group: i % 2, Train: make([]int, n)}
	}
	f := Sizes(fed)
	expect.OK(t, f.Err())
	// The largest is client 1, of group 1; the others follow in their order.
	a, b := f.Series[0], f.Series[1]
	expect.That(t, a.Name == "group 0" && near(a.Y2, []float64{2, 2}) && near(a.X, []float64{1.58, 2.58}) && a.Tip[0] == "0: 2 rows" && a.Tip[1] == "2: 2 rows",
		"group 0: %+v", a)
	expect.That(t, b.Name == "group 1" && near(b.Y2, []float64{7}) && near(b.X, []float64{0.58}) && b.Tip[0] == "1: 7 rows", "group 1: %+v", b)
	// exp(−Σ q ln q) of the shares 2, 7, 2 of 11, by Python's math.
	expect.That(t, strings.Contains(f.Note, "2 to 7 rows; in effect 2.5 clients"), "note %q", f.Note)
}

// Beyond 100 clients every one is in a bar of the histogram.
func TestSizesOfManyClients(t *testing.T) {
	f := Sizes(federation(130, 3, 2, 0.5))
	expect.OK(t, f.Err())
	for _, s := range f.Series {
		n := 0.0
		for _, y := range s.Y2 {
			n += y
		}
		expect.That(t, n == 65, "%s: %g clients, want 65", s.Name, n)
	}
	expect.That(t, f.Y.Title == "clients" && f.Name == "sizes", "%s of %s", f.Name, f.Y.Title)
}

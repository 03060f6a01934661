package packed

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"fedkit.example/fedkit/fedtest/bounds"
	"fedkit.example/fedkit/fedtest/expect"
)

type row struct {
	ID     int                `json:"id"`
	Value  float64            `json:"value,omitempty"`
	On     bool               `json:"on"`
	Extra  map[string]float64 `json:"extra"`
	Hidden int                `json:"-"`
	own    int
}

// Lists of every form survive a round trip.
func TestListsComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for name, of := range map[string]func(i int) row{
		"zeros":   func(int) row { return row{} },
		"equal":   func(int) row { return row{ID: 7, Value: math.Pi, On: true, own: 0} },
		"few":     func(i int) row { return row{ID: i % 3, Value: float64(i%200) / 3, On: i%2 == 0} },
		"singles": func(i int) row { return row{ID: i, Value: float64(rng.Float32())} },
		"doubles": func(i int) row { return row{ID: -i * i, Value: rng.Float64()} },
		"extreme": func(i int) row { return row{ID: math.MinInt + i%2*(math.MaxInt), Value: math.Inf(1 - 2*(i%2))} },
		"maps":    func(i int) row { return row{Extra: map[string]float64{"": 1, "a.b": float64(i)}} },
		"sparse": func(i int) row {
			return row{Extra: []map[string]float64{nil, {"x": 0}, {"y": math.Copysign(0, -1)}}[i%3]}
		},
	} {
		for _, n := range []int{0, 1, 2, 300, 1000} {
			list := make([]row, n)
			for i := range list {
				list[i] = of(i)
			}
			b := expect.Value(Append([]byte("before"), list))(t)
			var back []row
			if rest, err := Read(append(b[6:], "after"...), &back); err != nil || string(rest) != "after" || !reflect.DeepEqual(list, back) {
				t.Errorf("%s, %d rows: %v, %v, rest %q; want %v", name, n, back, err, rest, list)
			}
		}
	}
	var none, back []int
	b, err := Append(nil, none)
	if rest, err2 := Read(b, &back); err != nil || err2 != nil || back != nil || len(rest) > 0 {
		t.Errorf("nil comes back as %v, %v, %v", back, err, err2)
	}
	if _, err := Append(nil, []struct {
		Text string `json:"text"`
	}{{"a"}}); err == nil {
		t.Error("a text was packed")
	}
	if NaN := []float64{math.NaN()}; !math.IsNaN(again(t, NaN)[0]) {
		t.Error("NaN is lost")
	}
}

func again(t *testing.T, list []float64) (back []float64) {
	b, err := Append(nil, list)
	if err == nil {
		_, err = Read(b, &back)
	}
	expect.OK(t, err)
	return back
}

// Whatever the bytes are, reading them neither panics nor takes more memory than they can stand for.
func FuzzRead(f *testing.F) {
	for _, list := range [][]row{nil, {}, {{ID: 1}}, {{ID: 300, Value: 0.1, On: true, Extra: map[string]float64{"a": 1}}, {Value: 0.5}}} {
		b, err := Append(nil, list)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 2, 'i', 'd', constant, 1}) // 2⁶² rows
	f.Fuzz(func(t *testing.T, b []byte) {
		var list []row
		var err error
		bounds.Check(t, len(b), func() { _, err = Read(b, &list) })
		if err == nil && len(list) > len(b) {
			t.Errorf("%d rows of %d bytes", len(list), len(b))
		}
	})
}

package notebook

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/display"
)

// The values of a parameter suit its type, and the default is among them.
func TestRanges(t *testing.T) {
	type mode string
	type on bool
	for _, c := range []struct {
		r      Range
		of     any // of the parameter's type
		form   string
		n, at  int
		values string // the first three and the last
	}{
		{Range{From: 0, To: 1}, 0.0, "range", 101, 0, "0 0.01 0.02 … 1"},
		{Range{From: 0.1, To: 0.7, Step: 0.2, Start: 0.3}, 0.0, "range", 4, 1, "0.1 0.3 0.5 … 0.7"},
		{Range{From: -1, To: 1, Step: 0.5}, float32(0), "range", 5, 2, "-1 -0.5 0 … 1"},
		{Range{From: 0, To: 1, Step: 0.4, Start: 0.5}, 0.0, "range", 4, 2, "0 0.4 0.5 … 0.8"},
		{Range{From: 0.05, To: 10, Log: true, Start: 0.3}, 0.0, "range", 95, 31, "0.05 0.053 0.056 … 10"},
		{Range{From: 2, To: 40, Start: 20}, 0, "range", 39, 18, "2 3 4 … 40"},
		{Range{From: 1, To: 1000, Log: true}, uint16(0), "range", 75, 0, "1 2 3 … 1000"},
		{Range{From: -5, To: -2}, int8(0), "range", 4, 0, "-5 -4 -3 … -2"},
		{Range{From: 1e9, To: 3e9, Step: 1e9}, time.Second, "range", 3, 0, "1s 2s 3s … 3s"},
		{Range{}, false, "checkbox", 2, 0, "false true"},
		{Range{}, on(false), "checkbox", 2, 0, "false true"},
		{Range{Of: []string{"a", "b", "<c>"}}, mode(""), "menu", 3, 0, "a b <c> … <c>"},
		{Range{Of: []float64{1, 0.5}}, 0.0, "menu", 2, 0, "1 0.5"},
		{Range{Of: []any{errors.New("one"), fmt.Errorf("two")}}, new(error), "menu", 2, 0, "one two"},
	} {
		of := reflect.TypeOf(c.of)
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		c.r.Name = "x"
		is := expect.Value(c.r.control(of))(t)
		texts := strings.Join(is.Texts[:min(3, len(is.Texts))], " ")
		if len(is.Texts) > 2 {
			texts += " … " + is.Texts[len(is.Texts)-1]
		}
		expect.That(t, is.Form == c.form && len(is.Texts) == c.n && is.At == c.at && texts == c.values, "%+v: %s, %d values, the default is %d: %s", c.r, is.Form, len(is.Texts), is.At, texts)
		for _, v := range is.values {
			expect.That(t, v.Type() == of, "%+v: a %v", c.r, v.Type())
		}
	}
}

// What does not suit is refused by name, before f is called.
func TestExploreRefuses(t *testing.T) {
	number, whole, text, yes := func(float64) { t.Error("called") }, func(int8) { t.Error("called") }, func(string) { t.Error("called") }, func(bool) { t.Error("called") }
	for want, err := range map[string]error{
		"notebook: Explore: invalid: f = nil: must be a function with a parameter per range": Explore(nil),
		"f = 3: must be a function":                                                     Explore(3),
		"ranges = 0: must be 1, one for each parameter of f":                            Explore(number),
		`ranges[0].Name = "": must be`:                                                  Explore(number, Range{From: 0, To: 1}),
		"α.To = 0: must be finite, and above From = 1":                                  Explore(number, Range{Name: "α", From: 1}),
		"α.To = NaN: must be finite":                                                    Explore(number, Range{Name: "α", To: math.NaN()}),
		"α.To = +Inf: must be finite":                                                   Explore(number, Range{Name: "α", To: math.Inf(1)}),
		"α.From = 0: must be > 0 with Log":                                              Explore(number, Range{Name: "α", To: 1, Log: true}),
		"α.Start = 2: must be in [0, 1]":                                                Explore(number, Range{Name: "α", To: 1, Start: 2}),
		"α.Step = 1e-09: must be > 0, and make 1 to 1000 steps from 0 to 1":             Explore(number, Range{Name: "α", To: 1, Step: 1e-9}),
		"α.Step = 2: must be > 0, and make 1 to 1000 steps":                             Explore(number, Range{Name: "α", To: 1, Step: 2}),
		"k.From, Start and Step = 0.5: must be whole numbers that a int8 has":           Explore(whole, Range{Name: "k", From: 0.5, To: 4}),
		"k.From, Start and Step = 128: must be whole numbers that a int8 has":           Explore(whole, Range{Name: "k", To: 200}),
		"name.Of = nil: must be a slice with elements for a parameter that is a string": Explore(text, Range{Name: "name", To: 1}),
		"name.Of = []: must be a slice with elements":                                   Explore(text, Range{Name: "name", Of: []string{}}),
		"name.Of[1] = 2: must be a string, as the parameter is":                         Explore(text, Range{Name: "name", Of: []any{"a", 2}}),
		"name.Of[0] = nil: must be a string":                                            Explore(text, Range{Name: "name", Of: []any{nil}}),
		"box.Of[0] = &0: must be a *string, as the parameter is":                        Explore(func(*string) {}, Range{Name: "box", Of: []*int{new(int)}}),
		"yes.Of[0] = 1: must be a bool, as the parameter is":                            Explore(yes, Range{Name: "yes", Of: []int{1}}),
	} {
		expect.Error(t, want)(err)
	}
}

// served is a cell that a page shows. The page answers when it has the controls, and each time when all is shown: with the next few moves.
type served struct {
	*charttest.Cell
	moves [][]string
	hear  func(string)
}

func (s *served) Listen(_ string, hear func(string)) bool { s.hear = hear; return true }

func (s *served) Send(id string, forms, metadata map[string]any) error {
	if text, _ := forms["text/html"].(string); strings.Contains(text, "<script>") {
		s.Sync()
	}
	return s.Cell.Send(id, forms, metadata)
}

func (s *served) Sync() {
	if s.hear != nil && len(s.moves) > 0 {
		for _, move := range s.moves[0] {
			s.hear(move)
		}
		s.moves = s.moves[1:]
	}
}

// explored draws two figures, or fails.
func explored(calls *[]string) func(k int, fails bool) (chart.Row, *chart.Figure, error) {
	return func(k int, fails bool) (chart.Row, *chart.Figure, error) {
		*calls = append(*calls, fmt.Sprint(k, fails))
		f := &chart.Figure{Title: fmt.Sprint("k is ", k), Series: []chart.Series{{X: []float64{0, 1}, Y: []float64{1, float64(k)}}}}
		if fails {
			return nil, nil, errors.New("no")
		}
		return chart.Row{f}, f, nil
	}
}

var kAndFails = []Range{{Name: "k", From: 1, To: 3, Start: 2}, {Name: "fails"}}

// Moves draw in the place of the figures, a failure is shown there, and at the end the last values stay.
func TestExplore(t *testing.T) {
	cell := &served{charttest.InCell(t), [][]string{
		{`[1,0,1,0]`, `[3,0,2,0]`, `[2,0,0,0]`, `nonsense`}, {}, // the latest counts; each figure waits until it is shown
		{`[4,0,2,1]`}, {`[5,0,0,0]`}, {}, {`[6,1,0,0]`},
	}, nil}
	display.Use(cell)
	var calls []string
	expect.OK(t, Explore(explored(&calls), kAndFails...))
	expect.That(t, slices.Equal(calls, []string{"2 false", "3 false", "3 true", "1 false"}), "called with %v", calls)

	var places []string // of the outputs, in the order in which they came
	shown := map[string]string{}
	for _, o := range cell.Outputs {
		if _, known := shown[o.ID]; !known {
			places = append(places, o.ID)
		}
		shown[o.ID] = fmt.Sprint(o.Forms["text/plain"])
	}
	expect.Must(t, len(places) == 3, "%d outputs", len(places))
	expect.That(t, shown[places[0]] == "k = 1, fails = false", "above: %s", shown[places[0]])
	for _, id := range places[1:] {
		expect.That(t, strings.Contains(shown[id], "k is 1"), "below: %s", shown[id])
	}
	var failed []string
	for _, o := range cell.Outputs {
		if text := fmt.Sprint(o.Forms["text/plain"]); o.ID != places[0] && !strings.Contains(text, "k is") {
			failed = append(failed, text)
		}
	}
	expect.That(t, slices.Equal(failed, []string{"error: no", ""}), "a failure shows %q", failed)
}

// Without a page, the defaults are drawn once; an error ends the cell.
func TestExploreOnce(t *testing.T) {
	cell := charttest.InCell(t)
	var calls []string
	expect.OK(t, Explore(explored(&calls), kAndFails...))
	expect.That(t, len(calls) == 1 && len(cell.Outputs) == 3, "%d calls, %d outputs", len(calls), len(cell.Outputs))
	for _, o := range cell.Outputs {
		expect.That(t, o.Forms["text/html"] == nil, "controls: %v", o.Forms)
	}
	defer func() { expect.That(t, fmt.Sprint(recover()) == "no", "an error is not passed on") }()
	_ = Explore(explored(&calls), kAndFails[0], Range{Name: "fails", Of: []bool{true}})
}

// What a stop has cut short is not drawn.
func TestExploreStopped(t *testing.T) {
	cell := charttest.InCell(t)
	var calls []string
	e := expect.Value(newExplorer(explored(&calls), kAndFails))(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	expect.That(t, !e.redraw(ctx, []int{2, 0}) && len(calls) == 1 && len(cell.Outputs) == 0 && e.String() == "k = 2, fails = false", "%d outputs, %v", len(cell.Outputs), e)
}

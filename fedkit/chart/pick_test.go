package chart

import (
	"errors"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

// dotsAt is a map of two clients with a title.
func dotsAt(title string, x ...float64) *Figure {
	return &Figure{Title: title, Point: "client", X: Axis{Title: "x"}, Y: Axis{Title: "y"}, Width: 200,
		Series: []Series{{Name: "clients", Mark: Dots, X: x, Y: []float64{1, 2}, Tip: []string{"0", "1, late"}}}}
}

func barsOf(title string, shares ...float64) *Figure {
	f := &Figure{Title: title, Name: "bars", X: Axis{Title: "share", Percent: true}, Y: Axis{Names: []string{"a", "b"}}, Width: 200}
	s := Series{Name: "share", Mark: Cells}
	for i, v := range shares {
		s.Cell(0, v, float64(i)-0.4, float64(i)+0.4)
	}
	f.Series = []Series{s}
	return f
}

func curve() *Figure {
	return &Figure{Title: "Accuracy", X: Axis{Title: "round", Whole: true}, Y: Axis{Title: "accuracy"}, Width: 300,
		Series: []Series{{Name: "A", X: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Y: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}}}
}

func strips() *Figure {
	f := &Figure{Name: "strips", Title: "Clusters", X: Axis{Title: "round", Whole: true}, Y: Axis{Title: "client", Names: []string{"0", "1"}}, Point: "client", Width: 300}
	a, b := Series{Name: "a", Mark: Cells}, Series{Name: "b", Mark: Cells}
	a.Cell(0.5, 12.5, -0.4, 0.4, "0")
	b.Cell(0.5, 6.5, 0.6, 1.4, "1")
	f.Series = []Series{a, b}
	return f
}

// touched is a row of each kind.
func touched() map[string]Row {
	slider := func(y string) *Figure {
		return Row{dotsAt("after 5", 1, 2), dotsAt("after 10"+y, 1, 3), dotsAt("after 20", 1, 4)}.Slider("round", 5, 10, 20)
	}
	menu := Row{slider(""), slider(", again")}.Menu("method", "IFCA", "Fed's")
	click := Row{barsOf("all", 0.5, 0.5), barsOf("client 0", 0.1, 0.9), barsOf("client 1", 1)}.Click("client", "", "0", "1")
	return map[string]Row{"slider": {slider("")}, "menu": {menu}, "click": {dotsAt("map", 1, 2), click}, "brush": Row{curve(), strips(), click}.Brush()}
}

func TestPicks(t *testing.T) {
	for name, r := range touched() {
		t.Run(name, func(t *testing.T) { charttest.Golden(t, "pick-"+name, r) })
	}
}

// What is written for places that show no figure is of the options at the beginning.
func TestPicksInWords(t *testing.T) {
	s, err := Row{Row{line("A"), line("B")}.Menu("method", "A", "B")}.prepare()
	expect.OK(t, err)
	got := s.text()
	expect.That(t, got == " against : FedAvg 0.2 at  2\nmethod: A, B", "%q", got)
}

// A title that is set afterwards stands over all options.
func TestTitleOfPicks(t *testing.T) {
	f := Row{dotsAt("5 %", 1, 2), dotsAt("b", 1, 2)}.Menu("method")
	e, each := f.VegaLite()["title"].(object)["text"].(object)
	expect.That(t, each && e["expr"] == "chosen0 == '5 %' ? '5\u00a0%' : chosen0 == 'b' ? 'b' : ''", "%v", e)
	got := f.Titled("Both move").VegaLite()["title"].(object)["text"]
	expect.That(t, got == "Both move", "%v", got)
}

// Without curves, it is what is written in the figure, how far values go, or how much there is of what.
func TestGist(t *testing.T) {
	cells := Series{Name: "a", Of: "loss", Mark: Cells, Values: []float64{0.5, -2}}
	cells.Cell(0, 1, 0, 1)
	cells.Cell(1, 2, 0, 1)
	written := cells
	written.Values, written.Text = nil, []string{"one", "two\nlines"}
	odd := dotsAt("", 1, 2)
	odd.Series[0].Values, odd.Series[0].Tip = []float64{1}, nil
	for want, f := range map[string]*Figure{
		"loss from −2 to 0.5": {Series: []Series{cells}},
		"one; two lines":      {Series: []Series{written}},
		"clients (2)":         odd,
		"seen by all":         {Alt: "seen by all", Series: []Series{cells}},
	} {
		s, err := Row{f}.prepare()
		expect.OK(t, err)
		got := s.text()
		expect.That(t, strings.HasSuffix(got, ": "+want), "%q, want … %q", got, want)
	}
	s, err := Row{figures()["histogram"]}.prepare()
	expect.OK(t, err)
	got := s.text()
	expect.That(t, got == "Who gains: FedRep 4 from −5.0 % to 30.0 %, median 11.0 %; Local 3 from 0.0 % to 30.0 %, median 20.0 %", "%q", got)
}

// A figure alone has nothing to choose from; figures whose picks have one name follow one input.
func TestPicksOfOneName(t *testing.T) {
	one := Row{dotsAt("a", 1, 2)}.Slider("round", 3)
	expect.That(t, one.Err() == nil && len(one.VegaLite()["params"].([]any)) == 2, "%v", one.VegaLite()["params"]) // its size
	a, b := Row{dotsAt("a", 1, 2), dotsAt("b", 1, 2)}, Row{dotsAt("a", 1, 2), dotsAt("b", 1, 2)}
	params := Row{a.Slider("round", 0, 6), b.Slider("round", 4, 10)}.VegaLite()["params"].([]any)
	expect.Must(t, len(params) == 1, "%v", params)
	bind := params[0].(object)["bind"].(object)
	expect.That(t, bind["min"] == 0.0 && bind["max"] == 10.0 && bind["step"] == 2.0 && params[0].(object)["value"] == 10.0, "%v", params)
}

func TestPickRefusals(t *testing.T) {
	two, named := Row{dotsAt("a", 1, 2), dotsAt("b", 1, 2)}, Row{barsOf("a", 1), barsOf("b", 1)}
	other := dotsAt("c", 1, 2)
	other.X.Title = "z"
	for says, c := range map[string]interface{ Err() error }{
		"chart: slider: no figure given":                               Row{}.Slider("round"),
		"chart: menu: no figure given, or a nil one":                   Row{nil}.Menu("method"),
		`chart: menu: invalid: name = "": must be what stands`:         two.Menu(""),
		"chart: slider: 3 options for 2 figures: must be as many":      two.Slider("round", 1, 2, 3),
		"chart: slider: invalid: from[1] = 2: must be > 2":             two.Slider("round", 2, 2),
		`chart: menu: invalid: options[1] = "": must be a name`:        two.Menu("method", "a", ""),
		`option 1 = "a": must be not that of another figure`:           two.Menu("method", "a", "a"),
		`chart: menu: figures 0 and 1 have different axes: "z" is not`: Row{two[0], other}.Menu("method"),
		"broken": Row{two[0], Failed(errors.New("broken"))}.Menu("method", "a", "b"),
		`chart: "x" is a slider and a menu: must be one of them`:         Row{two.Slider("x", 1, 2), two.Menu("x")},
		`chart: nothing to click for "server": no other figure`:          Row{two[0], named.Click("server", "0", "1")},
		`chart: nothing to click for "client"`:                           Row{two.Click("client", "0", "1")},
		`chart: brush: no other figure has the x axis "round" of the fi`: Row{curve(), two[0]}.Brush(),
		"chart: no figure given":                                         Row{}.Brush(),
	} {
		err := c.Err()
		expect.That(t, err != nil && strings.Contains(err.Error(), says) && !strings.Contains(err.Error(), "could not be drawn"), "%v, want … %s", err, says)
	}
}

package chart

import (
	"fmt"
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

var _ = fmt.Sprint
var _ = strings.Join
var _ = expect.That

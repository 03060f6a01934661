package chart

import (
	"errors"
	"testing"
)

func flow() *Figure {
	return Diagram("When p falls", []Box{
		{Text: "all clients train", Kind: "clients"},
		{X: 1, Text: "ratio of losses\nabove 0.5?", Kind: "server"},
		{X: 2, Text: "coin: keep p?", Kind: "server"},
		{X: 2, Y: 1, Text: "p ← max(p − d, 1)\nd ← d + 1", Kind: "server"},
		{X: 1, Y: 1, Text: "p clusters"},
		{Y: 1, Text: "one client of each\ntrains again", Kind: "clients"},
	}, []Arrow{{From: 0, To: 1}, {From: 1, To: 2, Text: "yes"}, {From: 1, To: 4, Text: "no"}, {From: 2, To: 4, Text: "keep"}, {From: 2, To: 3, Text: "fall"}, {From: 3, To: 4}, {From: 4, To: 5}, {From: 5, To: 0}, {From: 0, To: 5, Text: "again"}})
}

// Arrows of a diagram lead from one of its boxes to another.
func TestArrows(t *testing.T) {
	for _, a := range []Arrow{{From: 0, To: 0}, {From: 0, To: 2}, {From: -1, To: 0}} {
		if err := Diagram("", []Box{{Text: "a"}, {X: 1, Text: "b"}}, []Arrow{a}).Err(); !errors.Is(err, errArrow) {
			t.Errorf("%v: error %v", a, err)
		}
	}
}

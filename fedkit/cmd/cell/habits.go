package main

// habits maps names that a Python user writes to their Go counterparts.
var habits = map[string]string{
	"True": "Go writes true", "False": "Go writes false", "None": "Go writes nil",
	"str": "Go writes fmt.Sprint(x), and string for the type", "float": "Go writes float64",
	"list": "Go writes []int{1, 2, 3}", "dict": `Go writes map[string]int{"a": 1}`,
	"self":      "Go names the receiver itself: func (s *Mine) Round(…)",
	"np":        "Go has no NumPy: package math has functions of numbers, gonum.org/v1/gonum matrices",
	"enumerate": "Go writes for i, x := range xs",
	"sum":       "Go writes a loop, or floats.Sum of gonum.org/v1/gonum/floats",
	"sorted":    "Go writes slices.Sort(xs)",
	"range":     "Go writes for i := range 10",
	"input":     "a cell cannot ask: put the value into a variable",
}

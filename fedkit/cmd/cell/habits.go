package main

// habits are names that a Python user writes, and what Go has instead.
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

// habitualMethods are those of Python's lists, dictionaries and strings.
var habitualMethods = map[string]string{
	"append": "Go writes xs = append(xs, x)", "extend": "Go writes xs = append(xs, ys...)", "sort": "Go writes slices.Sort(xs)",
	"index": "Go writes slices.Index(xs, x)", "copy": "Go writes slices.Clone(xs), or maps.Clone(m)",
	"keys": "Go writes for k := range m", "values": "Go writes for _, v := range m", "items": "Go writes for k, v := range m",
	"get":    "Go writes v, ok := m[k]",
	"format": `Go writes fmt.Sprintf("α = %.2f", 0.3)`, "join": `Go writes strings.Join(texts, ", ")`, "split": `Go writes strings.Split(text, ", ")`,
	"strip": "Go writes strings.TrimSpace(text)", "upper": "Go writes strings.ToUpper(text)", "lower": "Go writes strings.ToLower(text)",
	"replace": "Go writes strings.ReplaceAll(text, old, new)", "startswith": "Go writes strings.HasPrefix(text, start)",
}

func habitualMethod(_ *mistake, match []string) string { return habitualMethods[match[1]] }

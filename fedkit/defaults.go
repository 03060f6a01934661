package fedkit

import "fedkit.example/fedkit/config"

// Defaults returns v with the defaults of its options, which are the numbers in the tags of its fields. A part, such as an
// aggregator, calls it at the beginning of its methods:
//
//	func (s Scaled) Aggregate(u *fedkit.Matrix, weights []float64) *fedkit.Matrix {
//		s = fedkit.Defaults(s)
//		…
//
// Each such field of v, or of a struct that v embeds, becomes that number if it is 0, and 0 if it is Zero. Everything else stays as
// it is: a default in words is for readers, and a value that is not a struct has none. It is called once for a value: the second
// time, a Zero that became 0 would become the default. A run does it for its copy of the strategy.
func Defaults[T any](v T) T { return config.Defaults(v) }

// Package stats has the statistics that comparisons of runs need: a confidence interval, tests of paired differences, a
// correction for multiple tests, and ranks. It takes numbers and knows nothing of runs; package compare applies it to them.
//
//	mean, half := stats.Interval(accuracies)  // 95 % confidence
//	p := stats.PairedT(differences)           // of pairs with equal seeds
//	corrected := stats.Holm([]float64{p, p2}) // of several tests
//
// Numbers are those of SciPy's functions with their defaults. Undefined ones are NaN: an interval of one value, a test of
// differences that are all 0.
package stats

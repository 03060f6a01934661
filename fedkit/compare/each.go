package compare

// each returns f of every element.
func each[A, B any](all []A, f func(A) B) []B {
	of := make([]B, len(all))
	for i, a := range all {
		of[i] = f(a)
	}
	return of
}

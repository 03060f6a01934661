package plot

// timeUnit returns the unit that suits simulated times up to most, in s, and its length.
func timeUnit(most float64) (unit string, seconds float64) {
	unit, seconds = "s", 1
	for _, larger := range []struct {
		unit          string
		from, seconds float64
	}{{"min", 10 * 60, 60}, {"h", 4 * 3600, 3600}, {"days", 4 * 86400, 86400}} {
		if most >= larger.from {
			unit, seconds = larger.unit, larger.seconds
		}
	}
	return unit, seconds
}

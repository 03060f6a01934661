package selection

import "fedkit.example/fedkit"

// Diversity prefers the clients that differed most from the global model when they last took part. It draws n of the M
// ranked clients one after the other without replacement, with the probabilities
//
//	P(rank j) ∝ exp((M − j)/T),  j = 0 … M−1,
//
// among those that are left. Ranks count, not values. In one draw the first rank is e^{(M−1)/T} times as likely as the
// last: nearly e times at T = M, and 1.1 times at T = 10M. T = 1 takes the top n ranks or ranks close to them.
//
// If fewer than n clients have taken part so far, all of these are chosen, plus random others. Otherwise those that never
// took part rank highest, since only Explore would reach them if they did not.
type Diversity struct {
	Temperature float64 `range:"[0,inf]" default:"1"` // T, of the softmax over ranks; fedkit.Zero: the top ranks alone; +Inf: uniform
	By          By      // statistic to rank by; default Drift
}

// At implements Tempered.
func (s Diversity) At(temperature float64) fedkit.Selector {
	s.Temperature = temperature
	return s
}

// Select implements fedkit.Selector.
func (s Diversity) Select(r *fedkit.Round, n int) []int {
	return fill(r, softmax(s.By.rank(r, n), n, fedkit.Defaults(s).Temperature, r.Rand("diversity")), n)
}

package strategy

import "fedkit.example/fedkit"

// checkParts reports the first option that is not allowed among those most strategies have; parts are selectors,
// aggregators, server optimisers.
func checkParts(fraction float64, local fedkit.Local, parts ...any) error {
	if err := fedkit.CheckFraction(fraction); err != nil {
		return err
	}
	for _, p := range parts {
		if c, ok := p.(fedkit.Checker); ok {
			if err := c.Check(); err != nil {
				return err
			}
		}
	}
	return local.Check()
}

// checkCohort reports an aggregator that needs another number of clients than a round has.
func checkCohort(fed *fedkit.Federation, fraction float64, a fedkit.Aggregator) error {
	if c, ok := a.(fedkit.CohortChecker); ok {
		return c.CheckCohort(fedkit.Cohort(fraction, fed.Size()))
	}
	return nil
}

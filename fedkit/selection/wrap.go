package selection

import "fedkit.example/fedkit"

// What a rule that wraps another one passes on; a nil one has nothing to say.

func check(then fedkit.Selector) error {
	if c, ok := then.(fedkit.Checker); ok {
		return c.Check()
	}
	return nil
}

func checkFor(then fedkit.Selector, fed *fedkit.Federation) error {
	if c, ok := then.(fedkit.FederationChecker); ok {
		return c.CheckFor(fed)
	}
	return nil
}

func usesSimilarity(then fedkit.Selector) bool {
	u, ok := then.(fedkit.SimilarityUser)
	return ok && u.UsesSimilarity()
}

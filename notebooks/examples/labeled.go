package examples

import "fedkit.example/fedkit"

// labeled refuses data without classes, and says why.
func labeled(fed *fedkit.Federation, why string) error {
	if fed != nil && !fed.Data.Labeled() {
		return fedkit.Invalid("Classes", fed.Data.Classes, "at least 2, and one label per example: "+why)
	}
	return nil
}

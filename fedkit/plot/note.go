package plot

import (
	"fmt"

	"fedkit.example/fedkit/chart"
)

// maxClients is how many clients a figure with a place for each shows.
const maxClients = 100

// note adds to the small print of a figure.
func note(f *chart.Figure, format string, args ...any) {
	if f.Note != "" {
		f.Note += "; "
	}
	f.Note += fmt.Sprintf(format, args...)
}

// noteFirst says how many are drawn of all there are, unless all are.
func noteFirst(f *chart.Figure, shown, all int, what string) {
	if shown < all {
		note(f, "the first %d of %d%s", shown, all, what)
	}
}

// noteEach adds all of them.
func noteEach(f *chart.Figure, remarks []string) {
	for _, r := range remarks {
		note(f, "%s", r)
	}
}

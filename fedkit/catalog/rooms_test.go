package catalog_test

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"golang.org/x/tools/go/packages"
)

// Results are read, compared and exported without XLA, and computed without what draws figures or talks to a notebook.
func TestRoomsLinkNoMoreThanTheyNeed(t *testing.T) {
	const xla, drawing, kernel = `gomlx/|^fedkit\.example/fedkit$`, `gonum\.org/v1/plot|go-fonts|fedkit/(chart|plot)$`, `janpfeifer/gonb`
	without := map[string]string{"chart": xla, "study": drawing + "|" + kernel, "progress": drawing + "|" + kernel, "cmd/fedkit": drawing + "|" + kernel}
	for _, room := range []string{"history", "stats", "table", "compare", "export"} {
		without[room] = xla + "|" + drawing + "|" + kernel
	}
	for room, links := range without {
		linked, superfluous := map[string]bool{}, regexp.MustCompile(links)
		all, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps}, "fedkit.example/fedkit/"+room)
		if err != nil || packages.PrintErrors(all) > 0 {
			t.Fatal(err)
		}
		packages.Visit(all, nil, func(p *packages.Package) { linked[p.PkgPath] = true })
		if len(linked) < 10 {
			t.Errorf("%s: %d packages", room, len(linked))
		}
		for _, p := range slices.Sorted(maps.Keys(linked)) {
			if superfluous.MatchString(p) {
				t.Errorf("%s links %s", room, p)
			}
		}
	}
}

package docs_test

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"golang.org/x/tools/go/packages"
)

// Results are read, compared and exported without XLA, and computed without what draws figures or talks to a notebook.
func TestRoomsLinkNoMoreThanTheyNeed(t *testing.T) {
	const xla, figures = `gomlx/|^fedkit\.example/fedkit$`, `gonum\.org/v1/plot|go-fonts|janpfeifer/gonb|fedkit/(chart|plot|gonb)$`
	for room, links := range map[string]string{
		"history": xla + "|" + figures, "stats": xla + "|" + figures, "table": xla + "|" + figures, "compare": xla + "|" + figures,
		"export": xla + "|" + figures, "chart": xla, "study": figures, "progress": figures, "preset": figures, "command": figures, "cmd/fedkit": figures,
	} {
		linked, superfluous := map[string]bool{}, regexp.MustCompile(links)
		all, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps}, "fedkit.example/fedkit/"+room)
		if err != nil || packages.PrintErrors(all) > 0 {
			t.Fatal(err)
		}
		packages.Visit(all, nil, func(p *packages.Package) { linked[p.PkgPath] = true })
		expect.That(t, len(linked) >= 10, "%s: %d packages", room, len(linked))
		for _, p := range slices.Sorted(maps.Keys(linked)) {
			expect.That(t, !superfluous.MatchString(p), "%s links %s", room, p)
		}
	}
}

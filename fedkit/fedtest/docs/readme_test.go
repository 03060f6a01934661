package docs_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/preset"
	"fedkit.example/notebooks/studies"
)

// top is the repository's root.
const top = "../../.."

var (
	link    = regexp.MustCompile(`\]\(([^)#:]+)(?:#([^)]*))?\)`) // to a file of the repository, and a heading of a page
	structs = regexp.MustCompile(`(?m)^type (\w+) struct`)
)

func read(t *testing.T, path string) string {
	t.Helper()
	b := expect.Value(os.ReadFile(filepath.Join(top, filepath.FromSlash(path))))(t)
	return string(b)
}

// pages are the README and those of the guide.
func pages(t *testing.T) []string {
	found, _ := filepath.Glob(filepath.Join(top, "notebooks", "guide", "*.md"))
	if len(found) < 8 {
		t.Fatalf("found only %v", found)
	}
	all := []string{"README.md"}
	for _, path := range found {
		all = append(all, "notebooks/guide/"+filepath.Base(path))
	}
	return all
}

// algorithms is the page of the guide that lists what there is.
const algorithms = "notebooks/guide/algorithms.md"

// guide is its first page, which lists the notebooks.
const guide = "notebooks/guide/README.md"

// rows returns the lines of the page's table with this header, without the header.
func rows(t *testing.T, page, head string) []string {
	t.Helper()
	_, rest, found := strings.Cut(read(t, page), "\n"+head+"\n|---")
	if !found {
		t.Fatalf("%s has no table %q", page, head)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	table, _, _ := strings.Cut(rest, "\n\n")
	return strings.Split(strings.TrimSpace(table), "\n")
}

// links returns the files that the text of a page links to, as paths in the repository.
func links(page, text string) (paths []string) {
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		paths = append(paths, path.Join(path.Dir(page), m[1]))
	}
	return paths
}

// cells returns the sources of a notebook's cells of one type; "" stands for all.
func cells(t *testing.T, path, of string) string {
	t.Helper()
	var notebook struct {
		Cells []struct {
			Type   string   `json:"cell_type"`
			Source []string `json:"source"`
		}
	}
	if err := json.Unmarshal([]byte(read(t, path)), &notebook); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var b strings.Builder
	for _, c := range notebook.Cells {
		if of == "" || c.Type == of {
			b.WriteString(strings.Join(c.Source, "") + "\n")
		}
	}
	return b.String()
}

// uses reports whether code has the name: "strategy.FedAvg", but not "strategy.FedAvgM".
func uses(code, name string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(code)
}

// bare returns the letters and digits of a text, in lower case: "Fed-PRISM" is "fedprism".
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// notebooks returns the repository's notebooks, "notebooks/00_start.ipynb".
func notebooks(t *testing.T) (paths []string) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(top, "notebooks", "[0-9][0-9]_*.ipynb"))
	for _, path := range found {
		paths = append(paths, "notebooks/"+filepath.Base(path))
	}
	if len(paths) < 20 {
		t.Fatalf("found only %v", paths)
	}
	return paths
}

// The README and the pages of the guide lead to files and headings that there are, and the README stays short.
func TestPagesLinkToWhatThereIs(t *testing.T) {
	if n := strings.Count(read(t, "README.md"), "\n"); n > 120 {
		t.Errorf("README.md has %d lines, more than 120", n)
	}
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			to := path.Join(path.Dir(page), m[1])
			if _, err := os.Stat(filepath.Join(top, filepath.FromSlash(to))); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if heading := strings.ReplaceAll(m[2], "-", " "); m[2] != "" && !strings.Contains(strings.ToLower(read(t, to)), "\n## "+heading+"\n") {
				t.Errorf("%s leads to #%s of %s, which it does not have", page, m[2], to)
			}
		}
	}
}

// The commands that pages and scripts print run studies and presets that there are.
func TestPrintedStudies(t *testing.T) {
	var names []string
	for _, p := range preset.All() {
		names = append(names, p.Name)
	}
	n := 0
	for _, s := range studies.All {
		names = append(names, s.Name)
	}
	command := regexp.MustCompile(`(?:scripts/study|fedkit study|study\.slurm ~/fedkit|fedkit, study,)(?: status| run)? ([\w-]*\d[\w-]*)`)
	for _, path := range append(pages(t), "scripts/study", "scripts/fedkit", "scripts/study.slurm", "scripts/study.yaml", "fedkit/study/submit.go", "fedkit/preset/preset.go") {
		for _, m := range command.FindAllStringSubmatch(read(t, path), -1) {
			if n++; !slices.Contains(names, m[1]) {
				t.Errorf("%s: %s: there is no such study", path, m[0])
			}
		}
	}
	expect.That(t, n >= 15, "found only %d", n)
}

// Each strategy that a notebook uses is in a row with its file and such a notebook, and a row has nothing else. Others, and those of
// notebooks/examples, are in a sentence, with their files.
func TestGuideListsEveryStrategy(t *testing.T) {
	text, all := read(t, algorithms)+read(t, "notebooks/guide/strategies.md"), ""
	for _, path := range notebooks(t) {
		all += cells(t, path, "code")
	}
	listed := slices.DeleteFunc(strategies(t, append(filesIn(text, "notebooks/examples"), filesIn(text, "fedkit/strategy")...)), func(name string) bool {
		return strings.HasPrefix(name, "strategy.") && uses(all, name)
	})
	for _, row := range rows(t, algorithms, "| algorithm | file | notebook |") {
		columns := strings.Split(row, "|")
		names, all := strategies(t, links(algorithms, columns[2])), ""
		for _, path := range links(algorithms, columns[3]) {
			code := cells(t, path, "code")
			expect.That(t, slices.ContainsFunc(names, func(name string) bool { return uses(code, name) }),
				"%s uses none of %v", path, names)
			if number := filepath.Base(path)[:2]; !strings.Contains(columns[3], "["+number+"](../"+filepath.Base(path)+")") {
				t.Errorf("the link to %s is not called %s", path, number)
			}
			all += code
		}
		for _, name := range names {
			expect.That(t, uses(all, name), "no notebook of its row uses %s", name)
			expect.That(t, strings.Contains(bare(columns[1]), bare(name[strings.Index(name, ".")+1:])),
				"its row does not name %s: %s", name, columns[1])
		}
		expect.That(t, len(names) > 0, "the files of a row have no strategy: %s", row)
		listed = append(listed, names...)
	}
	for _, s := range every.Kinds[0].Parts {
		expect.That(t, slices.Contains(listed, every.Name(s)), "%s does not list %s", algorithms, every.Name(s))
	}
}

// strategies returns those that the files declare: "strategy.FedAvg".
func strategies(t *testing.T, files []string) (names []string) {
	t.Helper()
	for _, path := range files {
		for _, m := range structs.FindAllStringSubmatch(read(t, path), -1) {
			name := filepath.Base(filepath.Dir(path)) + "." + m[1]
			if slices.ContainsFunc(every.Kinds[0].Parts, func(s any) bool { return every.Name(s) == name }) {
				names = append(names, name)
			}
		}
	}
	return names
}

// filesIn returns the files of a folder that a text links to.
func filesIn(text, folder string) []string {
	return slices.DeleteFunc(links(algorithms, text), func(path string) bool { return filepath.ToSlash(filepath.Dir(path)) != folder })
}

// inWords maps names in Go to the guide's words for them.
var inWords = map[string]string{
	"selection.Explore": "exploration", "cluster.BestSilhouette": "silhouette", "partition.Relabel": "label permutations", "partition.Take": "a few rows each", "partition.Same": "the same rows",
	"model.LinearRegression": "linear",
}

// Each part is named in the row of its package.
func TestGuideListsEveryPart(t *testing.T) {
	said := map[string]string{} // by package
	for _, row := range rows(t, algorithms, "| parts | |") {
		columns := strings.Split(row, "|")
		pkg := "fedkit"
		for _, path := range links(algorithms, columns[1]) {
			if filepath.Ext(path) == ".go" {
				path = filepath.Dir(path)
			}
			pkg = filepath.Base(path)
		}
		said[pkg] += bare(columns[2])
	}
	for _, k := range every.Kinds[1:] {
		for _, part := range k.Parts {
			pkg, name, _ := strings.Cut(every.Name(part), ".")
			if pkg == "examples" {
				continue
			}
			if words := cmp.Or(inWords[every.Name(part)], name); !strings.Contains(said[pkg], bare(words)) {
				t.Errorf("the row of %s does not say %q", pkg, words)
			}
		}
	}
}

func TestGuideListsEveryNotebook(t *testing.T) {
	var listed []string
	for _, row := range rows(t, guide, "| notebook | what it shows |") {
		listed = append(listed, links(guide, strings.Split(row, "|")[1])...)
	}
	if is := notebooks(t); !slices.Equal(listed, is) {
		t.Errorf("the guide lists %v, and there are %v", listed, is)
	}
}

// Each notebook but the index ends with a table of claims, most of them a reproduction card.
func TestEveryNotebookHasACard(t *testing.T) {
	for _, path := range notebooks(t) {
		if code := cells(t, path, "code"); !uses(code, "compare.Claims") && path != "notebooks/00_index.ipynb" {
			t.Errorf("%s has no card", path)
		}
	}
}

// Links within a notebook's outputs lead to an anchor or a heading (see compare.Heading).
func TestLinksInNotebooksLeadSomewhere(t *testing.T) {
	anchor, place, heading := regexp.MustCompile(`href=\\"#([^"\\]+)`), regexp.MustCompile(`<a id=\\"([^"\\]+)`), regexp.MustCompile(`"#+ ([^"\\]+)`)
	n := 0
	for _, path := range notebooks(t) {
		text, there := read(t, path), map[string]bool{}
		for _, m := range place.FindAllStringSubmatch(text, -1) {
			there[m[1]] = true
		}
		for _, m := range heading.FindAllStringSubmatch(text, -1) {
			there[strings.ReplaceAll(m[1], " ", "-")] = true
		}
		for _, m := range anchor.FindAllStringSubmatch(text, -1) {
			if n++; !there[m[1]] {
				t.Errorf("%s leads to #%s, which it does not have", path, m[1])
			}
		}
	}
	expect.That(t, n > 0, "no notebook has such a link: has their form changed?")
}

package main

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

var directive = regexp.MustCompile(`/\*line [^*]*\*/`)

// body returns the statements of main, without directives and Guard.
func body(source string) string {
	_, source, _ = strings.Cut(directive.ReplaceAllString(source, ""), "defer fedkitguard.Guard(); ")
	return strings.TrimSpace(source[:strings.LastIndex(source, "}")])
}

func TestWrapLastLine(t *testing.T) {
	const own = "func void() {}\nfunc twice(x int) int { return 2 * x }\ntype T struct{}\nfunc (T) Quiet() {}\n"
	for last, want := range map[string]string{
		"h":                          "fedkitguard.Show(h)",
		"h // the run":               "fedkitguard.Show(h) // the run",
		"x := 1\nx + 1":              "x := 1\nfedkitguard.Show(x + 1)",
		"[]int{\n\t1,\n}":            "fedkitguard.Show([]int{\n\t1,\n})",
		"twice(2)":                   "fedkitguard.Show(twice(2))",
		"f.Unknown()":                "fedkitguard.Show(f.Unknown())",
		"void()":                     "void()",
		"T{}.Quiet()":                "T{}.Quiet()",
		"func() {}()":                "func() {}()",
		"plot.Accuracy(h).Show()":    "plot.Accuracy(h).Show()",
		"fmt.Println(h)":             "fmt.Println(h)",
		"must.M(err)":                "must.M(err)",
		"panic(1)":                   "panic(1)",
		"<-done":                     "<-done",
		"x := 1":                     "x := 1",
		"for range 3 { h }":          "for range 3 { h }",
		"if true { plot.Loss(h) }":   "if true { plot.Loss(h) }",
		"h\nfmt.Println()":           "h\nfmt.Println()",
		"defer stop()":               "defer stop()",
		"fmt.Sprintf(\"%d\", x)":     "fedkitguard.Show(fmt.Sprintf(\"%d\", x))",
		"must.M1(fedkit.New(a, b))":  "fedkitguard.Show(must.M1(fedkit.New(a, b)))",
		"&strategy.FedAvg{LR: 1}":    "fedkitguard.Show(&strategy.FedAvg{LR: 1})",
		"(h)":                        "fedkitguard.Show((h))",
		"h.Rounds[0]":                "fedkitguard.Show(h.Rounds[0])",
		"func() int { return 1 }()":  "fedkitguard.Show(func() int { return 1 }())",
		"flag.Parse()":               "flag.Parse()",
		"":                           "",
		"type A int\nvar a A\nA(a)":  "type A int\nvar a A\nfedkitguard.Show(A(a))",
		"go work()":                  "go work()",
		"wait: for { break wait }":   "wait: for { break wait }",
		"x++":                        "x++",
		"c <- 1":                     "c <- 1",
		"fmt.Errorf(\"no %d\", len)": "fedkitguard.Show(fmt.Errorf(\"no %d\", len))",
	} {
		source := "package main\n\n" + own + "\nfunc main() {\n" + last + "\n}\n"
		wrapped := expect.Value(wrap("/tmp/main.go", []byte(source), true))(t)
		got := body(string(wrapped))
		expect.That(t, got == want, "%q: got %q, expected %q", last, got, want)
		expect.That(t, strings.Count(string(wrapped), "\n") == strings.Count(source, "\n"), "%q: a line was added or removed", last)
	}
}

func TestWrapPicksShow(t *testing.T) {
	for path, want := range map[string]string{
		"fmt":                              "fedkitguard",
		"fedkit.example/datasets":          "fedkitguard",
		"fedkit.example/fedkit/chart":      "fedkitguard",
		"fedkit.example/fedkit/table":      "fedkitguard",
		"fedkit.example/fedkit":            "fedkitshow",
		"fedkit.example/fedkit/strategy":   "fedkitshow",
		"fedkit.example/notebooks/studies": "fedkitshow",
	} {
		wrapped := expect.Value(wrap("/tmp/main.go", []byte("package main\n\nimport (\n\tx \""+path+"\"\n)\n\nfunc main() {\nx.Y\n}\n"), true))(t)
		if !strings.Contains(string(wrapped), want+".Show(") || strings.Contains(string(wrapped), draws) != (want == "fedkitshow") {
			t.Errorf("%s: expected %s.Show in %s", path, want, wrapped)
		}
		links := want == "fedkitshow" || strings.HasSuffix(path, "/table")
		expect.That(t, strings.Contains(string(wrapped), sends) == links, "%s: links the kernel: %v, want %v", path, !links, links)
	}
}

func TestWrapKeepsPlaces(t *testing.T) {
	const source = "package main\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/janpfeifer/must\"\n)\n\nvar x = must.M1(f())\n\nfunc main() {\n\tflag.Parse()\n\tfmt.Println()\n\tx.Y(\n\t\ty,\n\t)\n}\n"
	wrapped := expect.Value(wrap("/tmp/main.go", []byte(source), true))(t)
	places := func(source string) (all []string) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "/tmp/main.go", source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err, source)
		}
		for _, decl := range file.Decls {
			all = append(all, fset.Position(decl.End()).String())
		}
		return all
	}
	got := strings.Join(places(string(wrapped)), " ")
	for _, want := range places(source) {
		expect.That(t, strings.Contains(got, want), "no declaration ends at %s any more: %s", want, got)
	}
	i, j := strings.Index(string(wrapped), "must.M = "), strings.Index(string(wrapped), "var x")
	expect.That(t, i >= 0 && i <= j, "must.M is not replaced before other variables: %s", wrapped)
}

// A program that is started again as a worker does nothing before that.
func TestWrapLetsWorkersWork(t *testing.T) {
	wrapped, err := wrap("/tmp/main.go", []byte("package main\n\nimport (\n\tx \""+commands+"\"\n)\n\nvar f = g()\n\nfunc main() {}\n"), true)
	want := "; var _ = x.Main(); var _ = fedkitguard.Begin()\n"
	expect.That(t, err == nil && strings.Contains(string(wrapped), want), "%v, no %q in %s", err, want, wrapped)
}

func TestWrapRefusesWhatIsNoGo(t *testing.T) {
	expect.Error(t)(wrap("/tmp/main.go", []byte("package main\n\nfunc main() {"), true))
}

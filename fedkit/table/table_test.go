package table

import (
	"encoding/csv"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/display"
)

func TestTable(t *testing.T) {
	table := &Table{Lines: [][]string{{"", "accuracy"}, {"<FedAvg>", "60.0 ± 1.4 %"}, {"B"}}, Note: "on test rows"}
	want := "" +
		"              accuracy\n" +
		"<FedAvg>  60.0 ± 1.4 %\n" +
		"B\n" +
		"on test rows\n"
	got := table.String()
	expect.That(t, got == want, "got:\n%s", got)
	s := table.HTML()
	expect.That(t, !strings.Contains(s, "<FedAvg>") && strings.Contains(s, `<td style="text-align:left">&lt;FedAvg&gt;</td>`), "got:\n%s", s)
	got = charttest.Capture(t, &os.Stdout, table.Show)
	expect.That(t, got == want, "printed:\n%s", got)
	c := charttest.InCell(t)
	table.Show()
	f := c.Outputs[0].Forms
	expect.That(t, len(c.Outputs) == 1 && f["text/html"] == table.HTML() && f["text/plain"] == want && c.Syncs == 1, "%+v", c.Outputs)
}

// Numbers do not wrap, with their intervals and units. Sentences may.
func TestNumbersStayWhole(t *testing.T) {
	table := &Table{Left: []int{2}, Note: "± 1.4 %",
		Lines: [][]string{{"", "to 90 % of all", "why"}, {"a b", "3 min 22 s ± 25.4 s", "it has 5 % of the rows"}}}
	got := strings.ReplaceAll(table.HTML(), "\u00a0", "~")
	for _, want := range []string{">a b<", ">to 90~% of all<", ">3~min~22~s~±~25.4~s<", ">it has 5~% of the rows<", ">±~1.4~%<"} {
		expect.That(t, strings.Contains(got, want), "%s has no %s", got, want)
	}
	expect.That(t, !strings.Contains(table.String()+table.CSV()+table.LaTeX(), "\u00a0"), "a no-break space in text")
}

// Names from files neither control a terminal nor break lines, and no spreadsheet computes them. Numbers stay numbers.
func TestNamesOfAnyOrigin(t *testing.T) {
	table := &Table{Lines: [][]string{{"", "accuracy"}, {"=1+1\x1b[2J\nFedAvg", "-0.5"}, {"-a", "-1"}}, Note: "\u009b31m"}
	want := "                       accuracy\n" +
		`=1+1\u001b[2J\nFedAvg      -0.5` + "\n" +
		"-a                         -1\n" +
		`\u009b31m` + "\n"
	got := table.String()
	expect.That(t, got == want, "got:\n%q, want\n%q", got, want)
	got = table.CSV()
	expect.That(t, got == ",accuracy\n\"'=1+1\x1b[2J\nFedAvg\",-0.5\n'-a,-1\n", "got:\n%q", got)
	table.Data = [][]any{{"", "accuracy"}, {"@", -0.5}, {"-1", -1}}
	got = table.CSV()
	expect.That(t, got == ",accuracy\n'@,-0.5\n-1,-1\n", "got:\n%q", got)
}

func TestTablesThatCannotBeShown(t *testing.T) {
	for want, table := range map[string]*Table{"is nil": nil, "no lines": {Note: "empty"}} {
		expect.Error(t, want)(table.Err())
		if !strings.HasPrefix(table.String(), display.ErrorPrefix) || !strings.Contains(table.HTML(), display.ErrorPrefix) {
			t.Errorf("%q hides the error", table.String())
		}
	}
}

// Bold cells, links and tall cells, in each form: text has stars and no addresses, and programs have neither.
func TestMarkedCells(t *testing.T) {
	table := &Table{
		Lines: [][]string{{"claim", "gain", "runs"}, {"A|B", "12 %", "2 · Who"}, {"", "3 %", ""}, {"C", "–", "<paper>"}, {"D", "", ""}},
		Left:  []int{2}, Tall: []int{0, 2},
		Bold:  map[At]bool{{1, 1}: true},
		Links: map[At]string{{1, 2}: "#2-·-(Who)", {3, 2}: `https://a.org/?a=1&b="2"`},
	}
	for got, want := range map[string]string{
		table.String(): "claim  gain   runs\n" + "A|B    12 %*  2 · Who\n" + "        3 %\n" + "C       –     <paper>\n" + "D\n",
		table.CSV():    "claim,gain,runs\nA|B,12 %,2 · Who\n,3 %,\nC,–,<paper>\nD,,\n",
		table.Markdown(): "| claim | gain | runs |\n| :-- | --: | :-- |\n" +
			"| A\\|B | **12 %** | [2 · Who](<#2-%C2%B7-(Who)>) |\n|  | 3 % |  |\n" + `| C | – | [\<paper\>](<https://a.org/?a=1&b="2">) |` + "\n| D |  |  |\n",
		strings.ReplaceAll(table.HTML(), "\u00a0", "~"): `<table style="text-align:right;font-variant-numeric:tabular-nums">
<thead><tr><th style="text-align:left">claim</th><th>gain</th><th style="text-align:left">runs</th></tr></thead><tbody>
<tr style="background:none"><td rowspan="2" style="text-align:left;vertical-align:top">A|B</td><td><b>12~%</b></td><td rowspan="2" style="text-align:left;vertical-align:top"><a href="#2-%C2%B7-(Who)">2 · Who</a></td></tr>
<tr style="background:none"><td>3~%</td></tr></tbody><tbody style="background:#80808018">
<tr style="background:none"><td style="text-align:left">C</td><td>–</td><td style="text-align:left"><a href="https://a.org/?a=1&amp;b=&#34;2&#34;">&lt;paper&gt;</a></td></tr></tbody><tbody style="background:none">
<tr style="background:none"><td style="text-align:left">D</td><td></td><td style="text-align:left"></td></tr></tbody>
</table>
<small></small>`,
	} {
		expect.That(t, got == want, "got\n%s\nwant\n%s", got, want)
	}
	tex := table.LaTeX()
	expect.That(t, strings.Contains(tex, `A\textbar{}B & \textbf{12~\%} & 2 $\cdot$ Who \\`), "%v", tex)
}

// Numbers line up at the decimal point, whatever follows them; other columns are as they were.
func TestNumbersLineUp(t *testing.T) {
	table := &Table{Lines: [][]string{{"", "time", "what"}, {"A", "12.50 ± 1.25 s", "3 of x"}, {"B", "−3.2", "y"}, {"C", "–", ""}, {"D", "< 0.001"}}}
	want := "" +
		"              time    what\n" +
		"A   12.50 ± 1.25 s  3 of x\n" +
		"B   −3.2                 y\n" +
		"C    –\n" +
		"D  < 0.001\n"
	got := table.String()
	expect.That(t, got == want, "got:\n%s", got)
	got = table.CSV()
	expect.That(t, got == ",time,what\nA,12.50 ± 1.25 s,3 of x\nB,-3.2,y\nC,–,\nD,< 0.001\n", "got:\n%s", got)
}

// In a browser, what follows the numbers of a column is as wide in all lines, without a letter that nobody sees, and a column that lines
// up by itself is left alone.
func TestColumnsLineUp(t *testing.T) {
	table := &Table{Lines: [][]string{{"", "best", "accuracy", "loss"}, {"A", "93.1 ± 0.4 %", "90.0 %", "0.12"}, {"B", "99.0 %", "8.5 %", "3"}, {"C", "– (0/3)", "–", ""}}}
	got := strings.ReplaceAll(table.HTML(), "\u00a0", "~")
	const box = `<span style="display:inline-block;width:4.4em;text-align:left">`
	for _, want := range []string{`<td><nobr>93.1` + box + "~±~0.4~%</span></nobr></td>", "99.0" + box + "~%</span>", "–" + box + "~(0/3)</span>", "<td>90.0~%</td><td>0.12</td>", "<td>8.5~%</td><td>3</td>", "<td>–</td>"} {
		expect.That(t, strings.Contains(got, want), "%s has no %s", got, want)
	}
	expect.That(t, !strings.ContainsAny(got, "\u200b\u2007"), "letters that nobody sees: %q", got)
}

// Verdicts have signs for readers, and none for programs.
func TestVerdicts(t *testing.T) {
	table := &Table{Lines: [][]string{{"claim", "verdict"}, {"A", "holds"}, {"B", "does not"}, {"C", "not seen"}, {"D", "x"}}, Left: []int{1},
		Verdicts: map[At]Verdict{{1, 1}: Holds, {2, 1}: Fails, {3, 1}: Open, {4, 1}: 7}}
	expect.That(t, table.String() == "claim  verdict\nA      ✓ holds\nB      ✗ does not\nC      ○ not seen\nD      x\n", "got:\n%s", table)
	expect.That(t, strings.Contains(table.LaTeX(), `A & $\surd$ holds \\`) && strings.Contains(table.Markdown(), "| B | ✗ does not |"), "%s%s", table.LaTeX(), table.Markdown())
	expect.That(t, strings.Contains(table.HTML(), `<td style="text-align:left;color:#008558">✓ holds</td>`), "%s", table.HTML())
	expect.That(t, strings.Contains(table.CSV(), "A,holds\nB,does not\n"), "%s", table.CSV())
}

// The header of a long table stays in sight and sorts it; a short one has no code, and neither has code that ends an attribute or a tag.
func TestLongTables(t *testing.T) {
	table := &Table{Lines: [][]string{{"", "accuracy"}}}
	for len(table.Lines) < longTable {
		table.Lines = append(table.Lines, []string{"A", "1 %"})
	}
	expect.That(t, !strings.Contains(table.HTML(), "onclick"), "a short table is sorted: %s", table.HTML())
	table.Lines = append(table.Lines, []string{"B", "2 %"})
	_, code, found := strings.Cut(table.HTML(), `position:sticky;top:0;cursor:pointer;background:var(--jp-layout-color0,Canvas)" onclick="`)
	code, _, _ = strings.Cut(code, `"`)
	expect.That(t, found && strings.HasPrefix(code, "let h=") && strings.HasSuffix(code, "'none'})") && !strings.ContainsAny(code, "<>\n"), "%q", code)
}

// Links of a table do not run code.
func TestLinksThatAreRefused(t *testing.T) {
	for _, to := range []string{"javascript:alert(1)", " javascript:alert(1)", "JavaScript:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "%zz"} {
		table := &Table{Lines: [][]string{{"a"}}, Links: map[At]string{{0, 0}: to}}
		err := table.Err()
		expect.That(t, err != nil && strings.Contains(err.Error(), "must be a #place"), "%q: %v", to, err)
	}
}

// A notebook holds all of a long table once, as HTML.
func TestLongTablesAreShortAsText(t *testing.T) {
	for text, want := range map[string]string{
		"":                "",
		"aaa\nbbb\n":      "aaa\nbbb\n",
		"aaa\nbbb\nccc\n": "aaa\nbbb\n… and 1 more lines, which the HTML form of this output has\n",
		"aaaaaaaaaa\nb\n": "… and 2 more lines, which the HTML form of this output has\n",
	} {
		got := firstLines(text, 8)
		expect.That(t, got == want, "%q: %q, want %q", text, got, want)
	}
}

func TestMake(t *testing.T) {
	for want, build := range map[string]func(*Table) error{
		"":                              func(t *Table) error { t.Lines = [][]string{{"a"}}; return nil },
		"plot: table: no history given": func(*Table) error { return errors.New("no history given") },
		"plot: table: could not be drawn: index out of range": func(*Table) error { panic("index out of range") },
	} {
		err := Make("plot: table", build).Err()
		expect.That(t, (err == nil) == (want == "") && (err == nil || err.Error() == want), "%v, want %q", err, want)
	}
}

// results is a table with everything that some form would interpret.
func results() *Table {
	return &Table{
		Lines: [][]string{{"", "accuracy", "why"}, {"FedProx, μ 0.1", "60.0 ± 1.4 %", "a_b|c & <d> [e] $5 #1 {f} ~ ^ \\"}, {"x, \"y\"", "–"}},
		Note:  "‖w‖₂ ≤ 10⁻³ × 5 %",
		Left:  []int{2},
	}
}

func TestForms(t *testing.T) {
	table := results()
	for got, want := range map[string]string{
		table.CSV(): ",accuracy,why\n" +
			`"FedProx, μ 0.1",60.0 ± 1.4 %,a_b|c & <d> [e] $5 #1 {f} ~ ^ \` + "\n" +
			`"x, ""y""",–` + "\n",
		table.Markdown(): "|  | accuracy | why |\n| :-- | --: | :-- |\n" +
			`| FedProx, μ 0.1 | 60.0 ± 1.4 % | a\_b\|c & \<d\> \[e\] \$5 #1 {f} \~ ^ \\ |` + "\n" +
			`| x, "y" | – |  |` + "\n\n‖w‖₂ ≤ 10⁻³ × 5 %\n",
		table.LaTeX(): `\begin{tabular}{lrl}
\toprule
 & accuracy & why \\
\midrule
FedProx, $\mu$ 0.1 & 60.0 $\pm$ 1.4~\% & a\_b\textbar{}c \& \textless{}d\textgreater{} {[}e{]} \$5 \#1 \{f\} \textasciitilde{} \textasciicircum{} \textbackslash{} \\
x, ''y'' & -- &  \\
\bottomrule
\end{tabular}
\par\smallskip{\footnotesize $\|$w$\|$$_2$ $\leq$ 10$^-$$^3$ $\times$ 5~\%\par}
`,
	} {
		expect.That(t, got == want, "got\n%s\nwant\n%s", got, want)
	}
}

// Replacements of symbols are ASCII, which every TeX reads.
func TestTeXWords(t *testing.T) {
	words := latexSymbols()
	for i := 0; i < len(words); i += 2 {
		for _, r := range latex(words[i]) {
			if r > 126 {
				t.Errorf("%q becomes %q", words[i], latex(words[i]))
			}
		}
	}
}

// Programs get all digits of the numbers, and empty cells for what is not a number.
func TestNumbersAsCSV(t *testing.T) {
	table := &Table{
		Lines: [][]string{{"", "accuracy"}, {"A", "33.3 %"}, {"B", "–"}},
		Data:  [][]any{{"run", "accuracy", "accuracy ±", "n"}, {"A", 1. / 3, 1e-20, 5}, {"B", math.NaN(), math.NaN(), 0}},
	}
	got := expect.Value(csv.NewReader(strings.NewReader(table.CSV())).ReadAll())(t)
	want := [][]string{{"run", "accuracy", "accuracy ±", "n"}, {"A", "0.3333333333333333", "1e-20", "5"}, {"B", "", "", "0"}}
	expect.That(t, reflect.DeepEqual(got, want), "%q", got)
	table.Lines = table.Lines[:2]
	expect.Error(t, "2 lines, and data of 3")(table.Err())
}

func TestSaveTable(t *testing.T) {
	table, dir := results(), t.TempDir()
	for ext, want := range map[string]string{".csv": table.CSV(), ".tex": table.LaTeX(), ".md": table.Markdown(), ".TXT": table.String(), ".html": table.HTML()} {
		path := filepath.Join(dir, "new", "table"+ext)
		expect.OK(t, table.Save(path))
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if err := table.Save(filepath.Join(dir, "table.xlsx")); err == nil || !strings.Contains(err.Error(), ".csv, .tex, .md, .txt or .html, not \".xlsx\"") {
		t.Errorf("%v", err)
	}
	if err := table.Save(filepath.Join(dir, "new", "table.csv", "x.csv")); err == nil || !strings.HasPrefix(err.Error(), "table: ") {
		t.Errorf("a file where a folder should be: %v", err)
	}
	bad := &Table{err: errors.New("no runs")}
	if err := bad.Save(filepath.Join(dir, "bad.csv")); err == nil || err.Error() != "no runs" || bad.CSV()+bad.LaTeX()+bad.Markdown() != "" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "bad.csv")); err == nil {
		t.Error("a file of a table that cannot be shown")
	}
}

func TestUnits(t *testing.T) {
	for v, want := range map[float64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 1234567: "1.23 MB", 9.9996e8: "1.00 GB", 2e13: "20 TB", 4e15: "4 PB", -1234567: "−1.23 MB"} {
		if got := Bytes(v); got != want {
			t.Errorf("%g bytes: %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0.25: "0.25 s", 12.34: "12.3 s", 99.96: "1 min 40 s", 3599.6: "1 h 00 min", 7500: "2 h 05 min", 2*86400 - 31: "47 h 59 min", 4*86400 + 3*3600 - 60: "4 d 03 h", -0.25: "−0.25 s", -0.001: "0.00 s", -389: "−6 min 29 s"} {
		if got := Seconds(v); got != want {
			t.Errorf("%g s: %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{-0.0004: "0.0 %", -0.0006: "−0.1 %", -1e-9: "0.0 %", 0.1: "10.0 %"} {
		if got := Percent(v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
}

// Readers see a true minus, no negative zero and powers of ten.
func TestMinus(t *testing.T) {
	for text, want := range map[string]string{"-0.5": "−0.5", "-0.0": "0.0", "-0.0 %": "0.0 %", "-0": "0", "-Inf": "−Inf", "NaN": "NaN", "5": "5",
		"1e-06": "10⁻⁶", "-1e-06": "−10⁻⁶", "1.5e+20": "1.5×10²⁰", "-0e+00": "0×10⁰", "1.0e-09": "1.0×10⁻⁹", "-3 of a cohort": "−3 of a cohort"} {
		got := Minus(text)
		expect.That(t, got == want, "%q: %q, want %q", text, got, want)
	}
}

func TestNoBreak(t *testing.T) {
	for words, want := range map[string]string{
		"rounds to 90 % of FedAvg":   "rounds to 90~% of FedAvg",
		"60.0 ± 1.4 %":               "60.0~±~1.4~%",
		"band: ± 1 standard":         "band: ±~1 standard",
		"3 min 22 s ± 25.4 s, later": "3~min~22~s~±~25.4~s, later",
		"5 seeds, 12 methods":        "5 seeds, 12 methods",
		"1.2 MB of 3 hosts in 5 h":   "1.2~MB of 3 hosts in 5~h",
		"a % b":                      "a % b",
	} {
		got := strings.ReplaceAll(NoBreak(words), "\u00a0", "~")
		expect.That(t, got == want, "%q becomes %q, want %q", words, got, want)
	}
}

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

	"fedkit.example/fedkit/fedtest/expect"
)

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
	if want := [][]string{{"run", "accuracy", "accuracy ±", "n"}, {"A", "0.3333333333333333", "1e-20", "5"}, {"B", "", "", "0"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
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

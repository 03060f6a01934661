package table

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"fedkit.example/fedkit/internal/file"
	"fedkit.example/fedkit/internal/text"
)

// Save writes the table to a file, in the form of its extension: ".csv", ".tex" (LaTeX), ".md" (Markdown), ".txt" or ".html". The
// file is written atomically; folders are made as needed.
func (t *Table) Save(path string) error {
	if err := t.Err(); err != nil {
		return err
	}
	forms := map[string]func() string{".csv": t.CSV, ".tex": t.LaTeX, ".md": t.Markdown, ".txt": t.String, ".html": t.HTML}
	ext := strings.ToLower(filepath.Ext(path))
	form, ok := forms[ext]
	if !ok {
		return fmt.Errorf("table: %s: a table is saved as .csv, .tex, .md, .txt or .html, not %q", path, ext)
	}
	if err := file.Write(path, []byte(form())); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

// CSV writes Data, or Lines if there are none, separated by commas. Numbers have all their digits, and NaN is empty. Text that a
// spreadsheet would compute, because it begins with =, +, -, − or @, is prefixed with an apostrophe, and so is text that begins with
// one. In Lines, numbers such as "−3.2" have a minus that programs read. The note is left out. If the table cannot be shown, the result is empty: see Err.
func (t *Table) CSV() string {
	if t.Err() != nil {
		return ""
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, line := range t.data() {
		var cells []string
		for _, c := range line {
			cells = append(cells, raw(c))
		}
		_ = w.Write(cells) // into memory
	}
	w.Flush()
	return b.String()
}

func (t *Table) data() [][]any {
	if t.Data != nil {
		return t.Data
	}
	all := make([][]any, len(t.Lines))
	for i, line := range t.Lines {
		for _, c := range line {
			all[i] = append(all[i], c)
		}
	}
	return all
}

// raw writes a cell for a program.
func raw(cell any) string {
	if v, ok := cell.(float64); ok {
		return strings.TrimSuffix(strconv.FormatFloat(v, 'g', -1, 64), "NaN")
	}
	words := fmt.Sprint(cell)
	if number := strings.Replace(words, "−", "-", 1); text.Number(number) {
		return number
	}
	return text.Cell(words)
}

// Markdown writes the table with pipes, for GitHub and JupyterLab. If it cannot be shown, the result is empty: see Err.
func (t *Table) Markdown() string {
	if t.Err() != nil {
		return ""
	}
	text := t.grid("| ", " | ", " |\n", t.sides("| :-- ", "| --: ")+"|\n", t.markdownCell)
	if t.Note != "" {
		text += "\n" + markdown.Replace(t.Note) + "\n"
	}
	return text
}

func (t *Table) markdownCell(line, column int, words string) string {
	words = markdown.Replace(words)
	if t.Bold[At{line, column}] {
		words = "**" + words + "**"
	}
	if to := t.link(line, column); to != "" {
		words = "[" + words + "](<" + strings.ReplaceAll(to, "|", "%7C") + ">)"
	}
	return words
}

var markdown = strings.NewReplacer("\n", " ", "\r", " ", `\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`,
	">", `\>`, "[", `\[`, "]", `\]`, "~", `\~`, "$", `\$`)

// columns returns the number of cells of the longest line.
func (t *Table) columns() (n int) {
	for _, line := range t.Lines {
		n = max(n, len(line))
	}
	return max(n, 1)
}

// sides writes a word for each column that is set to the left, and another one for the others.
func (t *Table) sides(left, right string) (words string) {
	for k := range t.columns() {
		if t.left(k) {
			words += left
		} else {
			words += right
		}
	}
	return words
}

// grid writes all lines, padded to the longest, with a rule below the header.
func (t *Table) grid(begin, between, end, rule string, cell func(line, column int, words string) string) string {
	var b strings.Builder
	for i, line := range t.Lines {
		cells := make([]string, t.columns())
		copy(cells, line)
		for k, words := range cells {
			cells[k] = cell(i, k, t.signed(i, k, words))
		}
		b.WriteString(begin + strings.Join(cells, between) + end)
		if i == 0 {
			b.WriteString(rule)
		}
	}
	return b.String()
}

// LaTeX writes the table as a tabular environment with booktabs rules, and the note under it. The symbols that tables of runs
// have (Greek letters, ±, −, ×, ≤, superscripts) are written in ASCII, so that pdflatex needs \usepackage{booktabs} alone;
// accented letters need LaTeX of 2018 or later. If the table cannot be shown, the result is empty: see Err.
func (t *Table) LaTeX() string {
	if t.Err() != nil {
		return ""
	}
	text := "\\begin{tabular}{" + t.sides("l", "r") + "}\n\\toprule\n" + t.grid("", " & ", " \\\\\n", "\\midrule\n", func(line, column int, words string) string {
		if t.Bold[At{line, column}] {
			return `\textbf{` + latex(words) + "}"
		}
		return latex(words)
	}) + "\\bottomrule\n\\end{tabular}\n"
	if t.Note != "" {
		text += "\\par\\smallskip{\\footnotesize " + latex(t.Note) + "\\par}\n"
	}
	return text
}

// latex escapes text for TeX. Groups keep commands apart from what follows, and a "[" or "*" at the beginning of a line from the
// "\\" before it.
func latex(words string) string { return texWords.Replace(words) }

var texWords = strings.NewReplacer(latexSymbols()...)

// latexSymbols lists what TeX would interpret, or has no letter for, each followed by its replacement.
func latexSymbols() []string {
	all := []string{
		`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "$", `\$`, "&", `\&`, "#", `\#`, "%", `\%`, "_", `\_`,
		"^", `\textasciicircum{}`, "~", `\textasciitilde{}`, "<", `\textless{}`, ">", `\textgreater{}`, "|", `\textbar{}`,
		`"`, "''", "*", "{*}", "[", "{[}", "]", "{]}", "\n", " ", "\r", " ", " %", `~\%`,
		"–", "--", "—", "---", "…", `\ldots{}`, "’", "'", "‘", "`", "“", "``", "”", "''", "\u00a0", "~",
	}
	for symbol, command := range map[string]string{
		"±": `\pm`, "−": "-", "×": `\times`, "·": `\cdot`, "≤": `\leq`, "≥": `\geq`, "≠": `\neq`, "≈": `\approx`, "→": `\to`, "∞": `\infty`,
		"√": `\surd`, "Σ": `\Sigma`, "Δ": `\Delta`, "Ω": `\Omega`, "Φ": `\Phi`, "Γ": `\Gamma`, "Λ": `\Lambda`, "Θ": `\Theta`, "Π": `\Pi`, "Ψ": `\Psi`,
		"‖": `\|`, "²": "^2", "³": "^3", "¹": "^1", "⁰": "^0", "⁴": "^4", "⁵": "^5", "⁶": "^6", "⁷": "^7", "⁸": "^8", "⁹": "^9", "⁻": "^-", "½": `\frac{1}{2}`, "∇": `\nabla`, "∈": `\in`, "°": `^\circ`,
		"α": `\alpha`, "β": `\beta`, "γ": `\gamma`, "δ": `\delta`, "ε": `\varepsilon`, "ζ": `\zeta`, "η": `\eta`, "θ": `\theta`,
		"ι": `\iota`, "κ": `\kappa`, "λ": `\lambda`, "μ": `\mu`, "\u00b5": `\mu`, "ν": `\nu`, "ξ": `\xi`, "π": `\pi`, "ρ": `\rho`, "σ": `\sigma`,
		"τ": `\tau`, "υ": `\upsilon`, "φ": `\varphi`, "χ": `\chi`, "ψ": `\psi`, "ω": `\omega`, "ℓ": `\ell`, "′": `'`,
		"₀": "_0", "₁": "_1", "₂": "_2", "₃": "_3", "₄": "_4", "∗": "*", "✓": `\surd`, "✗": `\times`, "○": `\circ`, "⊥": `\perp`, "∥": `\|`,
	} {
		all = append(all, symbol, "$"+command+"$")
	}
	return all
}

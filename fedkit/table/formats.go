package table

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
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
		cells := make([]string, len(line))
		for i, c := range line {
			cells[i] = raw(c)
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
	v, ok := cell.(float64)
	switch {
	case !ok:
		words := fmt.Sprint(cell)
		if number := strings.Replace(words, "−", "-", 1); text.Number(number) {
			return number
		}
		return text.Cell(words)
	case math.IsNaN(v):
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
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
			cells[k] = cell(i, k, words)
		}
		b.WriteString(begin + strings.Join(cells, between) + end)
		if i == 0 {
			b.WriteString(rule)
		}
	}
	return b.String()
}

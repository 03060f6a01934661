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
	var b strings.Builder
	for i, line := range t.full() {
		for k, c := range line {
			b.WriteString("| " + t.markdownCell(i, k, c) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			for k := range line {
				b.WriteString(map[bool]string{true: "| :-- ", false: "| --: "}[t.left(k)])
			}
			b.WriteString("|\n")
		}
	}
	if t.Note != "" {
		b.WriteString("\n" + markdown.Replace(t.Note) + "\n")
	}
	return b.String()
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

// full returns the lines, padded to the longest.
func (t *Table) full() [][]string {
	most := 1
	for _, line := range t.Lines {
		most = max(most, len(line))
	}
	all := make([][]string, len(t.Lines))
	for i, line := range t.Lines {
		all[i] = append(line[:len(line):len(line)], make([]string, most-len(line))...)
	}
	return all
}

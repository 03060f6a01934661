package chart

import (
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is lines of cells: HTML in a notebook, text on standard output elsewhere. Save writes it for papers and programs.
type Table struct {
	Lines [][]string // the head first; the first column is set to the left, others to the right
	Note  string     // small print under the table
	Left  []int      // columns of words beside the first, which are set to the left too
	Data  [][]any    // the same lines for programs, which read numbers rather than words: see CSV; default Lines

	err error // why it cannot be shown
}

// Show shows the table, or its error in its place.
func (t *Table) Show() {
	var d Display
	switch err := t.Err(); {
	case err != nil:
		d.report(err)
	case InNotebook():
		d.report(d.send(object{"text/html": t.HTML(), "text/plain": t.String()}, nil, true))
	default:
		fmt.Print(t)
	}
}

// Err returns why the table cannot be shown, nil if it can: the error it carries, or that it has no lines.
func (t *Table) Err() error {
	switch {
	case t == nil:
		return errors.New("chart: the table is nil")
	case t.err == nil && len(t.Lines) == 0:
		return errors.New("chart: the table has no lines")
	case t.err == nil && t.Data != nil && len(t.Data) != len(t.Lines):
		return fmt.Errorf("chart: the table has %d lines, and data of %d: change both, or set Data to nil", len(t.Lines), len(t.Data))
	}
	return t.err
}

// left says whether a column is set to the left.
func (t *Table) left(column int) bool { return column == 0 || slices.Contains(t.Left, column) }

// String writes the table for a fixed-width font.
func (t *Table) String() string {
	if err := t.Err(); err != nil {
		return ErrorPrefix + err.Error() + "\n"
	}
	var width []int
	for _, line := range t.Lines {
		for i, c := range line {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, line := range t.Lines {
		text := ""
		for i, c := range line {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i > 0 {
				text += "  "
			}
			if t.left(i) {
				c, pad = pad, c
			}
			text += pad + c
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	if t.Note != "" {
		b.WriteString(t.Note + "\n")
	}
	return b.String()
}

// longNumber is how many bytes a cell of numbers has at most: one with more is a sentence, and may have several lines.
const longNumber = 40

// oneLine keeps a cell of numbers on one line, or on two if the table is too wide for the cell: "93.1 %" and "± 0.4 %".
var oneLine = strings.NewReplacer(" ±", " ±", " ", "\u00a0")

// HTML writes the table for a browser. No line of it ends between a number and its unit.
func (t *Table) HTML() string {
	if err := t.Err(); err != nil {
		return errorBox(err)
	}
	var b strings.Builder
	b.WriteString("<table>\n")
	cell := "th"
	for _, line := range t.Lines {
		b.WriteString("<tr>")
		for i, c := range line {
			align, words := "right", oneLine.Replace(c)
			if t.left(i) || cell == "th" || len(c) > longNumber {
				words = bound(c)
			}
			if t.left(i) {
				align = "left"
			}
			fmt.Fprintf(&b, `<%s style="text-align:%s">%s</%s>`, cell, align, html.EscapeString(words), cell)
		}
		b.WriteString("</tr>\n")
		cell = "td"
	}
	b.WriteString("</table>\n<small>" + html.EscapeString(bound(t.Note)) + "</small>")
	return b.String()
}

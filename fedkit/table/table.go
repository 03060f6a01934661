package table

import (
	"errors"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"fedkit.example/fedkit/internal/display"
	"fedkit.example/fedkit/internal/text"
)

// Table is lines of cells: HTML in a notebook, text on standard output elsewhere. Save writes it for papers and programs.
type Table struct {
	Lines [][]string // the header first; the first column is left-aligned, others right-aligned, or by the decimal point if they have only numbers
	Note  string     // small print under the table
	Left  []int      // further left-aligned columns, for text
	Tall  []int      // columns whose cells span the lines below that have none of them: taller cells in HTML
	Data  [][]any    // the same lines for programs, as numbers rather than text: see CSV; default Lines

	Bold  map[At]bool   // bold cells, marked with "*" in text; not so in CSV
	Links map[At]string // links of cells in HTML and Markdown: "#a-heading", "https://…", "02_data.ipynb"

	err error // why it cannot be shown
}

// At is the position of a cell in Lines, the header being line 0.
type At struct {
	Line   int // from the top, 0 for the header
	Column int // from the left, the first one being 0
}

// Make returns the table that build fills in. If build fails or panics, the table carries the error, prefixed with what:
// "compare: table: no history given".
func Make(what string, build func(*Table) error) *Table {
	t := new(Table)
	if err := display.Try(func() error { return build(t) }); err != nil {
		t.err = fmt.Errorf("%s: %w", what, err)
	}
	return t
}

// firstLines returns the first lines of a text, at most this many bytes, and says how many are left out.
func firstLines(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	size := strings.LastIndex(text[:bytes], "\n") + 1
	return fmt.Sprintf("%s… and %d more lines, which the HTML form of this output has\n", text[:size], strings.Count(text[size:], "\n"))
}

// Show shows the table, or its error in its place.
func (t *Table) Show() {
	var o display.Output
	switch err := t.Err(); {
	case err != nil:
		o.Report(err)
	case display.InNotebook():
		o.Report(o.Send(map[string]any{"text/html": t.HTML(), "text/plain": firstLines(t.String(), 2500)}, nil, true))
	default:
		fmt.Print(t)
	}
}

// Err returns why the table cannot be shown, nil if it can: the error it carries, no lines, a different number of lines in Data,
// or a link that is neither an anchor, a page nor a file.
func (t *Table) Err() error {
	switch {
	case t == nil:
		return errors.New("table: it is nil")
	case t.err != nil:
		return t.err
	case len(t.Lines) == 0:
		return errors.New("table: it has no lines")
	case t.Data != nil && len(t.Data) != len(t.Lines):
		return fmt.Errorf("table: it has %d lines, and data of %d: change both, or set Data to nil", len(t.Lines), len(t.Data))
	}
	for _, to := range t.Links {
		if _, err := address(to); err != nil {
			return err
		}
	}
	return nil
}

// address escapes the address of a link.
func address(to string) (string, error) {
	u, err := url.Parse(to)
	if err != nil || !slices.Contains([]string{"", "http", "https"}, u.Scheme) {
		return "", fmt.Errorf("table: it has a link to %q: it must be a #place, a file or a page of http or https", to)
	}
	return u.String(), nil
}

// link returns the escaped address of a cell's link, "" for none.
func (t *Table) link(line, column int) string {
	to, _ := address(t.Links[At{line, column}]) // Err has checked it
	return to
}

// left reports whether a column is set to the left.
func (t *Table) left(column int) bool { return column == 0 || slices.Contains(t.Left, column) }

// String writes the table for a fixed-width font.
func (t *Table) String() string {
	if err := t.Err(); err != nil {
		return display.ErrorPrefix + text.Lines(err.Error()) + "\n"
	}
	lines := t.aligned(t.starred, func(missing string) string { return fmt.Sprintf("%*s", runes(missing), "") })
	width := make([]int, t.columns())
	for _, line := range lines {
		for i, c := range line {
			width[i] = max(width[i], runes(c))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		for i, c := range line {
			if t.left(i) {
				line[i] = fmt.Sprintf("%-*s", width[i], c)
			} else {
				line[i] = fmt.Sprintf("%*s", width[i], c)
			}
		}
		b.WriteString(strings.TrimRight(strings.Join(line, "  "), " ") + "\n")
	}
	if t.Note != "" {
		b.WriteString(text.Lines(t.Note) + "\n")
	}
	return b.String()
}

// starred is a cell without control codes, with a star if it is bold, and a space if another of its column is.
func (t *Table) starred(line, column int, words string) string {
	words = text.Line(words)
	if t.Bold[At{line, column}] {
		return words + "*"
	}
	for at, bold := range t.Bold {
		if bold && at.Column == column {
			return words + " "
		}
	}
	return words
}

// aligned returns the cells, in columns of numbers padded on the right, so that they line up at the decimal point. Blank returns a space
// as wide as what a cell lacks of the longest one.
func (t *Table) aligned(cell func(line, column int, words string) string, blank func(missing string) string) [][]string {
	lines := make([][]string, len(t.Lines))
	for i, line := range t.Lines {
		for k, words := range line {
			lines[i] = append(lines[i], cell(i, k, words))
		}
	}
	for k := range t.columns() {
		rests, longest := map[int]string{}, "" // by line
		for i := 1; i < len(lines) && !t.left(k); i++ {
			if k >= len(lines[i]) || strings.TrimSpace(lines[i][k]) == "" {
				continue
			}
			rest, isNumber := fraction(lines[i][k])
			if !isNumber {
				rests = nil
				break
			}
			if rests[i] = rest; runes(rest) > runes(longest) {
				longest = rest
			}
		}
		for i, rest := range rests {
			lines[i][k] += blank(string([]rune(longest)[runes(rest):]))
		}
	}
	return lines
}

var runes = utf8.RuneCountInString

var whole = regexp.MustCompile(`^([<>] )?[+−-]?\d+`)

// fraction returns what follows the digits before the decimal point: ".4 ± 1.2 %". A dash stands for a missing number.
func fraction(cell string) (rest string, isNumber bool) {
	if rest, missing := strings.CutPrefix(cell, "–"); missing {
		return rest, strings.TrimSpace(rest) == ""
	}
	digits := whole.FindString(cell)
	return cell[len(digits):], digits != ""
}

// longNumber is the limit in bytes for a cell of numbers: a longer one is a sentence, and may wrap.
const longNumber = 40

// oneLine keeps a cell of numbers on one line, or on two if the table is too wide: "93.1 %" and "± 0.4 %".
var oneLine = strings.NewReplacer(" ±", " ±", " ", "\u00a0")

// wide returns spaces about as wide as what a cell lacks of the longest one of its column. Where the table is too wide, they wrap.
func wide(missing string) string {
	if missing == "" {
		return ""
	}
	return "\u200b" + strings.Map(func(r rune) rune {
		if strings.ContainsRune(" .()/", r) {
			return '\u00a0'
		}
		return '\u2007' // as wide as a digit
	}, missing)
}

// HTML writes the table for a browser. No line breaks between a number and its unit.
func (t *Table) HTML() string {
	if err := t.Err(); err != nil {
		return display.ErrorBox(err)
	}
	var b strings.Builder
	b.WriteString("<table>\n")
	for i, line := range t.aligned(func(_, _ int, words string) string { return words }, wide) {
		b.WriteString(`<tr style="text-align:right">`) // most cells are numbers
		for k, words := range line {
			b.WriteString(t.htmlCell(i, k, words))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n<small>" + html.EscapeString(NoBreak(t.Note)) + "</small>")
	return b.String()
}

// htmlCell writes one cell; nothing if the cell above spans it.
func (t *Table) htmlCell(line, column int, c string) string {
	if t.goesOn(line, column) {
		return ""
	}
	cell, span, rows, style := "td", "", 1, []string(nil)
	if line == 0 {
		cell = "th"
	}
	words := oneLine.Replace(c)
	if t.left(column) || line == 0 || len(c) > longNumber {
		words = NoBreak(c)
	}
	for t.goesOn(line+rows, column) {
		rows++
	}
	if t.left(column) {
		style = append(style, "text-align:left")
	}
	if rows > 1 {
		span, style = fmt.Sprintf(` rowspan="%d"`, rows), append(style, "vertical-align:top")
	}
	if style != nil {
		span += ` style="` + strings.Join(style, ";") + `"`
	}
	words = html.EscapeString(words)
	if t.Bold[At{line, column}] {
		words = "<b>" + words + "</b>"
	}
	if to := t.link(line, column); to != "" {
		words = fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(to), words)
	}
	return fmt.Sprintf("<%s%s>%s</%s>", cell, span, words, cell)
}

// goesOn reports whether the cell above spans a cell.
func (t *Table) goesOn(line, column int) bool {
	if line < 2 || line >= len(t.Lines) || !slices.Contains(t.Tall, column) {
		return false
	}
	return !slices.ContainsFunc(t.Tall, func(k int) bool { return k < len(t.Lines[line]) && t.Lines[line][k] != "" })
}

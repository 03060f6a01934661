package table

import (
	_ "embed"
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

	Verdicts map[At]Verdict // cells that say how something came out: with a sign before them, and in HTML a color; not so in CSV

	err error // why it cannot be shown
}

// At is the position of a cell in Lines, the header being line 0.
type At struct {
	Line   int // from the top, 0 for the header
	Column int // from the left, the first one being 0
}

// Verdict is how something came out.
type Verdict int

const (
	Holds Verdict = iota + 1 // "✓ holds", green
	Fails                    // "✗ does not hold", red
	Open                     // "○ not seen", gray
)

// verdicts are the signs, and the colors, which are read on white and on black.
var verdicts = [...]struct{ sign, color string }{{}, {"✓ ", "#008558"}, {"✗ ", "#d13438"}, {"○ ", "#757575"}}

func (v Verdict) known() bool { return v >= Holds && v <= Open }

// signed puts the sign of a cell's verdict before its words.
func (t *Table) signed(line, column int, words string) string {
	if v := t.Verdicts[At{line, column}]; v.known() {
		return verdicts[v].sign + words
	}
	return words
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
	lines := t.aligned()
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

// starred is a cell without control codes, with the sign of its verdict, a star if it is bold, and a space if another of its column is.
func (t *Table) starred(line, column int, words string) string {
	words = text.Line(t.signed(line, column, words))
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

// aligned returns the cells for a fixed-width font, in columns of numbers padded on the right, so that they line up at the decimal point.
func (t *Table) aligned() [][]string {
	lines := make([][]string, len(t.Lines))
	for i, line := range t.Lines {
		for k, words := range line {
			lines[i] = append(lines[i], t.starred(i, k, words))
		}
	}
	for k := range t.columns() {
		rests := t.rests(lines, k)
		longest := 0
		for _, rest := range rests {
			longest = max(longest, runes(rest))
		}
		for i, rest := range rests {
			lines[i][k] += strings.Repeat(" ", longest-runes(rest))
		}
	}
	return lines
}

// rests returns what follows the digits before the decimal points of a column of numbers, by line, and nothing of other columns.
func (t *Table) rests(lines [][]string, column int) map[int]string {
	rests := map[int]string{}
	for i := 1; i < len(lines) && !t.left(column); i++ {
		if column >= len(lines[i]) || strings.TrimSpace(lines[i][column]) == "" {
			continue
		}
		rest, isNumber := fraction(lines[i][column])
		if !isNumber {
			return nil
		}
		rests[i] = rest
	}
	return rests
}

var runes = utf8.RuneCountInString

var whole = regexp.MustCompile(`^([<>] )?[+−-]?\d+`)

// fraction returns what follows the digits before the decimal point: ".4 ± 1.2 %". A dash stands for a missing number.
func fraction(cell string) (rest string, isNumber bool) {
	if rest, missing := strings.CutPrefix(cell, "–"); missing {
		return rest, strings.TrimSpace(rest) == "" || strings.HasPrefix(rest, " (")
	}
	digits := whole.FindString(cell)
	return cell[len(digits):], digits != ""
}

// longNumber is the limit in bytes for a cell of numbers: a longer one is a sentence, and may wrap. A table with more than longTable
// lines has a header that stays in sight, and is sorted by a click on it.
const longNumber, longTable = 40, 20

//go:embed sort.js
var sorting string

// HTML writes the table for a browser. A number stays on one line with its interval and unit, and its last digits stand below each
// other whatever follows them. What spans several lines has one background. The header of a long table stays in sight, and a click on a
// cell of it sorts the lines, a second click the other way.
func (t *Table) HTML() string {
	if err := t.Err(); err != nil {
		return display.ErrorBox(err)
	}
	begin, end, head := "", "", "<thead>"
	if len(t.Lines) > longTable {
		begin = `<style>@media print{.fedkit-long{max-height:none!important}}</style><div class="fedkit-long" style="max-height:80vh;overflow:auto">`
		head = fmt.Sprintf(`<thead title="sort" style="position:sticky;top:0;cursor:pointer;background:var(--jp-layout-color0,Canvas)" onclick="%s">`,
			strings.NewReplacer("\n", "", "<", "&lt;", ">", "&gt;").Replace(sorting))
		end = "</div>\n"
	}
	var b strings.Builder
	b.WriteString(begin + `<table style="text-align:right;font-variant-numeric:tabular-nums">` + "\n" + head)
	after, row, stripes := t.after(), "<tr>", 0
	for i, line := range t.Lines {
		switch {
		case i == 1:
			b.WriteString("</thead><tbody>\n")
			if t.Tall != nil { // no zebra inside a group
				row = `<tr style="background:none">`
			}
		case i > 1 && t.Tall != nil && !t.continued(i):
			stripes++
			fmt.Fprintf(&b, "</tbody><tbody style=\"background:%s\">\n", []string{"none", stripe}[stripes%2])
		case i > 1:
			b.WriteString("\n")
		}
		b.WriteString(row)
		for k, words := range line {
			b.WriteString(t.htmlCell(i, k, words, after[k]))
		}
		b.WriteString("</tr>")
	}
	last := "</tbody>"
	if len(t.Lines) == 1 {
		last = "</thead>"
	}
	b.WriteString(last + "\n</table>\n" + end + "<small>" + html.EscapeString(NoBreak(t.Note)) + "</small>")
	return b.String()
}

// stripe is the background of every other group of lines, in any theme.
const stripe = "#80808018"

// after returns how wide is what follows the numbers of each column, in em: "± 0.4 %". It is 0 for columns where that is alike in all
// lines, so that they line up by themselves.
func (t *Table) after() []float64 {
	wide := make([]float64, t.columns())
	for k := range wide {
		least, most := longNumber, 0
		for i, rest := range t.rests(t.Lines, k) {
			if t.Lines[i][k] != "–" {
				n := runes(unit(rest))
				least, most = min(least, n), max(most, n)
			}
		}
		if least < most && most < longNumber {
			wide[k] = 0.55 * float64(most)
		}
	}
	return wide
}

// unit is what follows a number from the first space on: " ± 0.4 %".
func unit(cell string) string {
	if at := strings.Index(cell, " "); at >= 0 {
		return cell[at:]
	}
	return ""
}

// htmlCell writes one cell; nothing if the cell above spans it. After is the width of what follows its number.
func (t *Table) htmlCell(line, column int, c string, after float64) string {
	if t.goesOn(line, column) {
		return ""
	}
	cell, span, rows, style := "td", "", 1, []string(nil)
	if line == 0 {
		cell = "th"
	}
	words, rest := NoBreak(t.signed(line, column, c)), ""
	if !t.left(column) && line > 0 && len(c) <= longNumber {
		words = strings.ReplaceAll(c, " ", "\u00a0")
		if after > 0 && words != "" {
			tail, _ := fraction(c)
			rest = strings.ReplaceAll(unit(tail), " ", "\u00a0")
			words = strings.TrimSuffix(words, rest)
			rest = fmt.Sprintf(`<span style="display:inline-block;width:%.1fem;text-align:left">%s</span></nobr>`, after, html.EscapeString(rest))
		}
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
	if v := t.Verdicts[At{line, column}]; v.known() {
		style = append(style, "color:"+verdicts[v].color)
	}
	if style != nil {
		span += ` style="` + strings.Join(style, ";") + `"`
	}
	if words = html.EscapeString(words); rest != "" {
		words = "<nobr>" + words + rest
	}
	if t.Bold[At{line, column}] {
		words = "<b>" + words + "</b>"
	}
	if to := t.link(line, column); to != "" {
		words = fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(to), words)
	}
	return fmt.Sprintf("<%s%s>%s</%s>", cell, span, words, cell)
}

// continued reports whether a line goes on with what the one above it is about.
func (t *Table) continued(line int) bool {
	return slices.ContainsFunc(t.Tall, func(k int) bool { return t.goesOn(line, k) })
}

// goesOn reports whether the cell above spans a cell.
func (t *Table) goesOn(line, column int) bool {
	if line < 2 || line >= len(t.Lines) || !slices.Contains(t.Tall, column) {
		return false
	}
	return !slices.ContainsFunc(t.Tall, func(k int) bool { return k < len(t.Lines[line]) && t.Lines[line][k] != "" })
}

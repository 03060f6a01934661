// Package table writes tables as text, HTML, LaTeX, Markdown and CSV, and numbers with their units. It knows nothing of their
// content, and links no drawing code.
//
//	t := &table.Table{Lines: [][]string{{"rule", "accuracy"}, {"FedAvg", table.Percent(0.912)}}}
//	t.Show()
//	err := t.Save("table.tex")
//
// A table is a value, like a figure of package chart: it may be changed until it is shown. It is HTML in a notebook and text elsewhere.
// Its cells may be bold, and lead to other places: see Table.Bold and Links. Save writes it for a paper (LaTeX, Markdown) or for
// programs (CSV). A table that cannot be shown carries the error, which Show displays in its place, and which Err and Save return.
// Its forms as CSV, LaTeX and Markdown are empty.
package table

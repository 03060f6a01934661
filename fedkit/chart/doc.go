// Package chart draws figures in notebooks and files. It knows nothing of what it draws.
//
// A chart is a value: a Figure, or several of them side by side in a Row; tables are in package table. Show draws it. Nothing is
// drawn before that, so a chart may be changed first:
//
//	f := chart.Curves("Step sizes", "η", "test accuracy", series...)
//	f.Note = "mean of three seeds"
//	f.Show()
//
//	chart.Row{f, g}.Show() // side by side, with one legend
//
// In a notebook every figure is one output: a Vega-Lite 5 specification (interactive in JupyterLab: tooltips, and a click on a
// name, in the legend or at the end of a line, picks out a series, until the next click on it) and a line of text. In JupyterLab
// figures fit the cell, and have the colors of the theme; it adds a PNG, which is shown where notebooks are only read. Outside a
// notebook the same call writes an HTML file and says where; see Dir. Row.Save writes other files.
//
// What a reader picks is drawn without a kernel, by what is in the output: Row.Slider, Row.Menu and Row.Click make one figure of
// several, and Row.Brush zooms the others of a row. The PNG shows what is seen before anything is picked.
//
// A chart that cannot be drawn carries the error. Show displays it in the chart's place or, outside a notebook, on standard error,
// in a line that begins with ErrorPrefix. A program that acts on errors asks Err, or calls Save, which returns them.
package chart

package plot

import (
	"fmt"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/internal/display"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/notebook"
)

// Show shows any values, as the last line of a cell does if it is an expression:
//
//	plot.Show(h) // or just h in the kernel "Go (fedkit)"
//
// A history shows as what ran, its last round and Accuracy, or Loss if it has no accuracy; several histories, and the runs of a study,
// as Accuracy; a federation as what it is and its Labels, or its Sizes if the data have no labels; a figure, a row and a table as their
// own Show does; anything else as text, in which long lists are cut short. If the last value is an error, Show panics with it.
func Show(values ...any) {
	for _, v := range notebook.Values(values...) {
		switch v := v.(type) {
		case *fedkit.History:
			showHistory(v)
		case fedkit.History:
			showHistory(&v)
		case []*fedkit.History:
			Accuracy(v...).Show()
		case interface{ Histories() []*fedkit.History }:
			Accuracy(v.Histories()...).Show()
		case *fedkit.Federation:
			showFederation(v)
		default:
			notebook.Show(v)
		}
	}
}

// showHistory shows of the history's table only the last round: the figure has the others.
func showHistory(h *fedkit.History) {
	if h == nil {
		say("nil: no history")
		return
	}
	lines := strings.Split(strings.TrimRight(h.String(), "\n"), "\n")
	if len(lines) > 3 {
		lines = append(lines[:2], lines[len(lines)-1])
	}
	say(strings.Join(lines, "\n"))
	figure := Accuracy(h)
	if loss := Over(compare.Loss, h); figure.Err() != nil && loss.Err() == nil { // of real values, and a loss of its own
		figure = loss
	}
	if len(h.Rounds) > 0 {
		figure.Show()
	}
}

func showFederation(fed *fedkit.Federation) {
	if fed == nil {
		say("nil: no federation")
		return
	}
	say(fmt.Sprint(fed))
	figure := Labels(fed)
	if figure.Err() != nil {
		figure = Sizes(fed)
	}
	figure.Show()
}

// say sends text by the channel of the figures in a notebook, so that it comes before the figure.
func say(words string) {
	words = text.Lines(words)
	if !display.InNotebook() {
		fmt.Println(words)
		return
	}
	var d chart.Display
	if d.Text(words, true) != nil {
		fmt.Println(words)
	}
}

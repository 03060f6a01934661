package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"fedkit.example/fedkit/config"
)

// Text reads texts of your own, for predicting the next character. The file has a paragraph for each owner, such as a speaker:
// the name in a line, and below it the text. An empty line ends it, and a name that comes again goes on with its text.
//
//	data := must.M1(datasets.Text{File: "speeches.txt", Window: 20}.Make())
type Text struct {
	File   string  // required
	Name   string  // default: the file's, without its extensions
	Window int     `range:"[2,inf)" default:"80"` // T, characters that a model sees
	Share  float64 `range:"(0,1)" default:"0.2"`  // of each text to hold back: its end
}

// Make returns the data set: Shape [T], Bytes with Scale 1, the numbers of characters in Characters, which are the classes too.
// Labels [n, T] have the character that follows each; past the end of a text inputs are 0 and labels −1. Windows do not overlap.
// What is not in Characters is left out. Owners are numbered in the order of their first lines; the partition rule Natural makes
// each a client. Errors: no text, one that is too short for two characters in either part.
func (t Text) Make() (*Dataset, error) {
	if t.File == "" {
		return nil, errors.New("datasets: Text: File is empty: must be the path of a file")
	}
	if t.Window < 0 || t.Window == 1 {
		return nil, fmt.Errorf("datasets: Text: Window = %d: must be at least 2, or 0 for the default of %d", t.Window, window)
	}
	if err := checkShare("Text", t.Share, ""); err != nil {
		return nil, err
	}
	t.Name = cmp.Or(t.Name, bare(t.File))
	t = config.Defaults(t)
	content, err := os.ReadFile(t.File)
	if err != nil {
		return nil, fmt.Errorf("datasets: Text: %w", err)
	}
	d := &Dataset{Name: t.Name, Shape: []int{t.Window}, Classes: len(Characters)}
	d.Train, d.Test = Split{Scale: 1, Width: t.Window}, Split{Scale: 1, Width: t.Window}
	names, texts := owners(string(content))
	for i, text := range texts {
		cut := len(text) - int(t.Share*float64(len(text)))
		if cut < 2 || len(text)-cut < 2 {
			return nil, fmt.Errorf("datasets: Text: %s: %s has %d characters: must have at least 2 to train on and 2 to test on", t.File, names[i], len(text))
		}
		d.Train.addText(codes(text[:cut]), int32(i), t.Window)
		d.Test.addText(codes(text[cut:]), int32(i), t.Window)
	}
	if texts == nil {
		return nil, fmt.Errorf("datasets: Text: %s has no text: must have a name in a line, and text below it", t.File)
	}
	return d, d.Check()
}

// owners returns the names of a file's owners, and the text of each in Characters.
func owners(content string) (names, texts []string) {
	number, now := map[string]int{}, -1
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "":
			now = -1
		case now < 0:
			i, known := number[line]
			if !known {
				i = len(names)
				number[line], names, texts = i, append(names, line), append(texts, "")
			}
			now = i
		default:
			texts[now] += inCharacters(line) + "\n"
		}
	}
	return names, texts
}

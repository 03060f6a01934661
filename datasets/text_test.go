package datasets

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// Two speakers, one of whom speaks twice.
func TestText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "two.txt")
	write := func(text string) { expect.OK(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("ROMEO\nO, she doth *teach*\n\nJULIET\nAy me! Ay me!\n\n\nROMEO\nthe torches\n")
	d, err := Text{File: path, Window: 8, Share: 0.25}.Make()
	expect.OK(t, err)
	read := func(s *Split, owner int32) (text string) {
		for row, of := range s.Owner {
			for i := row * 8; i < (row+1)*8 && of == owner; i++ {
				if s.Labels[i] >= 0 {
					text += string(Characters[s.Bytes[i]])
				} else if s.Bytes[i] != 0 {
					t.Errorf("row %d has the input %d without a label", row, s.Bytes[i])
				}
			}
		}
		return text
	}
	romeo, juliet := "O, she doth teach\nthe torches\n", "Ay me! Ay me!\n"
	for i, text := range []string{romeo, juliet} {
		cut := len(text) - len(text)/4
		if got, want := read(&d.Train, int32(i)), text[:cut-1]; got != want {
			t.Errorf("owner %d trains on %q, want %q", i, got, want)
		}
		if got, want := read(&d.Test, int32(i)), text[cut:len(text)-1]; got != want {
			t.Errorf("owner %d is tested on %q, want %q", i, got, want)
		}
	}
	if d.Name != "two" || !slices.Equal(d.Shape, []int{8}) || !slices.Equal(d.Outputs(), []int{8, 80}) {
		t.Errorf("%s has the shape %v and the outputs %v", d.Name, d.Shape, d.Outputs())
	}
	write("\ufeffROMEO\nO, she doth teach\n\nJULIET\nAy me! Ay me!\n\nROMEO\nthe torches\n") // as some editors write it
	if d, err := (Text{File: path, Window: 8}).Make(); err != nil || slices.Max(d.Train.Owner) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	for text, want := range map[string]string{
		"":                         "has no text",
		"ROMEO\n":                  "ROMEO has 0 characters: must have at least 2",
		"A\nabcdefghijklm\n\nB\nc": "B has 2 characters",
	} {
		write(text)
		expect.Error(t, want)((Text{File: path}).Make())
	}
	for _, wrong := range []Text{{}, {File: path, Window: 1}, {File: path, Share: 1}, {File: path + ".none"}} {
		expect.Error(t)(wrong.Make())
	}
}

// The time is proportional to the text: a line was once copied with each that followed it, and a vocabulary once built for each owner.
func TestTextIsLinear(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.txt")
	write := func(text string) { expect.OK(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("One owner\n" + strings.Repeat("aye\n", 1<<20))
	d, err := Text{File: path}.Make()
	expect.OK(t, err)
	n := len(d.Train.Bytes) + len(d.Test.Bytes)
	expect.That(t, n >= 1<<22 && n <= 1<<22+200 && Characters[d.Test.Bytes[1]] == "aye\n"[(1<<22-1<<22/5+1)%4], "%d characters", n)
	var many strings.Builder
	for i := range 1 << 15 {
		fmt.Fprintf(&many, "owner %d\nw%d to be or not\n\n", i, i)
	}
	write(many.String())
	if d, err = (Text{File: path, Words: 1 << 15, Share: 0.4}).Make(); err != nil || d.Train.Len() != 1<<15 {
		t.Error(err)
	}
}

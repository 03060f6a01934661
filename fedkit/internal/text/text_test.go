package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestShort(t *testing.T) {
	long := strings.Repeat("é", 1_000_000)
	if got := Short(long); len(got) > 1100 || !utf8.ValidString(got) || !strings.HasSuffix(got, "… (2000000 bytes)") || Short("é") != "é" {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	err := fmt.Errorf("%s: %w", long, fs.ErrNotExist)
	if got := ShortError(err); !errors.Is(got, fs.ErrNotExist) || len(got.Error()) > 1100 || ShortError(nil) != nil || ShortError(fs.ErrExist) != fs.ErrExist {
		t.Errorf("%.100v", got)
	}
}

func TestBytes(t *testing.T) {
	for bytes, want := range map[float64]string{0: "0 B", 999: "999 B", 8.14e9: "8.1 GB", 9.96e3: "10 kB", 999_600: "1.0 MB", 36e12: "36 TB", 1e30: "1000000 YB"} {
		if got := Bytes(bytes); got != want {
			t.Errorf("%v: %q, want %q", bytes, got, want)
		}
	}
}

// Nothing that moves a cursor, hides or colors text reaches a terminal, and what is left can be read.
func TestControlCharactersAreShown(t *testing.T) {
	for words, want := range map[string]string{
		"FedAvg, η 0.1 ± 2\u00a0%":               "FedAvg, η 0.1 ± 2\u00a0%",
		"\x1b[2J\x1b]0;title\a":                  `\u001b[2J\u001b]0;title\a`,
		"a\r\nb\tc":                              `a\r\nb\tc`,
		"c1 \u009b31m, 8 bits \x9b31m, \x7f\xff": `c1 \u009b31m, 8 bits \x9b31m, \u007f\xff`,
		"\ufffd":                                 "\ufffd",
	} {
		if got := Line(words); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
	var b bytes.Buffer
	if n, err := fmt.Fprint(Terminal(&b), "a\tb\r\n\x1bc"); n != 7 || err != nil || b.String() != "a\tb\\r\n\\u001bc" {
		t.Errorf("%d, %v, %q", n, err, b.String())
	}
	b.Reset() // JSON stays JSON
	var back string
	if err := json.NewEncoder(Terminal(&b)).Encode("\x1b\u0085\x7f\n"); err != nil || json.Unmarshal(b.Bytes(), &back) != nil || back != "\x1b\u0085\x7f\n" {
		t.Errorf("%v, %s", err, b.String())
	}
}

// A spreadsheet evaluates no cell, numbers stay numbers, and every cell can be restored.
func TestCell(t *testing.T) {
	for words, want := range map[string]string{
		"": "", "FedAvg": "FedAvg", "-0.5": "-0.5", "+1e3": "+1e3", "-1e999": "-1e999", "a=b": "a=b", "− 1": "'− 1",
		`=HYPERLINK("x")`: `'=HYPERLINK("x")`, "+1+1": "'+1+1", "-1+1|cmd": "'-1+1|cmd", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1",
		"＝1": "'＝1", "'quoted'": "''quoted'", "-": "'-",
	} {
		if got := Cell(words); got != want || strings.TrimPrefix(got, "'") != words {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("\x1b[0m'=1\xff\u2028")
	f.Fuzz(func(t *testing.T, words string) {
		line := Line(words)
		if strings.IndexFunc(line, unicode.IsControl) >= 0 || !utf8.ValidString(line) || Line(line) != line {
			t.Errorf("%q: %q", words, line)
		}
		if strings.TrimPrefix(Cell(words), "'") != words {
			t.Errorf("%q: %q", words, Cell(words))
		}
	})
}

// Package text makes untrusted text, such as names, labels and contents of files, safe to show: in messages, on a terminal, in a
// spreadsheet.
package text

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// most is how many bytes of a text a message quotes.
const most = 1000

// Short returns the words, truncated if they are too long for a message, with their number of bytes.
func Short(words string) string {
	if len(words) <= most {
		return words
	}
	end := most
	for end > 0 && !utf8.RuneStart(words[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", words[:end], len(words))
}

// ShortError returns the error with its text as Short has it; nil for nil.
func ShortError(err error) error {
	if err == nil || len(err.Error()) <= most {
		return err
	}
	return &short{err}
}

type short struct{ error }

func (s *short) Error() string { return Short(s.error.Error()) }
func (s *short) Unwrap() error { return s.error }

// Line returns the words on one line. Control characters, which move a terminal's cursor or color what follows, and invalid UTF-8
// are escaped as in Go and JSON: \n, \u001b, \xff.
func Line(words string) string { return visible(words, func(r rune) bool { return false }) }

// Lines is Line for words on several lines, which may have tabs.
func Lines(words string) string {
	return visible(words, func(r rune) bool { return r == '\n' || r == '\t' })
}

func visible(words string, allowed func(rune) bool) string {
	hidden := func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) && !allowed(r) }
	if strings.IndexFunc(words, hidden) < 0 {
		return words
	}
	var b strings.Builder
	for len(words) > 0 {
		r, n := utf8.DecodeRuneInString(words)
		if n == 1 && r == utf8.RuneError || r != utf8.RuneError && hidden(r) {
			b.WriteString(escaped(words[:n], r))
		} else {
			b.WriteString(words[:n])
		}
		words = words[n:]
	}
	return b.String()
}

// escaped escapes a character, in a form that JSON reads too unless it is invalid UTF-8.
func escaped(char string, r rune) string {
	q := strconv.QuoteToASCII(char)
	if q = q[1 : len(q)-1]; r != utf8.RuneError {
		q = strings.Replace(q, `\x`, `\u00`, 1)
	}
	return q
}

// Cell returns words for a cell of a CSV file. Spreadsheets evaluate what begins with =, +, -, − or @, so such words get an
// apostrophe in front, as do words that begin with one: without its first apostrophe, any cell is as it was. Numbers stay
// numbers.
func Cell(words string) string {
	first, _ := utf8.DecodeRuneInString(words)
	if !strings.ContainsRune("'=+-−@\t\r\n＝＋－＠", first) || words == "" {
		return words
	}
	if Number(words) {
		return words
	}
	return "'" + words
}

// Number reports whether programs read the words as a number.
func Number(words string) bool {
	_, err := strconv.ParseFloat(words, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// Terminal returns a writer that passes on text as Lines has it. Every Write is text of its own.
func Terminal(w io.Writer) io.Writer { return terminal{w} }

type terminal struct{ w io.Writer }

func (t terminal) Write(b []byte) (int, error) {
	if _, err := io.WriteString(t.w, Lines(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Minus writes a number of package fmt with a true minus, without one if it rounds to 0, and with a power of ten: see table.Minus.
func Minus(words string) string {
	number, negative := strings.CutPrefix(words, "-")
	mantissa, exponent, _ := strings.Cut(number, "e")
	if n, err := strconv.Atoi(exponent); err == nil {
		number = strings.TrimPrefix(mantissa+"×10", "1×") + superscript.Replace(strconv.Itoa(n))
	}
	if zero := strings.Contains(mantissa, "0") && !strings.ContainsAny(mantissa, "123456789"); negative && !zero {
		return "−" + number
	}
	return number
}

var superscript = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

var byteUnits = []string{"B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}

// ByteUnit returns the unit in which a number of bytes has at most three digits before the point, and how many bytes that
// is: "MB" and 1e6.
func ByteUnit(n float64) (unit string, size float64) {
	u := 0
	for size = 1; n >= 999.5*size && u < len(byteUnits)-1; u++ {
		size *= 1000
	}
	return byteUnits[u], size
}

// Bytes writes a number of bytes with two or three digits: "812 B", "8.1 GB", "36 TB".
func Bytes(n float64) string {
	unit, size := ByteUnit(n)
	if n /= size; n >= 9.95 || size == 1 {
		return fmt.Sprintf("%.0f %s", n, unit)
	}
	return fmt.Sprintf("%.1f %s", n, unit)
}

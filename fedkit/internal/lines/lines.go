// Package lines has growing files of lines of JSON, in which every line has a checksum.
package lines

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// Sum is the checksum of the lines of a file so far. Each line is a JSON object whose last field is the CRC-32C of the bytes
// before it, chained from the line before, so that altered, removed, duplicated and moved lines are detected.
type Sum uint32

// Castagnoli is the polynomial of the checksums.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	crcField = `,"crc":"`
	crcEnd   = `"}`

	SumSize = len(crcField) + 8 + len(crcEnd) // bytes that a line has after the object
)

// Seal returns the line of a JSON object without its last brace.
func (c *Sum) Seal(object []byte) []byte {
	*c = Sum(crc32.Update(uint32(*c), Castagnoli, object))
	return fmt.Appendf(object, "%s%08x%s\n", crcField, uint32(*c), crcEnd)
}

// LineOf returns the line of a value.
func (c *Sum) LineOf(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return c.Seal(b[:len(b)-1]), nil
}

// Open checks a line, without its line end, and returns the JSON object without its last brace.
func (c *Sum) Open(line []byte) (object []byte, err error) {
	n := len(line) - SumSize
	if n < 1 || string(line[n:n+len(crcField)]) != crcField || string(line[len(line)-len(crcEnd):]) != crcEnd {
		return nil, errors.New("no checksum at its end")
	}
	digits := line[n+len(crcField) : len(line)-len(crcEnd)]
	*c = Sum(crc32.Update(uint32(*c), Castagnoli, line[:n]))
	if string(digits) != hex.EncodeToString([]byte{byte(*c >> 24), byte(*c >> 16), byte(*c >> 8), byte(*c)}) {
		return nil, errors.New("altered, or not where it belongs: its checksum does not match")
	}
	return line[:n], nil
}

// Strict decodes JSON, and refuses unknown fields.
func Strict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

package fedkit

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
)

// chain is the checksum of the lines of a file so far. Each line is a JSON object whose last field is the CRC-32C of the
// bytes before it, going on from the line before: a line that was altered, removed, doubled or moved is found.
type chain uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	crcField = `,"crc":"`
	crcEnd   = `"}`
	crcSize  = len(crcField) + 8 + len(crcEnd)
)

// seal returns the line of a JSON object without its last brace.
func (c *chain) seal(object []byte) []byte {
	*c = chain(crc32.Update(uint32(*c), castagnoli, object))
	return fmt.Appendf(object, "%s%08x%s\n", crcField, uint32(*c), crcEnd)
}

// open checks a line, without its line end, and returns the JSON object without its last brace.
func (c *chain) open(line []byte) (object []byte, err error) {
	n := len(line) - crcSize
	if n < 1 || string(line[n:n+len(crcField)]) != crcField || string(line[len(line)-len(crcEnd):]) != crcEnd {
		return nil, errors.New("no checksum at its end")
	}
	digits := line[n+len(crcField) : len(line)-len(crcEnd)]
	*c = chain(crc32.Update(uint32(*c), castagnoli, line[:n]))
	if string(digits) != hex.EncodeToString([]byte{byte(*c >> 24), byte(*c >> 16), byte(*c >> 8), byte(*c)}) {
		return nil, errors.New("altered, or not where it belongs: its checksum does not match")
	}
	return line[:n], nil
}

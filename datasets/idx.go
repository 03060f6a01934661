package datasets

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// idxUint8 is the type byte of an idx file that holds unsigned bytes.
const idxUint8 = 0x08

// idxHeaderSize returns the length of the header in bytes: two zeros, the type, the number of dimensions, and each
// dimension as a big-endian uint32.
func idxHeaderSize(dims []int) int { return 4 + 4*len(dims) }

// idxSize returns the length in bytes of an idx file of unsigned bytes.
func idxSize(dims []int) int {
	values := 1
	for _, n := range dims {
		values *= n
	}
	return idxHeaderSize(dims) + values
}

// readIDX reads an idx file that must hold unsigned bytes of exactly these dimensions, and returns its whole content,
// header included. No byte may be missing, and none may follow. What is allocated depends on dims alone, never on the
// file.
func readIDX(r io.Reader, dims []int) ([]byte, error) {
	size := idxSize(dims)
	content := make([]byte, size)
	header, values := content[:idxHeaderSize(dims)], content[idxHeaderSize(dims):]
	if n, err := io.ReadFull(r, header); err != nil {
		return nil, short(err, n, size)
	}
	if err := checkIDXHeader(header, dims); err != nil {
		return nil, err
	}
	if n, err := io.ReadFull(r, values); err != nil {
		return nil, short(err, len(header)+n, size)
	}
	if err := ended(r, size); err != nil {
		return nil, err
	}
	return content, nil
}

// checkIDXHeader says what is wrong with a header of the right length.
func checkIDXHeader(h []byte, dims []int) error {
	switch {
	case h[0] != 0 || h[1] != 0:
		return fmt.Errorf("is not an idx file: begins with % x, not 00 00", h[:2])
	case h[2] != idxUint8:
		return fmt.Errorf("holds values of type 0x%02x: must be 0x%02x (unsigned bytes)", h[2], idxUint8)
	case int(h[3]) != len(dims):
		return fmt.Errorf("has %d dimensions: must have %d", h[3], len(dims))
	}
	found := make([]uint32, len(dims))
	binary.Decode(h[4:], binary.BigEndian, found) // h is long enough
	if !slices.EqualFunc(found, dims, func(a uint32, b int) bool { return int(a) == b }) {
		return fmt.Errorf("has dimensions %v: must be %v", found, dims)
	}
	return nil
}

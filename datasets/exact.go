package datasets

import (
	"fmt"
	"io"
)

// short is the error of a read that stopped after n of size bytes.
func short(err error, n, size int) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("ends after %d of %d bytes: %w", n, size, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("unreadable after %d of %d bytes: %w", n, size, err)
}

// ended checks that nothing follows after size bytes.
func ended(r io.Reader, size int) error {
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return fmt.Errorf("continues after its %d bytes: nothing may follow", size)
	case err != io.EOF: // such as a wrong gzip checksum
		return err
	}
	return nil
}

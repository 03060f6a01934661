// Package file writes files atomically, as others may be reading them.
package file

import (
	"bufio"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Write writes a file that appears whole or not at all; folders are created as needed.
func Write(path string, b []byte) error {
	return Stream(path, func(w io.Writer) error { _, err := w.Write(b); return err })
}

// Stream is Write for content that is not held in memory.
func Stream(path string, content func(io.Writer) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }() // of the temporary file after an error
	w := bufio.NewWriter(f)
	if err := content(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

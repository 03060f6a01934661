package fedkit

import (
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// writeFile writes a file that appears whole or not at all; folders are made as needed.
func writeFile(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return renameio.WriteFile(path, b, 0o644, renameio.WithTempDir(filepath.Dir(path)))
}

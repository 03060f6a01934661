package chart

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode"

	"fedkit.example/fedkit/internal/file"
)

// Dir is the folder that figures are written to outside a notebook; "" is the current one. It is made if need be.
var Dir = ""

// write writes the sheet into Dir, and says where.
func (s *sheet) write(log io.Writer) error {
	png, err := s.png()
	if err != nil {
		return err
	}
	path := filepath.Join(Dir, s.name+".png")
	if err := writeFile(path, png); err != nil {
		return err
	}
	_, err = fmt.Fprintln(log, "wrote", path)
	return err
}

// writeFile writes a file atomically, and makes its folders.
func writeFile(path string, data []byte) error {
	if err := file.Write(path, data); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	return nil
}

// fileName is Name, or what is left of Title when it is made fit for a file.
func (f *Figure) fileName() string {
	words := strings.FieldsFunc(strings.ToLower(cmp.Or(f.Name, f.Title)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.'
	})
	return cmp.Or(strings.Trim(strings.Join(words, "-"), ".-"), "figure")
}

package catalog_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sources "fedkit.example"
)

// The sources are all Go files of the packages that have any, without their tests.
func TestSourcesAreComplete(t *testing.T) {
	var embedded []string
	folders := map[string]bool{}
	if err := fs.WalkDir(sources.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			embedded, folders[filepath.Dir(path)] = append(embedded, path), true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for folder := range folders {
		files, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
		if err != nil || files == nil {
			t.Fatal(folder, err)
		}
		for _, f := range files {
			path := folder + "/" + filepath.Base(f)
			if test := strings.HasSuffix(path, "_test.go"); slices.Contains(embedded, path) == test {
				t.Errorf("%s: mend the patterns of sources.go", path)
			}
		}
	}
}

package study

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/source"
)

// digests are the first digits of files' SHA-256, by path; "" for what is no file.
type digests map[string]string

// of reads a file once.
func (d digests) of(path string) string {
	sum, known := d[path]
	if known || path == "" {
		return sum
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		if is, err := digestIn(path); err == nil {
			sum = is.SHA256[:16]
		}
	}
	d[path] = sum
	return sum
}

// ofFolder is of for a folder: the names and the content of all files below it.
func (d digests) ofFolder(path string) string {
	h, files := sha256.New(), 0
	_ = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files++
			fmt.Fprintln(h, name, d.of(name))
		}
		return nil
	})
	if files == 0 {
		return ""
	}
	return fmt.Sprintf("%.8x", h.Sum(nil))
}

// reading returns the trial with the SHA-256 of the files that its world names, such as CSV.File, of the folders of an ImageFolder, and
// of the code of your own components: their names do not say what is in them. A world without any of these stays as it is.
func (t *Trial) reading(sums digests) *Trial {
	files, parts := map[string]string{}, []any{t.World}
	for i := 0; i < len(parts); i++ { // a model adds its function and arguments
		_ = config.Walk(parts[i], func(_ string, part any) error {
			switch v := part.(type) {
			case Model:
				parts = append(append(parts, v.of), v.arguments...)
				for _, a := range v.arguments {
					if path, is := a.(string); is {
						files[path] = sums.of(path)
					}
				}
			case datasets.ImageFolder:
				for _, dir := range []string{v.Dir, v.Test} {
					files[dir] = sums.ofFolder(dir)
				}
			default:
				for _, path := range textsIn(part) {
					files[path] = sums.of(path)
				}
			}
			return nil
		})
	}
	maps.DeleteFunc(files, func(_, sum string) bool { return sum == "" })
	own := ownCode(source.Of(parts...))
	if len(files) == 0 && own == "" {
		return t
	}
	read := *t
	if read.code = own; len(files) > 0 {
		read.files = files
	}
	return &read
}

// textsIn returns the texts of a struct's fields, which may be paths.
func textsIn(part any) (texts []string) {
	v := reflect.Indirect(reflect.ValueOf(part))
	for i := 0; v.Kind() == reflect.Struct && i < v.NumField(); i++ {
		if f := v.Field(i); f.CanInterface() && f.Kind() == reflect.String {
			texts = append(texts, f.String())
		} else if f.CanInterface() {
			list, _ := f.Interface().([]string) // such as parquet.Table's Files
			texts = append(texts, list...)
		}
	}
	return texts
}

// readsFiles reports whether a world names files that were there.
func readsFiles(world *config.Config) bool {
	_, reads := world.At("files")
	return reads
}

// differsInFiles reports whether a world is the trial's but for files, which are not here.
func (t *Trial) differsInFiles(world *config.Config) bool {
	fields := config.Vary(world, config.Of(t.World))
	return len(fields) == 1 && fields[0].Path == "files"
}

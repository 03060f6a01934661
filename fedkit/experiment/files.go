package experiment

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

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
		if f, err := os.Open(path); err == nil {
			h := sha256.New()
			if _, err = io.Copy(h, f); err == nil {
				sum = fmt.Sprintf("%.8x", h.Sum(nil))
			}
			_ = f.Close() // it was only read
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
func (c *Trial) reading(sums digests) *Trial {
	files := map[string]string{}
	_ = config.Walk(c.World, func(_ string, part any) error {
		if folder, is := part.(datasets.ImageFolder); is {
			for _, dir := range []string{folder.Dir, folder.Test} {
				if sum := sums.ofFolder(dir); sum != "" {
					files[dir] = sum
				}
			}
			return nil
		}
		v := reflect.Indirect(reflect.ValueOf(part))
		for i := 0; v.Kind() == reflect.Struct && i < v.NumField(); i++ {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			paths, _ := v.Field(i).Interface().([]string) // such as parquet.Table's Files
			if f := v.Field(i); f.Kind() == reflect.String {
				paths = []string{f.String()}
			}
			for _, path := range paths {
				if sum := sums.of(path); sum != "" {
					files[path] = sum
				}
			}
		}
		return nil
	})
	_, own, _ := strings.Cut(source.Of(c.World), "; ")
	if len(files) == 0 && own == "" {
		return c
	}
	read, e := *c, *c.Experiment
	read.Experiment, e.code = &e, own
	if len(files) > 0 {
		e.files = files
	}
	return &read
}

// readsFiles reports whether a world names files that were there.
func readsFiles(world *config.Config) bool {
	_, reads := world.At("files")
	return reads
}

// differsInFiles reports whether a world is the trial's but for files, which are not here.
func (c *Trial) differsInFiles(world *config.Config) bool {
	fields := config.Vary(world, config.Of(c.World))
	return len(fields) == 1 && fields[0].Path == "files"
}

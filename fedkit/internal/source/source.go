// Package source fingerprints the code that values are made of.
package source

import (
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"

	"fedkit.example/fedkit/config"
)

// Of fingerprints the code of values: fedkit's version and, if they are made of code outside of it, a hash of that:
// "fedkit 0f1e2d3c4b5a; own 5a4b3c2d1e0f". Where some of it cannot be seen, the reason stands instead of the hash: see Unseen.
func Of(values ...any) string {
	code := "fedkit " + version()
	if sum, unseen := own(values, false); unseen != "" {
		code += "; unseen " + unseen
	} else if sum != "" {
		code += "; own " + sum
	}
	return code
}

// Unseen returns what cannot be seen of the code that Of fingerprinted, "" if all can.
func Unseen(code string) string {
	_, unseen, _ := strings.Cut(code, "; unseen ")
	return unseen
}

// Own is a hash of the code outside of fedkit that graph functions are made of, "" if there is none. The values that they captured are
// in the graphs.
func Own(functions any) (sum, unseen string) { return own([]any{functions}, true) }

// own returns a hash of the code of values that is not fedkit's, "" if there is none, and what of it cannot be seen.
func own(values []any, graphs bool) (sum, unseen string) {
	h, n := sha256.New(), 0
	for _, v := range values {
		list := ""
		if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Slice {
			list = t.Elem().Name() + "s" // Metrics
		}
		_ = config.WalkAll(v, func(path string, v any) error {
			p := partOf(list+path, v)
			if p.name == "" || !counts(p.of, p.isTest()) || unseen != "" {
				return nil
			}
			var sum string
			if sum, unseen = program().sum(p, graphs); unseen != "" {
				unseen = cmp.Or(p.path, p.name) + " = " + unseen
			}
			n++
			fmt.Fprintln(h, sum)
			return nil
		})
	}
	if n == 0 || unseen != "" {
		return "", unseen
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6]), ""
}

// sources is the folder of the module, as of when the program was built.
var sources = sync.OnceValue(func() string {
	_, file, _, _ := runtime.Caller(0) // fedkit/internal/source/source.go
	return strings.TrimSuffix(file, "fedkit/internal/source/source.go")
})

// version is a hash of fedkit's source files or, without them, the module's version in the build info. Tests do not read the
// files: Go would rerun a cached test whenever any of them has changed.
var version = sync.OnceValue(func() string {
	if inTest() {
		return "in a test"
	}
	return cmp.Or(hashFiles(sources()), module())
})

func inTest() bool { return flag.Lookup("test.v") != nil }

// hashFiles returns a hash of the packages in the module's folder; "" if there are none.
func hashFiles(root string) string {
	h, n := sha256.New(), 0
	for _, dir := range []string{"datasets", "fedkit", "notebooks/examples"} {
		_ = filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			n++
			fmt.Fprintf(h, "%s %d\n%s", strings.TrimPrefix(path, root), len(b), b)
			return err
		})
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6])
}

// module is the module's version in the build info.
func module() string {
	if m := moduleOf("fedkit.example"); m != nil {
		return cmp.Or(m.Sum, m.Version, "unknown")
	}
	return "unknown"
}

// Commit is that of the checkout that the program was built from, "0f1e2d3c4b5a", with a + if files were changed; "" if the build info
// has none, as in a cell or a test.
func Commit() string {
	commit, changed := setting("vcs.revision"), ""
	if setting("vcs.modified") == "true" {
		changed = "+"
	}
	if commit = commit[:min(12, len(commit))]; commit == "" {
		return ""
	}
	return commit + changed
}

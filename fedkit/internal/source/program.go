package source

import (
	"crypto/sha256"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/modfile"
)

// built is the user's code that this program was built from. It counts by package: each that the program links, by the content of
// its folder and of what it embeds, since a part may do what any of them sets. A cell of a notebook is a program of its own, and another
// one must find what it stored: there, package main counts by declaration, with all that a part reaches.
type built struct {
	dir     string            // of package main, or of the package that is tested
	cell    bool              // it is a notebook's
	modules map[string]string // folders, by path
	at      time.Time         // when the program was built; files that are newer were changed since

	mu       sync.Mutex
	sums     map[string]string        // of packages with all that they import, by path
	declared map[string]*declarations // by folder
	unseen   string                   // why the code cannot be seen, and what it must be
}

var program = sync.OnceValue(func() *built {
	b := &built{sums: map[string]string{}, declared: map[string]*declarations{}}
	switch b.dir = mainFolder(); {
	case inTest():
		b.dir = beganIn
	case b.dir == "" || !filepath.IsAbs(b.dir) || setting("-trimpath") == "true":
		b.unseen = "code of a program that does not know its files, as after -trimpath: must be built without that"
		return b
	default:
		cells, err := filepath.EvalSymlinks(os.Getenv("GONB_TMP_DIR"))
		real, also := filepath.EvalSymlinks(b.dir)
		b.cell = err == nil && also == nil && cells == real && os.Getenv("GONB_PIPE") != ""
	}
	b.modules, b.at = modules(b.dir), began
	// What go run and go test have built is as new as the program's beginning; go may have kept it.
	if exe, err := os.Executable(); err == nil && !strings.Contains(exe, "go-build") {
		if info, err := os.Stat(exe); err == nil {
			b.at = info.ModTime()
		}
	}
	return b
})

// began is when the program began, and beganIn where.
var (
	began      = time.Now()
	beganIn, _ = os.Getwd()
)

var inMain = regexp.MustCompile(`(?:^|\n)(?:created by )?main\.(?:main|init)\b.*\n\t(.+):\d+`)

// mainFolder returns the folder of the function main, which is on the stack of a goroutine, or of what comes before it.
func mainFolder() string {
	stacks := make([]byte, 1<<16)
	n := runtime.Stack(stacks, true)
	for ; n == len(stacks) && n < 1<<26; n = runtime.Stack(stacks, true) {
		stacks = make([]byte, 2*n)
	}
	if at := inMain.FindSubmatch(stacks[:n]); at != nil {
		return filepath.Dir(string(at[1]))
	}
	return ""
}

// setting returns one that the program was built with.
func setting(key string) string {
	for _, s := range info().Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// modules returns the folders of the modules that are not in Go's cache: that of a folder, those that its workspace uses, and local
// replacements.
func modules(dir string) map[string]string {
	all := map[string]string{}
	read := func(name string, add func(at string, text []byte)) {
		for at := dir; ; at = filepath.Dir(at) {
			if text, err := os.ReadFile(filepath.Join(at, name)); err == nil {
				add(at, text)
				return
			}
			if at == filepath.Dir(at) {
				return
			}
		}
	}
	add := func(in, folder string) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(in, folder)
		}
		if text, err := os.ReadFile(filepath.Join(folder, "go.mod")); err == nil {
			all[modfile.ModulePath(text)] = folder
		}
	}
	replaced := func(in string, all []*modfile.Replace) {
		for _, r := range all {
			if r.New.Version == "" {
				add(in, r.New.Path)
			}
		}
	}
	read("go.mod", func(at string, text []byte) {
		add(at, at)
		if mod, err := modfile.ParseLax("go.mod", text, nil); err == nil {
			replaced(at, mod.Replace)
		}
	})
	read("go.work", func(at string, text []byte) {
		if work, err := modfile.ParseWork("go.work", text, nil); err == nil {
			for _, use := range work.Use {
				add(at, use.Path)
			}
			replaced(at, work.Replace)
		}
	})
	return all
}

// folder returns the folder of a package, "" if it is in none of the modules.
func (b *built) folder(pkg string) string {
	if pkg == "main" {
		return b.dir
	}
	module := ""
	for path := range b.modules {
		if within(pkg, path) && len(path) > len(module) {
			module = path
		}
	}
	if module == "" {
		return ""
	}
	return filepath.Join(b.modules[module], strings.TrimPrefix(pkg, module))
}

// sum fingerprints the code of a part. Where graphs have what functions captured, that is no reason not to.
func (b *built) sum(p part, graphs bool) (sum, unseen string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unseen != "" {
		return "", b.unseen
	}
	dir := b.folder(strings.TrimSuffix(p.of, "_test"))
	if dir == "" {
		return b.imported(p.of), b.unseen
	}
	r := b.reach(dir, p)
	switch {
	case r.captured != "" && !graphs:
		return "", fmt.Sprintf("a function that captures %s, whose value cannot be seen: must be a method of a type that has it in a field, or in a type with a method Key() string", r.captured)
	case r.unseen != "":
		return "", "code that uses " + r.unseen + ", which cannot be seen: must be made of constants, and of fields"
	case !b.cell:
		sum = b.content("main", b.dir)
	case p.of == "main":
		sum = r.sum
		for _, pkg := range slices.Sorted(maps.Keys(r.imports)) {
			sum += b.imported(pkg)
		}
	default:
		sum = b.imported(p.of)
	}
	return sum, b.unseen
}

// imported fingerprints a package that is imported, "" if it does not count. One of a versioned module is known by the version.
func (b *built) imported(pkg string) string {
	if !counts(pkg, false) {
		return ""
	}
	if dir := b.folder(pkg); dir != "" {
		return b.content(pkg, dir)
	}
	m := moduleOf(pkg)
	if m.Replace != nil {
		m = m.Replace
	}
	if m.Sum == "" {
		b.unseen = "code of package " + pkg + ", whose files are not found: must be in a module of the workspace, or a version of one"
	}
	return fmt.Sprintln(m.Path, m.Version, m.Sum)
}

var compiled = []string{".go", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".s", ".S", ".f", ".m", ".syso"}

// content returns a hash of a package's files, of those it embeds, and of the packages that it imports. Of what is fedkit's and of a test,
// tests count alone.
func (b *built) content(pkg, dir string) string {
	if sum, known := b.sums[pkg]; known {
		return sum
	}
	h, imports := sha256.New(), map[string]bool{}
	tests := inTest() && dir == b.dir
	whole := !tests || info().Main.Path != "fedkit.example"
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.unseen = fmt.Sprintf("code of package %s: %v: must be in a folder that can be read", pkg, err)
	}
	if pkg == "main" { // sets variables of packages
		fmt.Fprintln(h, setting("-tags"))
		if flags := setting("-ldflags"); strings.Contains(flags, "-X") {
			fmt.Fprintln(h, flags)
		}
	}
	for _, e := range entries {
		test := strings.HasSuffix(e.Name(), "_test.go")
		if e.IsDir() || !slices.Contains(compiled, filepath.Ext(e.Name())) || test && !tests || !test && !whole {
			continue
		}
		path := filepath.Join(dir, e.Name())
		text := b.read(path)
		fmt.Fprintf(h, "%s %d\n%s", e.Name(), len(text), text)
		if filepath.Ext(path) != ".go" {
			continue
		}
		for _, file := range embedded(dir, string(text)) {
			name, _ := filepath.Rel(dir, file)
			in := b.read(file)
			fmt.Fprintf(h, "%s %d\n%s", name, len(in), in)
		}
		if f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly); err == nil {
			for _, i := range f.Imports {
				if p, _ := strconv.Unquote(i.Path.Value); b.folder(p) != dir {
					imports[p] = true
				}
			}
		}
	}
	b.sums[pkg] = ""
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintln(h, p, b.imported(p))
	}
	b.sums[pkg] = fmt.Sprintf("%x\n", h.Sum(nil))
	return b.sums[pkg]
}

// read reads a file that the program was built from.
func (b *built) read(path string) []byte {
	info, err := os.Stat(path)
	if err == nil && info.ModTime().After(b.at) {
		err = fmt.Errorf("code in %s, which was changed after the program was built: must be built again", path)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		b.unseen = err.Error()
	}
	return text
}

var embeds = regexp.MustCompile(`(?m)^//go:embed[ \t]+(.+)$`)

// embedded returns the files that a source file embeds.
func embedded(dir, text string) (files []string) {
	for _, line := range embeds.FindAllStringSubmatch(text, -1) {
		for _, pattern := range strings.Fields(line[1]) {
			if plain, err := strconv.Unquote(pattern); err == nil {
				pattern = plain
			}
			found, _ := filepath.Glob(filepath.Join(dir, strings.TrimPrefix(pattern, "all:")))
			for _, root := range found {
				_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
					if err == nil && e.Type().IsRegular() {
						files = append(files, path)
					}
					return nil
				})
			}
		}
	}
	return files
}

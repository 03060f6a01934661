package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A built is how go has compiled and linked a cell. A later cell that imports no more is compiled and linked by the same commands:
// go would look at every file of every package first, which takes half as long as the linker, and find what it found before.
type built struct {
	State         string   // of all that go looks at: see state
	Imports       []string // what a cell may import
	Compile, Link command
}

// A command is a tool's, as go ran it.
type command struct {
	Args, Env []string
	Config    string // the text of the file that -importcfg names
}

const (
	mostBuilt = 8    // of a kernel, the latest
	mostFiles = 5000 // to look at, which takes 20 ms
	ours      = "fedkit.example"
)

// runTool runs a tool for go (see -toolexec), and notes the command in the cell's folder if it compiles or links the cell.
func runTool(args []string) error {
	if at := value(args, "-importcfg"); at != "" && value(args, "-o") != "" && (filepath.Base(args[0]) == "link" || value(args, "-p") == "main") {
		config, err := os.ReadFile(at)
		if err == nil {
			err = save(filepath.Join(os.Getenv("GONB_TMP_DIR"), ".fedkit", filepath.Base(args[0])+".json"), command{args, os.Environ(), string(config)})
		}
		if err != nil {
			return err
		}
	}
	return syscall.Exec(args[0], args, os.Environ())
}

// noting is the option by which go runs its tools by runTool.
func noting() (string, error) {
	self, err := os.Executable()
	return "-toolexec='" + self + "' tool-of-cell", err
}

// forget removes the commands of an earlier cell: go leaves a tool out if it has the result.
func (c cell) forget() {
	for _, name := range []string{"compile.json", "link.json"} {
		_ = os.Remove(c.own(name))
	}
}

// note adds how the cell was built, if a later cell can be built so.
func (c cell) note(imports []string, state string) {
	b := built{State: state, Imports: imports}
	if load(c.own("compile.json"), &b.Compile) != nil || load(c.own("link.json"), &b.Link) != nil {
		return
	}
	pkg := value(b.Compile.Args, "-o")
	work := filepath.Dir(filepath.Dir(pkg)) + string(filepath.Separator) // which go removes
	b.Link.Config = strings.ReplaceAll(b.Link.Config, pkg, c.own("cell.a"))
	if strings.Contains(b.Compile.Config+b.Link.Config, work) {
		return // a package is not in go's cache yet
	}
	all := append([]built{b}, slices.DeleteFunc(c.notes(), func(old built) bool { return old.State != state || slices.Equal(old.Imports, imports) })...)
	_ = save(c.own("built.json"), all[:min(len(all), mostBuilt)])
}

func (c cell) notes() (all []built) {
	_ = load(c.own("built.json"), &all)
	return all
}

// again builds a cell as an earlier one, and reports whether it could. If the cell has mistakes it could not, and go says them.
func (c cell) again(imports []string, state string) bool {
	for _, b := range c.notes() {
		if b.State == state && !slices.ContainsFunc(imports, func(p string) bool { return !slices.Contains(b.Imports, p) }) {
			return b.Compile.run(c, "cell.a") && b.Link.run(c, "cell.out") && os.Rename(c.own("cell.out"), c.output()) == nil
		}
	}
	return false
}

// run runs the command for a cell, with another file for its result.
func (t command) run(c cell, result string) bool {
	config := c.own("importcfg")
	if os.WriteFile(config, []byte(t.Config), 0o600) != nil {
		return false
	}
	args := slices.Clone(t.Args)
	args[slices.Index(args, "-o")+1], args[slices.Index(args, "-importcfg")+1] = c.own(result), config
	if filepath.Base(args[0]) == "link" {
		args[len(args)-1] = c.own("cell.a")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = c.dir, t.Env
	return cmd.Run() == nil
}

// output is the program that GoNB wants.
func (c cell) output() string {
	out := value(c.args, "-o")
	if !filepath.IsAbs(out) {
		out = filepath.Join(c.dir, out)
	}
	return out
}

// own is a file of the cell's folder that is not GoNB's.
func (c cell) own(name string) string { return filepath.Join(c.dir, ".fedkit", name) }

// importsOf returns what a source imports, and whether it can be built by what is known of other sources.
func importsOf(source []byte) (all []string, plain bool) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ImportsOnly)
	if err != nil || strings.Contains(string(source), "//go:") { // go:embed, go:debug
		return nil, false
	}
	for _, i := range file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		if p == "C" {
			return nil, false
		}
		all = append(all, p)
	}
	slices.Sort(all)
	return slices.Compact(all), true
}

// state is a hash of what decides how a cell is built, besides its source: go's options and environment, the cell's modules, and names,
// sizes and times of all files in the modules of its workspace, as Go files may embed any; not of notebooks. Of fedkit, what cells
// import is in three folders. What is in the module cache never changes. It is "" if there are too many files to look at.
func (c cell) state() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", c.args)
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "GO") && !strings.HasPrefix(v, "GONB_") || strings.HasPrefix(v, "CGO_") || strings.HasPrefix(v, "PATH=") {
			fmt.Fprintln(h, v)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "go.work", "go.work.sum"} {
		text, _ := os.ReadFile(filepath.Join(c.dir, name))
		fmt.Fprintf(h, "%s\n", text)
	}
	others, _ := filepath.Glob(filepath.Join(c.dir, "*.go"))
	fmt.Fprintln(h, others)
	files, w := noteFiles(h, c.program), openWorkspace(c.dir)
	for _, module := range slices.Sorted(maps.Keys(w)) {
		if module != ours {
			files += noteFiles(h, w[module])
			continue
		}
		for _, name := range []string{"go.mod", "go.sum", "datasets", "fedkit", "notebooks/examples", "notebooks/studies"} {
			files += noteFiles(h, filepath.Join(w[module], name))
		}
	}
	if files > mostFiles {
		return ""
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// noteFiles writes names, sizes and times of the files in a folder, and returns how many there are: no more than one too many.
func noteFiles(to io.Writer, folder string) (n int) {
	_ = filepath.WalkDir(folder, func(at string, e fs.DirEntry, err error) error {
		switch {
		case n > mostFiles:
			return filepath.SkipAll
		case err != nil:
			return nil
		case e.IsDir() && at != folder && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(at) == ".ipynb":
			return nil
		}
		n++
		if info, err := os.Stat(at); err == nil {
			fmt.Fprintln(to, at, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return n
}

// value returns what follows an option, "" if it is not there.
func value(args []string, option string) string {
	if at := slices.Index(args, option); at >= 0 && at+1 < len(args) {
		return args[at+1]
	}
	return ""
}

func load(path string, to any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

func save(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

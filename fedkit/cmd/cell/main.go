// Command cell stands in for the go command in the kernel "Go (fedkit)". It forwards everything to go, except five requests of
// GoNB in a cell's folder:
//
//   - build: the cell's last line is shown if it is an expression, a panic is told in a few lines (see wrap), and the
//     compiler's messages are followed by hints (see hinted)
//   - test -c, for cells with %test: hints, and runs end as in other cells when they are stopped (see wrap)
//   - mistakes: what is wrong in a cell that Go's parser refuses (see mistakes)
//   - imports: packages that the cell uses are imported, others are not (see setImports)
//   - get: left out if nothing may be fetched, as the compiler then says what is missing, and in which line
//
// Under the name gopls it stands before gopls (see help): "gopls PROGRAM SOCKET".
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if filepath.Base(os.Args[0]) == "gopls" && len(os.Args) == 3 {
		fail(help(os.Args[1], os.Args[2]))
	}
	program, args := os.Getenv("FEDKIT_GO"), os.Args[1:]
	if program == "" {
		fail(errors.New("FEDKIT_GO is not set: this program is for the kernel, which sets it to the path of go"))
	}
	dir, _ := os.Getwd()
	c := cell{program, dir, args}
	switch {
	case len(args) == 0 || !inCell(dir):
	case args[0] == "build" && os.Getenv("GOOS") != "js":
		os.Exit(c.build())
	case args[0] == "test" && len(args) > 1 && args[1] == "-c":
		out, status := c.compile("main_test.go", false)
		os.Stdout.WriteString(strings.TrimSpace(hinted(string(out), dir)))
		os.Exit(status)
	case args[0] == "mistakes":
		os.Stdout.WriteString(mistakes(dir))
		return
	case args[0] == "imports" && len(args) == 2:
		if known, err := setImports(args[1]); err != nil || !known { // then goimports says what is wrong
			os.Exit(1)
		}
		return
	case args[0] == "get" && (len(args) == 1 || slices.Equal(args[1:], []string{"-t"})) && os.Getenv("GOPROXY") == "off":
		return
	}
	fail(syscall.Exec(program, append([]string{"go"}, args...), os.Environ()))
}

// inCell reports whether GoNB writes its cells into this folder.
func inCell(dir string) bool {
	its := os.Getenv("GONB_TMP_DIR")
	if its == "" || its == dir {
		return its != ""
	}
	a, err := filepath.EvalSymlinks(its) // macOS's /tmp, for one
	b, err2 := filepath.EvalSymlinks(dir)
	return err == nil && err2 == nil && a == b
}

// A cell is a build that GoNB asks for.
type cell struct {
	program, dir string
	args         []string
}

var noValue = regexp.MustCompile(`\(no value\) used as value`)

// build builds the cell and returns go's exit status. Only the compiler knows whether the call on the last line has a value. If
// it has none, the cell is built again without showing it; until then nothing was linked.
func (c cell) build() int {
	if c.settled() {
		return c.declare()
	}
	if i := slices.Index(c.args, "-o"); i >= 0 {
		_ = os.Remove(c.args[i+1]) // go does not replace what declare builds
	}
	out, status := c.compile("main.go", true)
	if status != 0 && noValue.Match(out) {
		out, status = c.compile("main.go", false)
	}
	return c.report(out, status)
}

// report writes what the compiler says, with hints, and passes its status on.
func (c cell) report(out []byte, status int) int {
	if status != 0 {
		out = []byte(strings.TrimSpace(hinted(string(out), c.dir)))
	} else {
		remember(c.dir)
	}
	os.Stdout.Write(out)
	return status
}

// compile builds the file with what wrap adds. If that fails, the cell is built as it is.
func (c cell) compile(file string, show bool) ([]byte, int) {
	overlay, err := c.overlay(file, show)
	if err != nil {
		return run(c.program, c.args)
	}
	return run(c.program, slices.Insert(slices.Clone(c.args), 1, "-overlay="+overlay))
}

// overlay writes a copy of the file for go's overlay into its own folder, which go ignores, and returns the overlay's description.
func (c cell) overlay(file string, show bool) (list string, err error) {
	// The kernel may be used with another checkout of fedkit.
	if _, err := os.Stat(openWorkspace(c.dir).folder(guards)); err != nil {
		return "", err
	}
	path := filepath.Join(c.dir, file)
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	wrapped, err := wrap(path, source, show)
	if err != nil {
		return "", err
	}
	copied, list := own(c.dir, file), own(c.dir, "overlay.json")
	if err := os.MkdirAll(filepath.Dir(list), 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(copied, wrapped, 0o600); err != nil {
		return "", err
	}
	return list, os.WriteFile(list, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, path, copied), 0o600)
}

// own is a file in a cell's folder that is not GoNB's.
func own(dir, name string) string { return filepath.Join(dir, ".fedkit", name) }

// run returns what go writes, and its exit status.
func run(program string, args []string) ([]byte, int) {
	var out bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		fail(err)
	}
	return out.Bytes(), cmd.ProcessState.ExitCode()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "fedkit:", err)
	os.Exit(1)
}

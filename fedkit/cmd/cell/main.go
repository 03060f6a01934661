// Command cell stands in for the go command in the kernel "Go (fedkit)". It forwards everything to go, except three requests of
// GoNB in a cell's folder:
//
//   - build: the cell's last line is shown if it is an expression, a panic is told in a few lines (see dress), and the
//     compiler's messages are followed by hints (see hinted); go is left out if it has built a cell with these imports (see built)
//   - test -c, for cells with %test: hints, and runs end as in other cells when they are stopped (see dress)
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
	if len(args) > 1 && args[0] == "tool-of-cell" {
		fail(runTool(args[1:]))
	}
	switch {
	case len(args) == 0 || !inCell(dir):
	case args[0] == "build" && os.Getenv("GOOS") != "js":
		os.Exit(build(cell{program: program, dir: dir, args: args}))
	case args[0] == "test" && len(args) > 1 && args[1] == "-c":
		out, status := cell{program: program, dir: dir, args: args}.dressed("main_test.go", false)
		os.Stdout.WriteString(hinted(string(out), dir))
		os.Exit(status)
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
// it has none, the cell is built again without showing it, which costs a tenth of a second.
func build(c cell) int {
	out, status := c.dressed("main.go", true)
	if status != 0 && noValue.Match(out) {
		out, status = c.dressed("main.go", false)
	}
	if status != 0 {
		out = []byte(hinted(string(out), c.dir))
	} else {
		remember(c.dir)
	}
	os.Stdout.Write(out)
	return status
}

// dressed builds the file with what dress adds. If that fails, the cell is built as it is.
func (c cell) dressed(file string, show bool) ([]byte, int) {
	overlay, source, err := c.overlay(file, show)
	if err != nil {
		return run(c.program, c.args)
	}
	args := append([]string{c.args[0], "-overlay=" + overlay}, c.args[1:]...)
	imports, plain := importsOf(source)
	option, err := noting()
	if !plain || err != nil || c.args[0] != "build" {
		return run(c.program, args)
	}
	state := c.state()
	if state != "" && c.again(imports, state) {
		return nil, 0
	}
	c.forget()
	out, status := run(c.program, slices.Insert(args, 1, option))
	if status == 0 && state != "" {
		c.note(imports, state)
	}
	return out, status
}

// overlay writes a copy of the file for go's overlay into its own folder, which go ignores, and returns the overlay's
// description, and the copy.
func (c cell) overlay(file string, show bool) (list string, dressed []byte, err error) {
	// The kernel may be used with another checkout of fedkit.
	if _, err := os.Stat(openWorkspace(c.dir).folder(guards)); err != nil {
		return "", nil, err
	}
	path := filepath.Join(c.dir, file)
	source, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	if dressed, err = dress(path, source, show); err != nil {
		return "", nil, err
	}
	copied, list := c.own(file), c.own("overlay.json")
	if err := os.MkdirAll(filepath.Dir(list), 0o700); err != nil {
		return "", nil, err
	}
	if err := os.WriteFile(copied, dressed, 0o600); err != nil {
		return "", nil, err
	}
	return list, dressed, os.WriteFile(list, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, path, copied), 0o600)
}

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

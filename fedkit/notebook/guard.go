// Package notebook is what the kernel "Go (fedkit)" puts around the statements of a notebook cell: Guard explains in a few lines
// why a cell ended, Begin connects it to the stop button and to the life of its kernel, and Show prints the value of its last
// line. It imports next to nothing, as every cell links it.
package notebook

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/interrupt"
)

// Guard is deferred by a cell's main. After a panic, it writes the reason and the lines of the cell that led there to standard
// error, and ends the program with status 2, as Go does, but without the calls of packages. If GOTRACEBACK is set (in a cell:
// %env GOTRACEBACK all), Go prints its full trace.
func Guard() {
	if os.Getenv("GOTRACEBACK") != "" {
		return
	}
	if p := recover(); p != nil {
		fmt.Fprint(os.Stderr, report(p, calls()))
		os.Exit(2)
	}
}

// Initialized notes, with a hash of what they are made of, that the variables of a cell have their values, as its main begins. A cell that
// only declares is not run if that is unchanged.
func Initialized(hash string) {
	_ = os.WriteFile(filepath.Join(os.Getenv("GONB_TMP_DIR"), ".fedkit", "initialized"), []byte(hash), 0o600) // without it, it is run
}

// Begin makes the stop button end runs without an error (see fedkit.Run), and ends the program when its kernel is gone: nobody
// could see or stop it any more. In a notebook with the stock GoNB kernel, one cell declares it for all:
//
//	var _ = notebook.Begin()
func Begin() int {
	interrupt.Enable()
	kernel := os.Getppid()
	go func() {
		for os.Getppid() == kernel {
			time.Sleep(time.Second)
		}
		os.Exit(1)
	}()
	return 0
}

// Interruptible returns a context that an interrupt (a notebook's stop button or Ctrl-C) cancels, with fedkit.ErrStopped as its cause.
// Until release is called, the first interrupt does not end the program, nor do those within half a second of it. Runs in a cell do
// this themselves; a cell with several runs needs it for the time between them.
func Interruptible(ctx context.Context) (_ context.Context, release func()) {
	return interrupt.Notify(cmp.Or(ctx, context.Background()))
}

// Panic replaces must.M, which would write the same error three times.
func Panic(err error) {
	if err != nil {
		panic(err)
	}
}

// calls returns the cell's stack frames at the panic, innermost first.
func calls() []runtime.Frame {
	return fault.Stack(2, func(f runtime.Frame) bool {
		return filepath.Base(f.File) == "main.go" && strings.HasPrefix(f.Function, "main.")
	})
}

// inMain finds lines of the cell in an error of fedkit, which names files without their folders.
var inMain = regexp.MustCompile(`(^|[\s(])(main\.go:\d+)\b`)

// report describes the panic and where it happened. GoNB replaces "/…/main.go:12" by the number of the cell and the line in it.
func report(p any, own []runtime.Frame) string {
	text := message(p)
	if len(own) == 0 {
		return text + "\n"
	}
	if inMain.MatchString(text) {
		return inMain.ReplaceAllString(text, "${1}"+filepath.Dir(own[0].File)+"/${2}") + "\n"
	}
	for _, f := range own[:min(5, len(own))] {
		text += fmt.Sprintf("\n\t%s %s:%d", f.Function, f.File, f.Line)
	}
	return text + "\n"
}

// message is the text of the panic. Errors of packages are shown as they are.
func message(p any) string {
	if err, ok := p.(error); ok {
		if _, ok := p.(runtime.Error); !ok {
			return "error: " + err.Error()
		}
	}
	return fmt.Sprint("panic: ", p)
}

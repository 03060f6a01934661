// Package command is the command fedkit, which runs studies without a notebook: over ssh, in tmux, in Slurm. A program of your own is the
// same command for studies of your own:
//
//	func main() { command.Main(study.Named{Name: "rates", Plan: rates}) }
//
// Results go to standard output: as text or, with --json, as JSON lines. Studies print these also where standard output is no
// terminal. Progress goes to standard error. The exit status is 0 on success, 1 after a failure, 2 if
// a name, an option or a file is wrong (nothing has been written then), and 130 after an interrupt or SIGTERM.
package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/interrupt"
	"fedkit.example/fedkit/internal/source"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/preset"
	"fedkit.example/fedkit/study"
	"fedkit.example/fedkit/worker"
	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

const (
	done = iota
	failed
	refused
	stopped = 130
)

// errStopped says that a run was stopped before its end. Its rounds so far were printed.
var errStopped = errors.New("stopped before the end")

// console is where a command writes.
type console struct {
	out io.Writer // results
	err io.Writer // what is for people
	in  io.Reader // answers to questions

	terminal bool // out is one
	asks     bool // somebody can be asked: in and err are terminals
}

// onTerminal reports whether a stream is a terminal.
func onTerminal(stream any) bool {
	f, is := stream.(*os.File)
	return is && term.IsTerminal(int(f.Fd()))
}

// form is an option of all commands that print results.
type form struct {
	JSON bool `help:"Print JSON lines."`
}

// line prints a value as a line of JSON.
func (c *console) line(value any) error { return json.NewEncoder(c.out).Encode(value) }

type commands struct {
	Study   studyCommands  `cmd:"" help:"Run what is missing of a study, or say what is."`
	Follow  followCommand  `cmd:"" help:"Show how far a run of another program is, until it is over."`
	Results resultsCommand `cmd:"" help:"List, show, compare and remove the runs that are stored."`

	Version kong.VersionFlag `help:"Print the commit that this was built from, and the version of the code that runs record."`
}

// Main runs the command with the arguments of the program, for these studies and the presets, and ends the program with its exit status.
func Main(studies ...study.Named) {
	worker.Main()
	os.Exit(execute(os.Args[1:], standard(), studies...))
}

// standard is the console of the process.
func standard() *console { return &console{out: os.Stdout, err: os.Stderr, in: os.Stdin} }

// execute runs the command with these arguments and studies, and returns its exit status.
func execute(args []string, c *console, studies ...study.Named) int {
	interrupt.Enable()
	c = &console{text.Terminal(c.out), text.Terminal(c.err), c.in, c.terminal || onTerminal(c.out), c.asks || onTerminal(c.in) && onTerminal(c.err)}
	for _, p := range preset.All() {
		studies = append(studies, study.Named{Name: p.Name, Plan: func() study.Plan { return study.Plan{&p.Trial} }})
	}
	over := false // set by --help and --version
	parser, err := kong.New(new(commands), kong.Name("fedkit"), kong.Writers(c.out, c.err), kong.Exit(func(int) { over = true }),
		kong.Vars{"studies": strings.Join(named(studies).names(), ", "), "version": version()}, kong.Description("Federated learning without a notebook."))
	if err != nil { // a mistake in the tags above
		panic(err)
	}
	ctx, err := parser.Parse(args)
	if over {
		return done
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", fedkit.ErrInvalid, err)
	} else {
		err = ctx.Run(c, named(studies))
	}
	if err != nil && !errors.Is(err, errStopped) {
		fmt.Fprintln(c.err, "fedkit:", strings.TrimPrefix(err.Error(), "fedkit: "))
	}
	return status(err)
}

// version is what --version prints: "fedkit 0f1e2d3c4b5a (code d75850ae4cc8)".
func version() string {
	_, code, _ := strings.Cut(source.Of(), " ")
	return fmt.Sprintf("fedkit %s (code %s)", cmp.Or(source.Commit(), "without a commit"), code)
}

func status(err error) int {
	switch {
	case err == nil:
		return done
	case errors.Is(err, errStopped), errors.Is(err, fedkit.ErrStopped):
		return stopped
	case errors.Is(err, fedkit.ErrInvalid):
		return refused
	}
	return failed
}

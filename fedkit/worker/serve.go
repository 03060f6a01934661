package worker

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"fedkit.example/fedkit/internal/xla"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Command is the program fedkit-worker: it runs the programs that it reads from standard input, until that ends, and returns its exit
// status.
func Command(args []string) int {
	flags := flag.NewFlagSet("fedkit-worker", flag.ContinueOnError)
	gpu := flags.Int("gpu", -1, "the GPU to use, from 0, of those that this process may use (default: none, or what GOMLX_BACKEND says)")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), `fedkit-worker runs programs for a fedkit that starts it, as in worker.Start(ctx, "ssh gpu2 fedkit-worker --gpu 0").`)
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case *gpu < -1:
		fmt.Fprintf(os.Stderr, "fedkit-worker: --gpu %d: must be the number of a GPU, from 0\n", *gpu)
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(os.Stderr, "fedkit-worker: argument %q: must be none; see --help\n", flags.Arg(0))
		return 2
	}
	if err := serve(*gpu); err != nil {
		fmt.Fprintln(os.Stderr, "fedkit-worker:", err)
		return 1
	}
	return 0
}

// serve runs programs until standard input ends.
func serve(gpu int) error {
	if term.IsTerminal(0) {
		return errors.New("standard input is a terminal: worker.Start starts this command; see --help")
	}
	if gpu >= 0 {
		if err := useGPU(gpu); err != nil {
			return err
		}
	}
	// What else writes to standard output goes to standard error.
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = unix.Dup2(2, 1)
	}
	if err != nil {
		return err
	}
	kind, err := thisKind()
	if err != nil {
		return err
	}
	s, err := newServer(os.NewFile(uintptr(fd), "output"))
	if err != nil {
		return err
	}
	go func() {
		s.beat(kind)
		syscall.Exit(1) // nobody reads
	}()
	err = s.read(bufio.NewReaderSize(os.Stdin, buffer))
	if errors.Is(err, io.EOF) {
		syscall.Exit(0) // at once, whatever runs
	}
	return err
}

// beat is the time between heartbeats.
const beat = time.Second

// server is the state of a worker.
type server struct {
	sender
	client *xla.Client
	slots  chan struct{} // a place for each program that runs at a time

	mu     sync.Mutex
	things map[string]*thing // by name: arguments, programs and results
}

func newServer(out io.Writer) (*server, error) {
	slots := 1
	if xla.OnCPU() {
		slots = max(1, runtime.GOMAXPROCS(0)/2)
	}
	client, err := xla.NewClient()
	return &server{sender: sender{to: bufio.NewWriterSize(out, buffer)}, client: client, slots: make(chan struct{}, slots), things: map[string]*thing{}}, err
}

// beat says hello, and sends heartbeats until nobody reads them.
func (s *server) beat(kind Kind) {
	_, err := s.to.WriteString(magic)
	for err = cmp.Or(err, s.send(&frame{Hello: &hello{os.Getpid(), cap(s.slots), kind}})); err == nil; err = s.send(&frame{}) {
		time.Sleep(beat)
	}
}

// thing is bytes, which are put on the device when they are an argument, or a program.
type thing struct {
	data    []byte
	buffer  *xla.Buffer
	program func() (*xla.Executable, error)
	users   int // calls, and the server while it has it by a name: the last one frees it
}

// read does what frames say, in their order; programs run concurrently.
func (s *server) read(from io.Reader) error {
	for {
		f, size, err := receive(from)
		if err != nil {
			return err
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(from, data); err != nil {
			return err
		}
		s.drop(f.Drop)
		if f.Store != "" {
			s.store(f.Store, &thing{data: data})
		}
		if f.Program != "" {
			things, err := s.arguments(f, data) // before the next frame drops some
			go func() {
				a := &frame{ID: f.ID}
				if err == nil {
					err = s.run(f, a, things)
				}
				s.release(things)
				if err != nil {
					a = &frame{ID: f.ID, Error: fmt.Sprintf("%.4000s", err.Error())}
				}
				_ = s.send(a) // if nobody reads it, the heartbeats end this process
			}()
		}
	}
}

func (s *server) store(name string, t *thing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.users, s.things[name] = 1, t
}

// use returns a thing, which is not freed before its release.
func (s *server) use(name string) (*thing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.things[name]
	if t == nil {
		return nil, fmt.Errorf("it has no %s", name)
	}
	t.users++
	return t, nil
}

// release frees the memory on the device of things without further users at once, so that the next call has it: new memory takes longer.
func (s *server) release(things []*thing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range things {
		if t.users--; t.users == 0 && t.buffer != nil {
			t.buffer.Free()
		}
	}
}

// drop forgets things.
func (s *server) drop(names []string) {
	var all []*thing
	s.mu.Lock()
	for _, name := range names {
		if t := s.things[name]; t != nil {
			all = append(all, t)
			delete(s.things, name)
		}
	}
	s.mu.Unlock()
	s.release(all)
}

// arguments returns the program of a call and its arguments, on the device, until their release.
func (s *server) arguments(f *frame, inline []byte) (all []*thing, err error) {
	program, err := s.use(f.Program)
	if err != nil {
		return nil, err
	}
	if text := program.data; program.program == nil {
		program.program = sync.OnceValues(func() (*xla.Executable, error) { return s.client.Compile(text) })
	}
	all = append(all, program)
	for _, a := range f.Args {
		t := &thing{users: 1} // of this call alone
		var parts [][]byte
		for _, p := range a.Parts {
			switch {
			case p.Like > 0:
				parts = append(parts, parts[p.Like-1])
			case p.Name == "":
				parts, inline = append(parts, inline[:p.Size]), inline[p.Size:]
			default:
				if t, err = s.use(p.Name); err != nil {
					return all, err
				}
				parts = append(parts, t.data)
			}
		}
		all = append(all, t)
		if t.buffer == nil {
			data := parts[0]
			if len(parts) > 1 {
				data = slices.Concat(parts...)
			}
			if t.buffer, err = s.client.Put(data, a.Type, a.Dims); err != nil {
				return all, err
			}
			t.data = nil
		}
	}
	return all, nil
}

// run runs a program once there is a slot. Its results are in the answer, or kept.
func (s *server) run(f, answer *frame, things []*thing) error {
	run, err := things[0].program()
	if err != nil {
		return err
	}
	buffers := make([]*xla.Buffer, len(things)-1)
	for i, t := range things[1:] {
		buffers[i] = t.buffer
	}
	s.slots <- struct{}{}
	out, err := run.Run(buffers...)
	<-s.slots
	if err != nil {
		return err
	}
	for i, b := range out {
		if slices.Contains(f.Keep, i) {
			s.store(resultName(f.ID, i), &thing{buffer: b})
			continue
		}
		data, err := b.Host()
		if err != nil {
			return err
		}
		b.Free()
		answer.bytes = append(answer.bytes, data)
	}
	return nil
}

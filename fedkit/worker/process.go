package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"fedkit.example/fedkit/internal/text"
)

var (
	errLost   = errors.New("lost")
	errClosed = errors.New("it was closed")
)

// silence is how long a worker that had a call may send nothing. Tests shorten it.
var silence = 30 * time.Second

// process is a worker, as this process sees it.
type process struct {
	name     string
	ctx      context.Context // until it is lost, whose cause says why
	lose     context.CancelCauseFunc
	ended    chan struct{} // closed once its process has ended
	hello    *hello
	ready    chan struct{} // closed once hello is there
	watchdog *time.Timer   // loses it, once it had a call and was silent for so long
	silence  time.Duration
	given    int // calls that it has, guarded by the mutex of Workers

	sending sync.Mutex // one call at a time, with what it needs
	out     sender
	has     map[string]bool // what the worker was sent, by name

	mu      sync.Mutex
	waiting map[uint64]*request
	drops   []string // what it is told to drop with the next call
	line    []byte   // of standard error, unfinished
	tail    []string // the last lines of it
}

// request is a call and the answer that it needs.
type request struct {
	frame   *frame
	objects []object // that the frame names
	size    int      // bytes of the results that the worker does not keep
	answer  chan answer
}

// object is what workers are sent once.
type object struct {
	name  string
	bytes func() ([]byte, error)
}

// answer is the results that the worker does not keep, or why there are none.
type answer struct {
	data []byte
	err  error
}

// begin starts a command that becomes a worker until ctx is done. It has no terminal, on which it could ask for a password.
func begin(ctx context.Context, name string, cmd *exec.Cmd) (*process, error) {
	p := newProcess(ctx, name)
	cmd.SysProcAttr, cmd.Stderr, cmd.WaitDelay = &syscall.SysProcAttr{Setsid: true}, p, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	context.AfterFunc(p.ctx, func() {
		select {
		case <-p.ended:
		case <-time.After(time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with what it has started here
			_ = out.Close()                                     // which what it has started may hold open
		}
	})
	go p.serve(in, out, cmd.Wait)
	return p, nil
}

func newProcess(ctx context.Context, name string) *process {
	p := &process{name: name, silence: silence, ended: make(chan struct{}), ready: make(chan struct{}), has: map[string]bool{}, waiting: map[uint64]*request{}}
	p.ctx, p.lose = context.WithCancelCause(ctx)
	p.watchdog = time.AfterFunc(time.Hour, func() { p.lose(fmt.Errorf("it was silent for %v", p.silence)) })
	p.watchdog.Stop()
	return p
}

// serve reads what the worker writes until that ends.
func (p *process) serve(in io.WriteCloser, out io.Reader, wait func() error) {
	p.out.to = bufio.NewWriterSize(in, buffer)
	context.AfterFunc(p.ctx, func() { _ = in.Close() }) // which ends it, wherever it is
	err := p.read(bufio.NewReaderSize(living{out, p}, buffer))
	if !errors.Is(err, io.EOF) {
		p.lose(err)
	}
	time.AfterFunc(time.Second, func() { p.lose(errors.New("it closed its output")) }) // its end says more
	if err = wait(); err == nil {
		err = errors.New("it ended")
	}
	if len(p.line) > 0 {
		_, _ = p.Write([]byte("\n"))
	}
	p.mu.Lock()
	if p.hello == nil && p.tail != nil {
		err = fmt.Errorf("%w: %s", err, strings.Join(p.tail, "; "))
	}
	p.mu.Unlock()
	p.lose(err)
	close(p.ended)
}

// living notes that the worker sends something: data, or a heartbeat.
type living struct {
	io.Reader
	*process
}

func (l living) Read(b []byte) (int, error) {
	if l.watchdog.Stop() { // it was started by a call
		l.watchdog.Reset(l.silence)
	}
	return l.Reader.Read(b)
}

// Write shows what the worker writes to standard error, line by line.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line = append(p.line, b...)
	for {
		line, rest, whole := bytes.Cut(p.line, []byte("\n"))
		if !whole && len(line) < buffer {
			return len(b), nil
		}
		shown := text.Lines(strings.TrimRight(string(line), "\r"))
		p.tail, p.line = append(p.tail[max(0, len(p.tail)-4):], shown), rest
		fmt.Fprintf(os.Stderr, "%s: %s\n", p.name, strings.TrimRight(shown, "\n"))
	}
}

// read reads the greeting, then answers, until there is an error.
func (p *process) read(from *bufio.Reader) error {
	for i := range len(magic) {
		b, err := from.ReadByte()
		if err != nil {
			return err
		}
		if b == magic[i] {
			continue
		}
		rest, _ := from.Peek(min(200, from.Buffered()))
		printed, _, _ := strings.Cut(magic[:i]+string(b)+string(rest), "\n")
		if strings.HasPrefix(printed, "fedkit-worker ") {
			return fmt.Errorf("it is of another version, %q, than this process, %q: build both from one fedkit", printed, magic)
		}
		return fmt.Errorf("something else writes first, such as a login message: %q", printed)
	}
	for {
		f, size, err := receive(from)
		if err == nil {
			err = p.take(f, size, from)
		}
		if err != nil {
			return err
		}
	}
}

// take hands an answer to its request. Its bytes are read only if they are what was asked for.
func (p *process) take(f *frame, size uint64, from io.Reader) error {
	p.mu.Lock()
	r := p.waiting[f.ID]
	delete(p.waiting, f.ID)
	p.mu.Unlock()
	switch h := f.Hello; {
	case p.hello == nil && h != nil && size == 0 && h.Slots > 0 && h.Slots <= 1<<16:
		p.hello = h
		close(p.ready)
		return nil
	case p.hello != nil && f.ID == 0 && size == 0:
		return nil
	case r == nil:
		return fmt.Errorf("%w: an answer to call %d, which it does not have", errFrame, f.ID)
	}
	if err := f.check(size, uint64(r.size)); err != nil {
		return err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(from, data); err != nil {
		return err
	}
	var failed error
	if f.Error != "" {
		failed = fmt.Errorf("%s: %s", p.name, text.Lines(f.Error))
	}
	r.answer <- answer{data, failed}
	return nil
}

// room is the number of calls that the worker may be given.
func (p *process) room() int { return p.hello.Slots + 1 - p.given }

// lost returns why the worker was lost, nil if it was not.
func (p *process) lost() error {
	if p.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s was %w: %w", p.name, errLost, context.Cause(p.ctx))
}

// drop tells the worker, with the next call, what is no longer needed.
func (p *process) drop(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops = append(p.drops, name)
}

// ask gives the worker a call. It ends with the answer, with the loss of the worker, or with ctx.
func (p *process) ask(ctx context.Context, asked *request) (data []byte, err error) {
	p.watchdog.Reset(p.silence)
	r := *asked // another worker may be asked before this one stops answering
	r.answer = make(chan answer, 1)
	go p.send(ctx, &r) // which takes long if the worker does not read
	select {
	case a := <-r.answer:
		return a.data, a.err
	case <-p.ctx.Done():
		return nil, p.lost()
	case <-ctx.Done():
		go p.leave(&r)
		return nil, ctx.Err()
	}
}

// send sends a call after what it needs and the worker lacks, unless ctx is done when its turn comes.
func (p *process) send(ctx context.Context, r *request) {
	p.sending.Lock()
	defer p.sending.Unlock()
	if err := ctx.Err(); err != nil {
		r.answer <- answer{err: err}
		return
	}
	frames, err := p.frames(r)
	if err != nil {
		r.answer <- answer{err: err}
	} else if err := p.out.send(frames...); err != nil && !errors.Is(err, os.ErrClosed) {
		time.AfterFunc(time.Second, func() { p.lose(err) }) // its end says more
	}
}

// leave drops what the worker keeps as the answer to a request.
func (p *process) leave(r *request) {
	select {
	case <-r.answer:
		for _, i := range r.frame.Keep {
			p.drop(resultName(r.frame.ID, i))
		}
	case <-p.ctx.Done():
	}
}

// frames returns a call, with what goes before it.
func (p *process) frames(r *request) (frames []*frame, err error) {
	p.mu.Lock()
	p.waiting[r.frame.ID] = r
	frames, p.drops = append(frames, &frame{Drop: p.drops}), nil
	p.mu.Unlock()
	for _, name := range frames[0].Drop {
		delete(p.has, name)
	}
	for _, o := range r.objects {
		if p.has[o.name] {
			continue
		}
		b, err := o.bytes()
		if err != nil {
			p.lose(err) // it has only some
			return nil, err
		}
		p.has[o.name] = true
		frames = append(frames, &frame{Store: o.name, bytes: [][]byte{b}})
	}
	return append(frames, r.frame), nil
}

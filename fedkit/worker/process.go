package worker

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fedkit.example/fedkit/internal/text"
)

var (
	errLost   = errors.New("lost")
	errClosed = errors.New("it was closed")
)

// silence is how long a worker that had a call may give no sign of life; tests shorten it.
var silence = 30 * time.Second

// process is a worker, as this process sees it.
type process struct {
	w     *Workers
	name  string
	env   []string
	cmd   *exec.Cmd
	stdin io.Closer
	out   sender
	hello hello
	greet chan struct{} // closed once it has said hello
	gone  chan struct{} // closed once it is lost
	ended chan struct{} // closed once its process has ended
	seen  atomic.Int64  // when it last gave a sign of life, in nanoseconds
	watch sync.Once     // begins with its first call
	load  int           // calls that it has; see Workers.mu

	sending sync.Mutex // objects go before the calls that need them
	has     map[string]*held
	used    int64 // bytes that it keeps
	uses    int64

	mu      sync.Mutex
	waiting map[uint64]*request
	drops   []string // what it is told to drop with the next call
	said    []string // the last lines of its standard error
	why     error    // it was lost
}

// held is an object that a worker has.
type held struct{ bytes, last int64 }

// request waits for an answer.
type request struct {
	want   []result
	answer chan answer // has room for it
	left   bool        // nobody waits any more
}

// answer is an answer with its bytes, or the error errLost.
type answer struct {
	*head
	data []byte
	err  error
}

func newProcess(w *Workers, name string, env []string) *process {
	return &process{w: w, name: name, env: env, greet: make(chan struct{}), gone: make(chan struct{}), ended: make(chan struct{}),
		has: map[string]*held{}, waiting: map[uint64]*request{}}
}

// start starts the command, without a terminal that it could ask for a password.
func (p *process) start(command string) error {
	p.cmd = exec.Command("sh", "-c", command)
	p.cmd.Env, p.cmd.SysProcAttr = p.env, &syscall.SysProcAttr{Setsid: true}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	lines, err := p.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.stdin, p.out.to = in, bufio.NewWriterSize(in, 1<<16)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		p.listen(lines)
	}()
	go func() {
		err := p.read(bufio.NewReaderSize(alive{out, p}, 1<<16))
		_ = p.stdin.Close() // which ends it
		end := time.AfterFunc(time.Second, p.kill)
		defer end.Stop()
		select { // what it says as it ends
		case <-heard:
		case <-time.After(time.Second):
		}
		ended := p.cmd.Wait()
		if errors.Is(err, io.EOF) {
			err = cmp.Or(ended, errors.New("it ended"))
		}
		p.lose(err)
		close(p.ended)
	}()
	return nil
}

// alive notes signs of life.
type alive struct {
	io.Reader
	*process
}

func (a alive) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	a.seen.Store(time.Now().UnixNano())
	return n, err
}

// listen shows what the worker writes to standard error.
func (p *process) listen(from io.Reader) {
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadSlice('\n') // one that is longer comes in parts
		if len(line) > 0 {
			said := text.Lines(strings.TrimRight(string(line), "\r\n"))
			p.mu.Lock()
			p.said = append(p.said[max(0, len(p.said)-4):], said)
			ready := p.hello.PID != 0
			p.mu.Unlock()
			if ready { // before that, it is in the error of Start
				fmt.Fprintf(os.Stderr, "%s: %s\n", p.name, said)
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// ready waits until the command is a worker.
func (p *process) ready(ctx context.Context) error {
	select {
	case <-p.greet:
		return nil
	case <-p.gone:
	case <-ctx.Done():
		p.lose(fmt.Errorf("it said nothing in time; does it wait for a password, or in a queue? %w", ctx.Err()))
	}
	<-p.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	what := fmt.Sprintf("%s: %v", p.name, p.why)
	if len(p.said) > 0 {
		what += ": " + strings.Join(p.said, "; ")
	}
	return fmt.Errorf("%s; try the command in a terminal: it must start without a question, and print %q first", what, magic+version)
}

// read reads answers until there is an error.
func (p *process) read(from *bufio.Reader) error {
	if err := p.greeting(from); err != nil {
		return err
	}
	for {
		h, size, err := receive(from)
		if err != nil {
			return err
		}
		if err := p.take(h, size, from); err != nil {
			return err
		}
	}
}

// greeting reads the first line and the hello.
func (p *process) greeting(from *bufio.Reader) error {
	for i := range len(magic) {
		b, err := from.ReadByte()
		if err != nil {
			return err
		}
		if b != magic[i] {
			rest, _ := from.Peek(min(200, from.Buffered()))
			printed, _, _ := strings.Cut(magic[:i]+string(b)+string(rest), "\n")
			return fmt.Errorf("it is no fedkit-worker, or something else prints first, such as a login message: %q", printed)
		}
	}
	line, err := from.ReadSlice('\n')
	if err != nil {
		return err
	}
	if v := strings.TrimSpace(string(line)); v != version {
		return fmt.Errorf("it speaks version %.20q, and this process %q: build both from one fedkit", v, version)
	}
	h, size, err := receive(from)
	if err != nil {
		return err
	}
	if h.Hello == nil || size != 0 || h.Hello.Slots < 1 || h.Hello.Slots > 1<<16 || h.Hello.Memory < 1 {
		return errFrame
	}
	p.mu.Lock()
	p.hello = *h.Hello
	p.mu.Unlock()
	close(p.greet)
	return nil
}

// take hands an answer to the request that waits for it. Its bytes are read only if they are what was asked for.
func (p *process) take(h *head, size uint64, from io.Reader) error {
	p.mu.Lock()
	r := p.waiting[h.ID]
	p.mu.Unlock()
	switch {
	case r == nil && h.ID == 0 && size == 0:
		return nil
	case r == nil:
		return fmt.Errorf("it answered call %d, which it does not have", h.ID)
	}
	if err := expect(r.want, h, size); err != nil {
		return err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(from, data); err != nil {
		return err
	}
	p.mu.Lock()
	delete(p.waiting, h.ID)
	left := r.left
	p.mu.Unlock()
	r.answer <- answer{h, data, nil}
	for i, result := range h.Results {
		if left && result.Kept {
			p.drop(resultName(h.ID, i))
		}
	}
	return nil
}

// lost returns why the worker was lost, nil if it was not.
func (p *process) lost() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// lose ends the worker, and leaves its calls to others.
func (p *process) lose(why error) {
	p.mu.Lock()
	first := p.why == nil
	var waiting []*request
	if first {
		p.why = why
		close(p.gone)
		for id, r := range p.waiting {
			waiting = append(waiting, r)
			delete(p.waiting, id)
		}
	}
	ready := p.hello.PID != 0
	p.mu.Unlock()
	if !first {
		return
	}
	if ready && !errors.Is(why, errClosed) {
		fmt.Fprintf(os.Stderr, "%s was lost: %v\n", p.name, text.Lines(why.Error()))
	}
	_ = p.stdin.Close()
	time.AfterFunc(time.Second, p.kill)
	for _, r := range waiting {
		r.answer <- answer{err: fmt.Errorf("%s: %w: %w", p.name, errLost, why)}
	}
	p.w.change()
}

// kill kills the command and all that it has started here, unless it has ended.
func (p *process) kill() {
	select {
	case <-p.ended:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// listenForLife loses the worker once it has been silent for too long.
func (p *process) listenForLife() {
	p.seen.Store(time.Now().UnixNano())
	for {
		select {
		case <-p.gone:
			return
		case <-time.After(silence / 10):
		}
		if since := time.Since(time.Unix(0, p.seen.Load())); since > silence {
			p.lose(fmt.Errorf("it was silent for %v", silence.Round(time.Millisecond)))
			p.kill()
		}
	}
}

// drop tells the worker, with the next call, what is no longer needed.
func (p *process) drop(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops = append(p.drops, name)
}

// ask sends a request with the objects that it needs and the worker lacks, and waits for the answer.
func (p *process) ask(ctx context.Context, f frame, want []result, objects []object) (*head, []byte, error) {
	p.watch.Do(func() { go p.listenForLife() })
	r := &request{want: want, answer: make(chan answer, 1)}
	p.mu.Lock()
	if p.why != nil {
		defer p.mu.Unlock()
		return nil, nil, fmt.Errorf("%s: %w: %w", p.name, errLost, p.why)
	}
	p.waiting[f.ID] = r
	p.mu.Unlock()
	if err := p.send(f, objects); err != nil {
		return nil, nil, err
	}
	select {
	case a := <-r.answer:
		if a.err == nil && a.Error != "" {
			a.err = fmt.Errorf("%s: %s", p.name, text.Lines(a.Error))
		}
		return a.head, a.data, a.err
	case <-ctx.Done():
		p.mu.Lock()
		r.left = true
		p.mu.Unlock()
		return nil, nil, ctx.Err()
	}
}

// send sends a request. If it does not reach the worker, that is lost.
func (p *process) send(f frame, objects []object) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.mu.Lock()
	drops := p.drops
	p.drops = nil
	p.mu.Unlock()
	p.uses++
	var missing []object
	for _, o := range objects {
		if h := p.has[o.name]; h != nil {
			h.last = p.uses
		} else {
			missing = append(missing, o)
			p.has[o.name] = &held{int64(o.size), p.uses}
			p.used += int64(o.size)
		}
	}
	frames := []frame{{head: head{Drop: append(drops, p.evict()...)}}}
	if len(frames[0].Drop) == 0 {
		frames = nil
	}
	for _, o := range missing {
		b, err := o.bytes()
		if err != nil {
			delete(p.has, o.name) // those before it are not sent either
			p.lose(err)
			return err
		}
		frames = append(frames, frame{head{Store: o.name}, [][]byte{b}})
	}
	if err := p.out.send(append(frames, f)...); err != nil {
		go p.lose(err) // its end, if it has ended, says more
	}
	return nil
}

// evict returns objects that the worker need not keep, those first that were used longest ago, until there is room for the rest.
func (p *process) evict() (names []string) {
	if p.used <= p.hello.Memory {
		return nil
	}
	var old []string
	for name, h := range p.has {
		if h.last < p.uses {
			old = append(old, name)
		}
	}
	slices.SortFunc(old, func(a, b string) int {
		return cmp.Or(cmp.Compare(p.has[a].last, p.has[b].last), strings.Compare(a, b))
	})
	for _, name := range old {
		if p.used <= p.hello.Memory {
			break
		}
		p.used -= p.has[name].bytes
		delete(p.has, name)
		names = append(names, name)
	}
	return names
}

package worker_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/worker"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/janpfeifer/must"
	"golang.org/x/sync/errgroup"
)

// lie is what a faulty worker makes of its messages, and what is then said of it.
type lie struct {
	says string
	tell func(m message) (b []byte, more bool)
}

// onAnswers tells a lie in answers.
func onAnswers(says string, tell func(m message) (b []byte, more bool)) lie {
	return lie{says, func(m message) ([]byte, bool) {
		if m.head["ID"] != nil {
			return tell(m)
		}
		return pass(m)
	}}
}

var lies = map[string]lie{
	"another call": onAnswers("an answer to call 1099511627776, which it does not have", func(m message) ([]byte, bool) {
		m.head["ID"] = 1 << 40
		return pass(m)
	}),
	"twice": onAnswers("an answer to call ", func(m message) ([]byte, bool) {
		b, _ := pass(m)
		return append(b, b...), true
	}),
	"many bytes": onAnswers("it answered 4611686018427387904 bytes, not ", func(m message) ([]byte, bool) {
		b, _ := pass(m)
		return raw(len(b)-16-len(m.data), 1<<62, string(b[16:])), true
	}),
	"half its bytes": onAnswers("unexpected EOF", func(m message) ([]byte, bool) {
		b, _ := pass(m)
		return b[:len(b)-len(m.data)/2], len(m.data) < 2
	}),
	"endless head": onAnswers("a head of 1099511627776 bytes", func(message) ([]byte, bool) { return raw(1<<40, 0, "{"), true }),
	"no hello": {"an answer to call 0, which it does not have", func(m message) ([]byte, bool) {
		delete(m.head, "Hello")
		return pass(m)
	}},
}

// A worker with a wrong answer is lost before there is memory for it, and named. The answer of another is used.
func TestLies(t *testing.T) {
	for name, lie := range lies {
		if name == "no hello" {
			expect.Error(t, as(name), lie.says)(worker.Start(t.Context(), as(name)))
			continue
		}
		w := start(t, as(name))
		for len(w.PIDs()) > 0 { // until it had a call that it can lie about
			same(t, "FedAvg", w)
		}
		says(t, as(name)+" was lost: ", lie.says)
	}
}

// Answers of another size than was asked for are refused, and so is what is no answer.
func TestReceived(t *testing.T) {
	for head, size := range map[string]int{`{"ID":1}`: 4, `{"ID":1,"Error":"no"}`: 0} {
		expect.Values(worker.Received(raw(len(head), size, head)))(t)
		expect.Error(t, "it answered 5 bytes, not 4")(worker.Received(raw(len(head), 5, head)))
	}
	for _, head := range []string{"1", `{"ID":1.5}`, `{"ID":1e99}`, `{"ID":"1"`} {
		expect.Error(t, "not a message of fedkit")(worker.Received(raw(len(head), 4, head)))
	}
}

// Whatever is received is an answer of the right size, an error, or refused.
func FuzzReceived(f *testing.F) {
	for _, head := range []string{`{"ID":1}`, `{"ID":1,"Error":"no"}`, `[]`} {
		f.Add(raw(len(head), 4, head))
	}
	f.Add(raw(1<<40, 1<<62, "{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if size, failed, err := worker.Received(b); err == nil && size != 4 && !(failed && size == 0) {
			t.Errorf("%d bytes: %q", size, b)
		}
	})
}

// A program that kills the processes which get it ends its run after three of them, however many calls there are, and after both of two:
// this process is not the third. Other runs go on. Where nobody is left, all that is to be run is an error.
func TestProgramThatKills(t *testing.T) {
	deadly := as("deadly", 4711)
	w := start(t, deadly, deadly, deadly, deadly)
	same(t, "FedAvg", w) // its programs are not new
	var other sync.WaitGroup
	other.Go(func() { same(t, "FedAvg", w) })
	d, errs, bad := open(t, w), make(chan error), plus("bad", 4711)
	for range 8 {
		go func() {
			_, err := d.Run(t.Context(), bad, []any{float32(1)})
			errs <- err
		}()
	}
	for range 8 {
		expect.Error(t, `program "bad"`, "3 workers were lost while they had it")(<-errs)
	}
	n := len(w.PIDs())
	expect.That(t, n == 1, "%d workers are left of 4, want 1", n)
	other.Wait()

	w = start(t, deadly, deadly)
	w.Only = true
	d = open(t, w)
	out := expect.Value(d.Run(t.Context(), plus("good", 1), []any{float32(1)}))(t)
	expect.Error(t, `program "bad"`, "2 workers were lost while they had it", "worker 1, ", "worker 2, ")(out[0].Then(bad))
	for range 100 {
		expect.Error(t, "worker: no worker is left, and Workers.Only is set: worker 1, ", " was lost: ")(d.Run(t.Context(), plus("good", 1), []any{float32(1)}))
		expect.Error(t, "no worker is left")(out[0].Tensor())
	}
}

// campaign is runs that are repeated under faults, and must end with the same bytes every time.
type campaign struct {
	*testing.T
	mu     sync.Mutex
	counts map[string]int // of faults, runs and workers that were lost
}

func (c *campaign) count(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what] += n
}

// suffer lets runs share workers with these faults.
func (c *campaign) suffer(workers int, faults []string, rng *rand.Rand) {
	commands := make([]string, workers)
	for i := range commands {
		commands[i] = as()
		if i < len(faults) && faults[i] == "cut" {
			commands[i] = as("cut", 700+rng.IntN(8000))
		} else if rng.IntN(4) == 0 {
			c.count("slow", 1)
			commands[i] = as("slow", 50+rng.IntN(1000))
		}
	}
	w := start(c.T, commands...)
	pids := w.PIDs()
	var over atomic.Bool
	var running sync.WaitGroup
	for _, name := range []string{"FedAvg", "SCAFFOLD", "IFCA", "FedMedian"} {
		running.Go(func() {
			for once := true; once || !over.Load(); once = false {
				same(c.T, name, w)
				c.count("runs", 1)
			}
		})
	}
	for i, fault := range faults {
		c.count(fault, 1)
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
		if signal := map[string]syscall.Signal{"kill": syscall.SIGKILL, "stop": syscall.SIGSTOP}[fault]; signal != 0 {
			must.M(syscall.Kill(pids[i], signal))
		}
	}
	over.Store(true)
	running.Wait()
	c.count("lost", workers-len(w.PIDs()))
	w.Close()
	for _, pid := range pids {
		wait(c.T, fmt.Sprint("the end of ", pid), func() bool { return gone(pid) })
	}
}

// With faults, on one to five workers, runs come to an end, with the same bytes. FEDKIT_FAULTS is the number of faults.
func TestFaults(t *testing.T) {
	expect.Long(t, "many runs")
	t.Parallel() // with what waits as well
	most, err := strconv.Atoi(os.Getenv("FEDKIT_FAULTS"))
	if err != nil {
		most = 12
	}
	defer worker.Silence(3 * time.Second)()
	c := &campaign{T: t, counts: map[string]int{}}
	var group errgroup.Group
	group.SetLimit(3)
	kinds := []string{"kill", "cut", "kill", "stop", "cut", "kill"}
	for done, i := 0, 0; done < most && !t.Failed(); i++ {
		workers := 5 - i%5
		faults := make([]string, min(2, max(1, workers-1), most-done)) // a call that loses more may end its run
		for j := range faults {
			faults[j] = kinds[(done+j)%len(kinds)]
		}
		done += len(faults)
		group.Go(func() error {
			c.suffer(workers, faults, rand.New(rand.NewPCG(2, uint64(i))))
			return nil
		})
	}
	_ = group.Wait()
	t.Log(c.counts)
}

// Workers that FEDKIT_SSH starts, by an sshd of this machine, compute the same bytes as here, one killed meanwhile.
func TestSSH(t *testing.T) {
	command := os.Getenv("FEDKIT_SSH")
	if command == "" {
		t.Skip("FEDKIT_SSH, the command of a worker, is not set")
	}
	w := start(t, as(), command, command)
	same(t, "noticed", w, noticed(func() {}), noticed(func() { end(t, w, 2) }))
	w.Close()
	says(t, "worker 3, "+command+" was lost: ")
}

// peak returns the most memory that a process has had, in MB.
func peak(t *testing.T, pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("needs Linux: ", err)
	}
	return must.M1(strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(b)[1]))) >> 10
}

// A model of 500 MB travels once. Its successors are kept, used and read back, in bounded memory.
func TestLargeModelWithFaults(t *testing.T) {
	if os.Getenv("FEDKIT_FAULTS") == "" {
		t.Skip("moves gigabytes: with FEDKIT_FAULTS")
	}
	const n = 125_000_000
	w := start(t, as())
	d, pid, before := open(t, w), w.PIDs()[0], peak(t, os.Getpid())
	sum := xla.NewProgram("sum", func(a []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.ReduceAllSum(graph.Slice(a[0], graph.AxisRange(0, 1000)))}
	})
	model, first := tensors.FromValue(make([]float32, n)), plus("first", 1)
	must.M1(sum.Call(model)) // it is on the device
	for i := range 20 {
		begin := time.Now()
		out := expect.Value(d.Run(t.Context(), first, []any{model}))(t)
		s := must.M1(must.M1(out[0].Then(sum))[0].Tensor())
		expect.That(t, s.Value() == float32(1000), "the sum of a thousand is %v", s)
		if i == 19 {
			values := must.M1(xla.Host(must.M1(out[0].Tensor())))
			expect.That(t, len(values) == n && values[0] == 1 && values[n-1] == 1, "%d values", len(values))
		}
		out[0].Free()
		t.Log(time.Since(begin), "this process:", peak(t, os.Getpid()), "MB, before:", before, "the worker:", peak(t, pid))
	}
	here, there := peak(t, os.Getpid())-before, peak(t, pid)
	expect.That(t, here <= 6*500 && there <= 4*500+256, "this process took %d MB, the worker %d", here, there)
}

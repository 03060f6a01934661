package worker_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/worker"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/janpfeifer/must"
	"golang.org/x/sync/errgroup"
)

// campaign is runs that are repeated under faults, and must end with the same bytes every time.
type campaign struct {
	*testing.T
	fed  *fedkit.Federation
	want map[string][]byte // by strategy

	mu     sync.Mutex
	counts map[string]int // of faults, runs and workers that were lost
}

func (c *campaign) count(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what] += n
}

// suffer lets runs share workers with these faults, until the last fault and as long as the runs that it met.
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
	for name, want := range c.want {
		running.Go(func() {
			for once := true; once || !over.Load(); once = false {
				got, err := outcome(c.fed, every.Strategies()[name], w)
				if err != nil || !bytes.Equal(got, want) {
					c.Errorf("%d workers, %q: %s: other bytes than without: %v", workers, faults, name, err)
				}
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
	most, _ := strconv.Atoi(os.Getenv("FEDKIT_FAULTS"))
	if most == 0 {
		most = 12
	}
	defer worker.Silence(3 * time.Second)()
	c := &campaign{T: t, fed: must.M1(twelve()), want: map[string][]byte{}, counts: map[string]int{}}
	for _, name := range []string{"FedAvg", "SCAFFOLD", "IFCA", "FedMedian"} {
		c.want[name] = must.M1(outcome(c.fed, every.Strategies()[name], nil))
	}
	var group errgroup.Group
	group.SetLimit(2)
	kinds := []string{"kill", "cut", "kill", "stop", "cut", "kill"}
	for done, i := 0, 0; done < most && !t.Failed(); i++ {
		workers := 5 - i%5
		faults := make([]string, min(2, max(1, workers-1), most-done)) // a run that loses more may end
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

// Workers that FEDKIT_SSH and FEDKIT_WORKER_COMMAND start, such as ssh -F config node and fedkit-worker, compute the same bytes as here,
// also if one is killed.
func TestSSH(t *testing.T) {
	ssh, command := os.Getenv("FEDKIT_SSH"), os.Getenv("FEDKIT_WORKER_COMMAND")
	if ssh == "" || command == "" {
		t.Skip("FEDKIT_SSH and FEDKIT_WORKER_COMMAND do not say where workers are to start")
	}
	fed := must.M1(twelve())
	want := must.M1(outcome(fed, noticed(func() {}), nil))
	w := start(t, ssh+" "+command, ssh+" "+command, as())
	pids, first := w.PIDs(), sync.Once{}
	got, err := outcome(fed, noticed(func() {
		first.Do(func() {
			if _, err := worker.Start(t.Context(), fmt.Sprintf("%s kill -9 %d", ssh, pids[0])); err == nil {
				t.Error("kill is a worker")
			}
			wait(t, "the loss of a worker", func() bool { return len(w.PIDs()) == 2 })
		})
	}), w)
	if err != nil || !bytes.Equal(got, want) || len(w.PIDs()) != 2 {
		t.Errorf("%d workers are left, other bytes: %v", len(w.PIDs()), err)
	}
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
	w := local(t, 1)
	d, worker, before := open(t, w), w.PIDs()[0], peak(t, os.Getpid())
	x := tensors.FromValue(make([]float32, n))
	must.M1(xla.NewProgram("put", func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.ReduceAllSum(a[0])} }).Call(x)) // it is on the device
	first := plus("first", 1)
	var out []engine.Value
	for i := range 20 {
		begin := time.Now()
		if out != nil {
			out[0].Free()
		}
		out = expect.Value(d.Run(t.Context(), first, []any{x}))(t)
		sum := expect.Value(out[0].Then(xla.NewProgram("sum", func(a []*graph.Node) []*graph.Node {
			return []*graph.Node{graph.ReduceAllSum(graph.Slice(a[0], graph.AxisRange(0, 1000)))}
		})))(t)
		if s := must.M1(sum[0].Tensor()); s.Value() != float32(1000) {
			t.Errorf("the sum of a thousand is %v", s)
		}
		if i%10 == 0 {
			t.Log(i, time.Since(begin), "this process:", peak(t, os.Getpid()), "MB, before:", before, "worker:", peak(t, worker))
		}
	}
	values := must.M1(xla.Host(must.M1(out[0].Tensor())))
	if len(values) != n || values[0] != 1 || values[n-1] != 1 {
		t.Errorf("%d values", len(values))
	}
	if here, there := peak(t, os.Getpid())-before, peak(t, worker); here > 6*500 || there > 4*500+256 {
		t.Errorf("this process took %d MB, the worker %d", here, there)
	}
}

var _ = maps.Keys[map[string]int]

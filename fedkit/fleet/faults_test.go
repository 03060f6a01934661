package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
)

// crowd is a hub and workers, each its own process, behind two proxies, for fault injection.
type crowd struct {
	*testing.T
	*Fleet
	dir     string // of the hub
	line    *proxy // of this process
	lines   *proxy // of the workers
	workers LocalOptions
	started int
	killed  []int // PIDs of workers, which may still be listed
}

func newCrowd(t *testing.T, n int) *crowd {
	c := &crowd{T: t, dir: t.TempDir()}
	c.startHub()
	file := filepath.Join(c.dir, "fleet.json")
	wait(t, "the hub", func() bool { return c.alive() })
	c.line, c.lines = newProxy(t, file), newProxy(t, file)
	c.workers = LocalOptions{Dir: filepath.Dir(c.lines.File), Idle: time.Minute}
	c.Fleet = join(t, c.line.File)
	for range n {
		c.startWorker()
	}
	workers(t, c.Fleet, n)
	t.Cleanup(func() {
		for _, w := range c.Workers() {
			_ = syscall.Kill(w.PID, syscall.SIGKILL)
		}
		c.killHub()
	})
	return c
}

func (c *crowd) startHub() {
	o := LocalOptions{Dir: c.dir, Idle: time.Minute}
	if err := o.start(process{Role: "hub"}, func(error) {}); err != nil {
		c.Fatal(err)
	}
}

// hubPID is the PID of the hub; 0 if it has ended.
func (c *crowd) hubPID() int {
	files, _ := filepath.Glob(filepath.Join(c.dir, "hub-*"+recordExtension))
	for _, file := range files {
		if p := recorded(file); p != nil {
			return p.Pid
		}
	}
	return 0
}

func (c *crowd) killHub() {
	if pid := c.hubPID(); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// alive reports whether the hub has written its file and answers.
func (c *crowd) alive() bool {
	f, err := Join(filepath.Join(c.dir, "fleet.json"))
	if err != nil {
		return false
	}
	f.Close()
	return true
}

func (c *crowd) startWorker() {
	if err := c.workers.start(process{Role: "worker", Number: c.started}, func(error) {}); err != nil {
		c.Fatal(err)
	}
	c.started++
}

// fault is an injected fault, which is over when its function returns.
type fault struct {
	name string
	kill bool // a worker is killed, and recovery has a limit
	do   func(c *crowd, rng *rand.Rand)
}

// kill kills a worker, at once or at a given moment of the runs, and starts another.
func kill(when *moment) func(c *crowd, rng *rand.Rand) {
	return func(c *crowd, rng *rand.Rand) {
		workers := c.Workers()
		if len(workers) == 0 {
			return
		}
		w := workers[rng.IntN(len(workers))]
		if when != nil {
			when.next()
		}
		_ = syscall.Kill(w.PID, syscall.SIGKILL) // it may have ended just now
		c.killed = append(c.killed, w.PID)
		c.startWorker()
	}
}

// bad degrades one of the lines for a while.
func bad(spoil func(p *proxy, rng *rand.Rand) (mend func()), most time.Duration) func(c *crowd, rng *rand.Rand) {
	return func(c *crowd, rng *rand.Rand) {
		p := []*proxy{c.line, c.lines}[rng.IntN(2)]
		mend := spoil(p, rng)
		time.Sleep(time.Duration(rng.Float64() * float64(most)))
		mend()
	}
}

// moment is a point of the runs that a fault can wait for.
type moment struct {
	mu   sync.Mutex
	come chan struct{}
}

func (m *moment) next() {
	m.mu.Lock()
	if m.come == nil {
		m.come = make(chan struct{})
	}
	come := m.come
	m.mu.Unlock()
	select {
	case <-come:
	case <-time.After(2 * time.Second):
	}
}

func (m *moment) is() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.come != nil {
		close(m.come)
		m.come = nil
	}
}

// Moments of the runs: the beginning of a round, before its solves, and when models are trained but not mixed yet.
var begins, trained moment

// noticed is a mean that reports when it is called.
func noticed(u *fedkit.Matrix, weights []float64) *fedkit.Matrix {
	trained.is()
	return aggregate.Mean{}.Aggregate(u, weights)
}

var faults = []fault{
	{"kill, at any time", true, func(c *crowd, rng *rand.Rand) {
		time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
		kill(nil)(c, rng)
	}},
	{"kill, before a solve", true, kill(&begins)},
	{"kill, during a solve", true, func(c *crowd, rng *rand.Rand) {
		begins.next()
		time.Sleep(time.Duration(rng.IntN(8)) * time.Millisecond)
		kill(nil)(c, rng)
	}},
	{"kill, between training and mixing", true, kill(&trained)},
	{"stop and go on", false, func(c *crowd, rng *rand.Rand) {
		workers := c.Workers()
		if len(workers) == 0 {
			return
		}
		pid := workers[rng.IntN(len(workers))].PID
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		time.Sleep(late + time.Duration(rng.IntN(3000))*time.Millisecond)
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}},
	{"hub killed and started again", false, func(c *crowd, rng *rand.Rand) {
		c.killHub()
		time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
		c.startHub()
	}},
	{"line drops", false, bad(func(p *proxy, _ *rand.Rand) func() { p.Drop(); return func() {} }, 0)},
	{"line holds back", false, bad(func(p *proxy, _ *rand.Rand) func() { return p.Hold() }, 5*time.Second)},
	{"line delays", false, bad(func(p *proxy, rng *rand.Rand) func() {
		p.Slow(time.Duration(rng.IntN(100))*time.Millisecond, 0)
		return func() { p.Slow(0, 0) }
	}, 2*time.Second)},
	{"line is slow", false, bad(func(p *proxy, _ *rand.Rand) func() {
		p.Slow(0, 50e3)
		return func() { p.Slow(0, 0) }
	}, 2*time.Second)},
}

// contender is a run that is repeated under faults, and must end with the same bytes every time.
type contender struct {
	name  string
	fed   *fedkit.Federation
	new   func() fedkit.Strategy
	want  []byte
	round atomic.Int64 // UnixNano of the latest
	stall atomic.Int64 // ns, longest time between two rounds
	runs  atomic.Int64
}

func (k *contender) Round(*fedkit.History, int) {
	begins.is()
	now := time.Now().UnixNano()
	if before := k.round.Swap(now); before > 0 && now-before > k.stall.Load() {
		k.stall.Store(now - before)
	}
}
func (k *contender) Done(*fedkit.History, error) {}

func (k *contender) outcome(ctx context.Context, on fedkit.Machines) ([]byte, error) {
	s := k.new()
	h, err := fedkit.Run(ctx, k.fed, s, fedkit.Options{Rounds: 8, EvalEvery: 4, Seed: 6, Fleet: on, Watch: k})
	if err != nil {
		return nil, err
	}
	return fedtest.Outcome(s, h)
}

func contenders(t *testing.T) []*contender {
	t.Helper()
	fed, err := fedtest.Quadratic(20, 31, 8, 24, 17, 40, 22, 9, 13, 28, 36, 11)
	if err != nil {
		t.Fatal(err)
	}
	timed, err := fed.WithDevices(sim.Devices{PerExample: sim.LogNormal{Median: 0.1, Sigma: 0.5}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	l := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}
	all := []*contender{
		{name: "FedAvg", fed: fed, new: func() fedkit.Strategy {
			return &strategy.FedAvg{Local: l, Aggregator: fedkit.AggregatorFunc(noticed)}
		}},
		{name: "SCAFFOLD", fed: fed, new: func() fedkit.Strategy { return &strategy.SCAFFOLD{Fraction: 0.5, Local: l} }},
		{name: "IFCA", fed: fed, new: func() fedkit.Strategy { return &strategy.IFCA{K: 2, Fraction: 0.5, Local: l} }},
		{name: "FedBuff", fed: timed, new: func() fedkit.Strategy { return &strategy.FedBuff{Concurrency: 4, K: 2, Local: l} }},
		{name: "FedMedian", fed: fed, new: func() fedkit.Strategy { return &strategy.FedMedian{Fraction: 0.5, Local: l} }},
	}
	for _, k := range all {
		if k.want, err = k.outcome(t.Context(), nil); err != nil {
			t.Fatal(k.name, err)
		}
	}
	return all
}

// Under any fault of workers, hub and lines, runs end with the same bytes, and recover soon. FEDKIT_FAULTS is the number of
// faults; without it, one of each kind.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	most, err := strconv.Atoi(os.Getenv("FEDKIT_FAULTS"))
	limit := 6 * time.Second // after a kill
	if err != nil {
		most, limit = len(faults), 15*time.Second // other tests run at the same time
	}
	all := contenders(t)
	c := newCrowd(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(most)*20*time.Second)
	defer cancel()
	var over atomic.Bool
	var running sync.WaitGroup
	for _, k := range all {
		running.Go(func() {
			for !over.Load() && ctx.Err() == nil {
				got, err := k.outcome(ctx, c.Fleet)
				switch {
				case errors.Is(err, context.Canceled):
				case err != nil:
					t.Errorf("%s: %v", k.name, err)
				case !bytes.Equal(got, k.want):
					t.Errorf("%s: other bytes than without a fleet", k.name)
				}
				k.runs.Add(1)
			}
		})
	}
	stalls := map[string][]time.Duration{}
	rng := rand.New(rand.NewPCG(2, 4))
	order := rng.Perm(len(faults))
	for i := range most {
		x := faults[order[i%len(order)]]
		stall, ok := c.suffer(all, x, rng)
		stalls[x.name] = append(stalls[x.name], stall)
		if !ok || ctx.Err() != nil {
			t.Errorf("fault %d, %s: a run does not go on\n%s", i, x.name, c.who())
			cancel()
			break
		}
		if x.kill && stall > limit {
			t.Errorf("fault %d, %s: %v without a round", i, x.name, stall)
		}
		if t.Failed() {
			break
		}
	}
	over.Store(true)
	running.Wait()
	for _, x := range faults {
		if s := stalls[x.name]; len(s) > 0 {
			slices.Sort(s)
			t.Logf("%-36s %3d times; without a round: median %.1f s, longest %.1f s", x.name, len(s), s[len(s)/2].Seconds(), s[len(s)-1].Seconds())
		}
	}
	for _, k := range all {
		t.Logf("%s: %d runs", k.name, k.runs.Load())
	}
	t.Log(c.Fleet)
}

// suffer injects a fault, and returns the longest time without a round of any run. It waits until all runs and workers recover.
func (c *crowd) suffer(all []*contender, x fault, rng *rand.Rand) (stall time.Duration, ok bool) {
	for _, k := range all {
		k.stall.Store(0)
	}
	begin := time.Now()
	x.do(c, rng)
	mended := time.Now()
	going := func() bool {
		for _, k := range all {
			if k.round.Load() < mended.UnixNano() {
				return false
			}
		}
		left := slices.DeleteFunc(c.Workers(), func(w WorkerInfo) bool { return slices.Contains(c.killed, w.PID) })
		return len(left) >= 3
	}
	for !going() {
		if time.Since(mended) > 40*time.Second {
			return time.Since(begin), false
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
	for _, k := range all {
		stall = max(stall, time.Duration(k.stall.Load()))
	}
	return stall, true
}

// who dumps the state of the fleet: who waits for what.
func (c *crowd) who() string {
	var b strings.Builder
	fmt.Fprintln(&b, c.Fleet)
	for _, w := range c.Workers() {
		fmt.Fprintf(&b, "%+v\n", w)
	}
	for _, dir := range []string{c.dir, c.workers.Dir} {
		logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
		for _, log := range logs {
			text, _ := os.ReadFile(log)
			fmt.Fprintf(&b, "%s:\n%s\n", filepath.Base(log), text[max(0, len(text)-2000):])
		}
	}
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1)
	return b.String()
}

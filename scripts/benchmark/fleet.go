package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fleet"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/stat"
)

// load is rounds of FedAvg, as a fleet sees them.
type load struct {
	name      string
	calls     int     // per round
	arguments float64 // bytes per call
	fed       *fedkit.Federation
	fraction  float64
	local     fedkit.Local
}

// measured is what rounds took, and the bytes that the notebook sent and received in each, by its own count and by a proxy's.
type measured struct{ seconds, sent, received, passed []float64 }

// run runs some rounds, and leaves the first out, which may compile, and the last, which is evaluated.
func (l *load) run(rounds int, seed uint64, on *counted) (m measured) {
	o := fedkit.Options{Rounds: rounds, EvalEvery: rounds, Seed: seed}
	if on != nil {
		o.Fleet = on.Fleet
	}
	var sent, received, passed float64
	for h, err := range fedkit.Rounds(context.Background(), l.fed, &strategy.FedAvg{Fraction: l.fraction, Local: l.local}, o) {
		must.M(err)
		nowSent, nowReceived, nowPassed := on.bytes()
		if n := len(h.Rounds); n > 1 && n < rounds {
			m.seconds = append(m.seconds, h.Last().Seconds)
			m.sent, m.received, m.passed = append(m.sent, nowSent-sent), append(m.received, nowReceived-received), append(m.passed, nowPassed-passed)
		}
		sent, received, passed = nowSent, nowReceived, nowPassed
	}
	return m
}

// counted is a fleet behind a link that counts.
type counted struct {
	*fleet.Fleet
	link link
}

func (c *counted) bytes() (sent, received, passed float64) {
	if c == nil {
		return 0, 0, 0
	}
	in, out := c.Bytes()
	return float64(out), float64(in), float64(c.link.passed.Load())
}

func (l *load) estimate(seconds float64) fleet.Estimate {
	return fleet.Estimate{Calls: l.calls, Seconds: seconds, Params: l.fed.Task.Dim(), Arguments: l.arguments}
}

// loads are rounds of few and of many calls. The small ones take a millisecond per call.
func loads() (small, large []load) {
	mix := must.M1(datasets.GaussianMixture{Clients: 512, Rows: 32, TestRows: 1}.Make())
	fed := must.M1(fedkit.New(mix, partition.Natural{}, model.MLP(64)))
	for _, calls := range []int{1, 4, 16, 32} { // of 16 clients
		small = append(small, load{fmt.Sprintf("%d small clients", 16*calls), calls, 4 * 16 * 32 * 2, fed, float64(calls) / 32, fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}})
	}
	mnist := must.M1(fedkit.New(must.M1(datasets.MNIST()), partition.IID{Clients: 100}, model.MLP(128, 64)))
	for _, c := range []struct{ clients, calls, lanes, steps int }{{10, 1, 10, 18}, {100, 7, 15, 18}, {16, 1, 16, 54}, {32, 2, 16, 54}} {
		large = append(large, load{fmt.Sprintf("mnist-mlp, %d clients, %d steps", c.clients, c.steps), c.calls, float64(4 * c.lanes * c.steps * 32), mnist,
			float64(c.clients) / 100, fedkit.Local{Steps: c.steps, Batch: 32, LR: 0.1}})
	}
	return small, large
}

// fleets measures what a fleet adds to rounds on this machine, and holds package fleet's estimate against it.
func fleets() {
	dir := must.M1(os.MkdirTemp("", "fleet"))
	defer os.RemoveAll(dir)
	hub := must.M1(fleet.StartHub(fleet.HubOptions{File: filepath.Join(dir, "fleet.json")}))
	defer hub.Close()
	var f counted
	f.link.before(hub.File(), filepath.Join(dir, "notebook.json"))
	f.Fleet = must.M1(fleet.Join(filepath.Join(dir, "notebook.json")))
	defer f.Close()

	stop := workers(&f, 1, hub.File())
	small, large := loads()
	overhead(&f, small, large)
	traffic(&f, slices.Concat(small, large))
	passing(&f)
	stop()
	estimates(&f, &large[1], hub.File(), filepath.Join(dir, "worker.json"))
}

// workers starts workers in processes of their own, each on one of the processors, or on all if none are named.
func workers(f *counted, n int, file string, cores ...string) (stop func()) {
	var all []*exec.Cmd
	for i := range n {
		c := exec.Command("/proc/self/exe", "fleet-worker", file)
		if cores != nil {
			c.Args = append(c.Args, cores[i])
		}
		c.Stderr = os.Stderr
		must.M(c.Start())
		all = append(all, c)
	}
	must.M(f.Wait(context.Background(), n))
	return func() {
		for _, c := range all {
			must.M(c.Process.Kill())
			_ = c.Wait()
		}
		for len(f.Workers()) > 0 {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// fleetWorker is the whole life of such a process.
func fleetWorker(file, cores string) {
	if cores != "" {
		must.M(fleet.UseCores(cores))
	}
	if err := fleet.RunWorker(context.Background(), file, fleet.WorkerOptions{Idle: time.Minute}); !errors.Is(err, fleet.ErrIdle) {
		fmt.Fprintln(os.Stderr, err)
	}
}

// fleetAlone prints how long a round takes in a process on one processor, without a fleet.
func fleetAlone() {
	must.M(fleet.UseCores("0-0"))
	_, large := loads()
	fmt.Println(middle(large[1].run(10, 0, nil).seconds))
}

// overhead compares rounds without a fleet and on one worker with all processors, in turn.
func overhead(f *counted, small, large []load) {
	const turns = 8 // the first compiles
	fmt.Printf("\n| a round of | calls | no fleet, ms | per call | one worker, ms | takes | adds, ms |\n|---|---|---|---|---|---|---|\n")
	var calls, all []float64
	for i, l := range slices.Concat(small, large) {
		var without, with, takes, adds []float64
		for turn := range uint64(turns) {
			a, b := 1000*middle(l.run(8, turn, nil).seconds), 1000*middle(l.run(8, turn, f).seconds)
			without, with, takes, adds = append(without, a), append(with, b), append(takes, b/a), append(adds, b-a)
		}
		fmt.Printf("| %s | %d | %s | %.1f | %s | %s × | %s |\n", l.name, l.calls, quartiles("%.1f", without[1:]), middle(without[1:])/float64(l.calls),
			quartiles("%.1f", with[1:]), quartiles("%.2f", takes[1:]), quartiles("%.1f", adds[1:]))
		if i < len(small) {
			calls, all = append(calls, float64(l.calls)), append(all, middle(adds[1:]))
		}
	}
	perRound, perCall := stat.LinearRegression(calls, all, nil, false)
	fmt.Printf("\nOf small clients: %.1f ms per round and %.2f ms per call (least squares).\n", perRound, perCall)
}

// traffic compares the bytes of a round with the formulas: those that the connection counts, and those that a proxy before it sees.
func traffic(f *counted, all []load) {
	fmt.Printf("\n| a round of | sent | by formula | received | by formula | both at a proxy | by formula |\n|---|---|---|---|---|---|---|\n")
	for _, l := range all {
		m, e := l.run(8, 100, f), l.estimate(0)
		fmt.Printf("| %s ", l.name)
		for _, part := range []struct {
			values  []float64
			formula float64
		}{{m.sent, e.Sent()}, {m.received, e.Received()}, {m.passed, e.Sent() + e.Received()}} {
			fmt.Printf("| %.1f kB | %.1f kB, %+.1f %% ", middle(part.values)/1000, part.formula/1000, 100*(middle(part.values)/part.formula-1))
		}
		fmt.Println("|")
	}
}

// passing measures how fast models pass through worker, hub and notebook.
func passing(f *counted) {
	mix := must.M1(datasets.GaussianMixture{Clients: 32, Rows: 1, TestRows: 1, Features: 1000}.Make())
	fed := must.M1(fedkit.New(mix, partition.Natural{}, model.MLP(1000, 1000))) // two million parameters
	l := load{fed: fed, local: fedkit.Local{Steps: 1, Batch: 1, LR: 0.1}}
	var rates []float64
	for turn := range uint64(6) {
		a, b := l.run(5, turn, nil), l.run(5, turn, f)
		rates = append(rates, (middle(b.sent)+middle(b.received))/(middle(b.seconds)-middle(a.seconds))/1e6)
	}
	fmt.Printf("\nModels of %.0f MB pass at %s MB/s.\n", 4e-6*float64(fed.Task.Dim()), quartiles("%.0f", rates[1:]))
}

// estimates compares the seconds of a round with the formula: one and two workers with a processor each, near and behind slow links.
// How long calls take without a fleet is measured anew each time, since the machine's speed varies.
func estimates(f *counted, l *load, file, behind string) {
	fmt.Printf("\n| %s: workers with a processor each | link | no fleet, one processor | by formula | measured | |\n|---|---|---|---|---|---|\n", l.name)
	for _, slow := range []*link{{}, {rate: 10e6}, {delay: 10 * time.Millisecond}} {
		slow.before(file, behind)
		for n := 1; n <= 2; n++ {
			var alone float64
			must.M1(fmt.Sscan(string(must.M1(exec.Command("/proc/self/exe", "fleet-alone").Output())), &alone))
			stop := workers(f, n, behind, "0-0", "1-1")
			took := middle(l.run(10, uint64(n), f).seconds)
			stop()
			e := l.estimate(alone / float64(l.calls))
			e.Rate, e.Latency = slow.rate, 2*slow.delay.Seconds()
			fmt.Printf("| %d | %s | %.0f ms | %.0f ms | %.0f ms | %+.0f %% |\n", n, slow, 1000*alone, 1000*e.Round(n), 1000*took, 100*(took/e.Round(n)-1))
		}
	}
}

// quartiles writes the median of values, and the quartiles in brackets.
func quartiles(format string, values []float64) string {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return fmt.Sprintf(format+" ("+format+" to "+format+")", v[n/2], v[n/4], v[3*n/4])
}

func middle(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

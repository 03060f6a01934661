package fedkit

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/fedtest/expect"
	"github.com/gomlx/gomlx/core/graph"
)

// million is a federation of five clients whose model has a million parameters.
func million(t testing.TB) *Federation {
	const features, out = 1000, 1000
	rng := rand.New(rand.NewPCG(1, 2))
	d := &datasets.Dataset{Name: "million", Shape: []int{features}, Classes: out}
	var clients []partition.Client
	for range 5 {
		c := partition.Client{Test: []int{d.Test.Len()}}
		addExample(&d.Test, rng, features, out)
		for range 16 {
			c.Train = append(c.Train, d.Train.Len())
			addExample(&d.Train, rng, features, out)
		}
		clients = append(clients, c)
	}
	return expect.Value(New(d, partition.Given(clients), func(*datasets.Dataset) (*Task, error) {
		return &Task{Name: "million", Params: []Param{{Name: "w", Shape: []int{features, out}}}, Forward: func(p []*graph.Node, x *graph.Node) *graph.Node {
			if c := p[0].Shape().Dimensions[0]; x.Shape().Dimensions[0] != c {
				x = graph.BroadcastToDims(x, c, x.Shape().Dimensions[1], x.Shape().Dimensions[2])
			}
			return graph.Einsum("cbi,cio->cbo", x, p[0])
		}}, nil
	}))(t)
}

// What a checkpoint after every round costs when the model has a million parameters and 2,000 rounds are behind it: 300
// rounds with and 300 without take turns. Each turn also writes its last one.
func BenchmarkCheckpoints(b *testing.B) {
	fed := million(b)
	strategy := func() *mean { return &mean{Local: Local{Epochs: 1, Batch: 8, LR: 0.01}} }
	dir := b.TempDir()
	o := Options{Rounds: 1 << 30, EvalEvery: 1 << 30, Checkpoint: filepath.Join(dir, "c"), CheckpointEvery: 1}
	started := func(o Options) *underway {
		u, err := begin(fed, strategy(), o)
		if err == nil {
			err = u.start(context.Background())
		}
		expect.OK(b, err)
		return u
	}
	u := started(o)
	for t := range 2000 {
		r := Record{Round: t + 1, Seconds: 0.1}
		for c := range 5 {
			r.Results = append(r.Results, ClientResult{Round: t + 1, Client: c, Steps: 2, Loss: Float(t)})
		}
		u.h.Rounds = append(u.h.Rounds, r)
		expect.OK(b, u.files.Add(&r))
	}
	expect.OK(b, u.files.Finish(nil))
	u.release()
	without := o
	without.Checkpoint = ""
	var took, ratios []float64
	for b.Loop() {
		var each [2]float64
		for i, o := range []Options{without, o} {
			run := started(o)
			begin := time.Now()
			for range 300 {
				expect.OK(b, run.round(context.Background()))
			}
			err := run.files.Finish(nil)
			expect.OK(b, err) // what is not yet written costs too
			each[i] = time.Since(begin).Seconds() / 300
			run.release()
		}
		took, ratios = append(took, each[0]), append(ratios, each[1]/each[0])
	}
	info := expect.Value(os.Stat(filepath.Join(dir, "c")))(b)
	slices.Sort(took)
	slices.Sort(ratios)
	n := len(ratios)
	b.ReportMetric(1000*took[n/2], "ms/round")
	b.ReportMetric(100*(ratios[n/2]-1), "%")
	b.ReportMetric(float64(info.Size()), "bytes")
	b.Logf("%d pairs: quartiles of what it costs: %.1f, %.1f, %.1f %%", n, 100*(ratios[n/4]-1), 100*(ratios[n/2]-1), 100*(ratios[3*n/4]-1))
}

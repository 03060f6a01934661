package study

import (
	"context"
	"io"
	"os"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// The cost of a store of 10,000 runs of 30 rounds with 20 clients: ten configurations with 1,000 seeds each.
func BenchmarkStore(b *testing.B) {
	dir := b.TempDir()
	fill(b, dir, 10, 1000)
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			listed(b, dir)
		}
	})
	b.Run("table", func(b *testing.B) {
		runs := listed(b, dir)
		for b.Loop() {
			expect.OK(b, compare.Table(runs.Light()...).Err())
		}
	})
}

func listed(b *testing.B, dir string) Runs {
	runs, damaged := List(dir)
	if len(runs) != 10_000 || len(damaged) > 0 {
		b.Fatal(len(runs), damaged)
	}
	return runs
}

// fill stores one run of each configuration under many seeds.
func fill(b *testing.B, dir string, configurations, seeds int) {
	b.Helper()
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 20}, model.MLP(8)))(b)
	st := New(b.TempDir())
	st.Log = io.Discard
	for i := range configurations {
		st.Add(fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1 / float64(1+i)}}, fedkit.Options{Rounds: 30}, "η", i)
	}
	runs := expect.Value(st.Run(context.Background()))(b)
	hs := runs.Histories()
	_, errs := each(len(runs)*seeds, func(i int) (any, error) { return nil, again(*runs[i/seeds], *hs[i/seeds], dir, uint64(i%seeds)) })
	for _, err := range errs {
		expect.OK(b, err)
	}
}

// again stores a run under another seed.
func again(r Run, h fedkit.History, dir string, seed uint64) (err error) {
	about := *r.About
	about.Seed, h.Seed = seed, seed
	if r.Key, err = keyOf(&about); err != nil {
		return err
	}
	r.files, r.About, r.ID, r.dir = nil, &about, idOf(about.Strategy, r.Key), dir
	if err := os.MkdirAll(r.Path("."), 0o777); err != nil {
		return err
	}
	if err := h.Save(r.Path(historyFile)); err != nil {
		return err
	}
	if err := r.record(historyFile); err != nil {
		return err
	}
	return r.write()
}

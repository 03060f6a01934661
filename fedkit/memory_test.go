package fedkit

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/core/graph"
)

// machine lets the machine have this many bytes for the length of a test.
func machine(t *testing.T, bytes float64) {
	real := available
	available = func() float64 { return bytes }
	t.Cleanup(func() { available = real })
}

// The toy model has 39 parameters: 312 bytes for a model and its successor.
func TestWhatDoesNotFitIsRefused(t *testing.T) {
	fed, _ := toy(t, 40, 40, 40)
	machine(t, 3120)
	for _, c := range []struct {
		name  string
		check func() error
		want  string // "" if it fits
	}{
		{"ten models", func() error { return fed.Fits("K", 10, 10) }, ""},
		{"no federation", func() error { return (*Federation)(nil).Fits("K", 1e9, 1e9) }, ""},
		{"eleven models", func() error { return fed.Fits("K", 11, 11) },
			"invalid: K = 11: must be at most 10: 11 models of 39 parameters, before and after a round, take 3.4 kB, and 3.1 kB are free"},
		{"a cohort", func() error { return fed.fitsCohort(21) },
			"invalid: clients per round = 21: must be at most 20: 21 models of 39 parameters take 3.3 kB, and 3.1 kB are free"},
		{"steps", func() error { return fed.fitsLocal(Local{Steps: 100, Batch: 4, LR: 1}, 1) },
			"invalid: Steps = 100: must be at most 97: batches of 4 examples for 100 steps take 3.2 kB, and 3.1 kB are free"},
		{"steps of several clients", func() error { return fed.fitsLocal(Local{Steps: 60, Batch: 4, LR: 1}, 9) }, "must be at most 48"},
		{"epochs", func() error { return fed.fitsLocal(Local{Epochs: 10, Batch: FullBatch, LR: 1}, 1) }, "Epochs = 10: must be at most 9"},
		{"one epoch", func() error { return fed.fitsLocal(Local{}, 1) }, ""},
		{"data", func() error { return fed.fitsRun([]Strategy{&mean{}}, 3) }, ""}, // 123 examples of 24 bytes
		{"a model", func() error { return (&Task{Name: "big", Params: []Param{{Shape: []int{20, 20}}}}).fitsModel() },
			"invalid: model big = 400 parameters: must be at most 390"},
		{"a huge model", func() error { return (&Task{Params: []Param{{Shape: []int{math.MaxInt, math.MaxInt}}}}).fitsModel() }, "must be at most 390"},
	} {
		err := c.check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	machine(t, 2900)
	if _, err := Run(context.Background(), fed, &mean{}, Options{Rounds: 1}); err == nil || !strings.Contains(err.Error(), "examples = 123: must be at most 120") {
		t.Errorf("error %v for data that does not fit", err)
	}
	if fed.lazy.Engine != nil {
		t.Error("the data was put on the device")
	}
}

func TestMemoryOfThisMachine(t *testing.T) {
	if free := available(); !(free > 1<<20) || free > unknownMemory {
		t.Errorf("%v bytes are free", free)
	}
	for bytes, want := range map[float64]string{0: "0.0 B", 999: "999 B", 8.14e9: "8.1 GB", 36e12: "36 TB", 1e30: "1000000 YB"} {
		if got := inBytes(bytes); got != want {
			t.Errorf("%v: %q, want %q", bytes, got, want)
		}
	}
}

// What a container uses already is not free; what it would give back is.
func TestMemoryOfAContainer(t *testing.T) {
	const none = "9223372036854771712\n" // version 1 without a limit
	for name, c := range map[string]struct {
		files map[string]string
		want  float64
	}{
		"no files":   {nil, math.Inf(1)},
		"no limit":   {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.current": "500\n"}, math.Inf(1)},
		"limit only": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"}, 1000},
		"version 2": {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "1000\n", "sys/fs/cgroup/a/memory.current": "700\n",
			"sys/fs/cgroup/a/memory.stat": "anon 400\nactive_file 100\ninactive_file 200\n"}, 500},
		"a group above": {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/b/memory.current": "700\n",
			"sys/fs/cgroup/a/memory.max": "2000\n", "sys/fs/cgroup/a/memory.current": "1900\n"}, 100},
		"more than allowed": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "1100\n"}, 0},
		"version 1": {map[string]string{"proc/self/cgroup": "5:cpu,memory:/a\n1:name=systemd:/\n0::/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": none,
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "900\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1000\n",
			"sys/fs/cgroup/memory/a/memory.usage_in_bytes": "800\n", "sys/fs/cgroup/memory/a/memory.stat": "inactive_file 1\ntotal_inactive_file 300\n"}, 500},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := groupsLeave(root); got != c.want {
			t.Errorf("%s: %v bytes are left, want %v", name, got, c.want)
		}
	}
}

// large is a federation of two clients whose data takes 20 MB, though they hold a few rows of it.
func large(t *testing.T, first int) *Federation {
	t.Helper()
	const rows, features = 20_000, 1000
	part := func(n int) datasets.Split {
		return datasets.Split{Bytes: make([]uint8, n*features), Labels: make([]int32, n), Scale: 1}
	}
	d := &datasets.Dataset{Name: "large", Shape: []int{features}, Classes: 2, Train: part(rows), Test: part(2)}
	d.Test.Labels[0] = 1
	fed, err := New(d, partition.Given{{Train: []int{first, 2}, Test: []int{0}}, {Train: []int{3, 4}, Test: []int{1}}}, func(*datasets.Dataset) (*Task, error) {
		return &Task{Name: "large", Params: []Param{{Name: "w", Shape: []int{features, 2}}}, Forward: func(p []*graph.Node, x *graph.Node) *graph.Node {
			c, b := p[0].Shape().Dimensions[0], x.Shape().Dimensions[1]
			return graph.Einsum("cbi,cio->cbo", graph.BroadcastToDims(x, c, b, features), p[0])
		}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fed
}

// Federations of one shape share their programs, and what they had on the device is given back when they are dropped.
func TestFederationsAreGivenBack(t *testing.T) {
	run := func(first int) {
		if _, err := Run(context.Background(), large(t, first), &mean{Local: Local{Batch: 2, LR: 0.1}}, Options{Rounds: 1}); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	buffers := pjrt.BuffersAlive()
	run(5)
	each := pjrt.BuffersAlive() - buffers
	before, most := xla.Compilations(), int64(0)
	for i := range 30 { // 600 MB
		run(6 + i)
		most = max(most, pjrt.BuffersAlive()-buffers)
	}
	if n := xla.Compilations() - before; n != 0 {
		t.Errorf("%d compilations for federations of a known shape, want 0", n)
	}
	if most > 20*each {
		t.Errorf("%d buffers were on the device at once, %d for each federation", most, each)
	}
	settle()
	if left := pjrt.BuffersAlive() - buffers; left > each {
		t.Errorf("%d buffers are left of 31 federations, %d for each", left, each)
	}
}

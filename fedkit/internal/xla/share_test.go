package xla_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/core/graph"
)

// plus is a program that adds a constant.
func plus(name string, constant []float32) *xla.Program {
	return xla.NewProgram(name, func(a []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.Add(a[0], graph.Const(a[0].Graph(), constant))}
	})
}

// lastOf runs a program on zeros and returns the last value of its result.
func lastOf(t *testing.T, p *xla.Program, n int) float32 {
	t.Helper()
	out := expect.Value(p.Call(make([]float32, n)))(t)
	v := expect.Value(xla.Host(out[0]))(t)
	return v[n-1]
}

// Programs are equal regardless of their names, and differ if a value in a long constant does.
func TestEqualProgramsAreCompiledOnce(t *testing.T) {
	const n = 20_000
	one := make([]float32, n)
	other := slices.Clone(one)
	other[n-1] = 0.1
	before := xla.Compilations()
	var group sync.WaitGroup
	for _, name := range []string{"first", "second", "third"} {
		group.Go(func() { lastOf(t, plus(name, one), n) })
	}
	group.Wait()
	if made := xla.Compilations() - before; made != 1 {
		t.Errorf("%d compilations of three equal programs, want 1", made)
	}
	if v := lastOf(t, plus("first", other), n); v != 0.1 || xla.Compilations()-before != 2 {
		t.Errorf("%v after %d compilations, want 0.1 after 2", v, xla.Compilations()-before)
	}
}

// Executables outlive one of the programs that share them, and all but the most recent are freed when no longer used.
func TestUnusedProgramsAreGivenBack(t *testing.T) {
	const kept = 32
	settle := func(done func() bool) { // finalizers run concurrently
		for i := 0; i < 3 || i < 1000 && !done(); i++ {
			runtime.GC()
			time.Sleep(20 * time.Millisecond)
		}
	}
	settle(func() bool { return true })
	first := pjrt.LoadedExecutablesAlive()
	held := plus("held", []float32{1})
	func() {
		lastOf(t, held, 1)
		lastOf(t, plus("shares it", []float32{1}), 1)
		for i := range kept + 10 {
			lastOf(t, plus("dropped", []float32{float32(i + 2)}), 1)
		}
	}()
	settle(func() bool { return pjrt.LoadedExecutablesAlive()-first <= kept+1 })
	if n := pjrt.LoadedExecutablesAlive() - first; n > kept+1 {
		t.Errorf("%d executables are alive, want at most %d", n, kept+1)
	}
	before := xla.Compilations()
	if v := lastOf(t, held, 1); v != 1 || lastOf(t, plus("again", []float32{1}), 1) != 1 || xla.Compilations() != before {
		t.Errorf("%v after %d compilations, want 1 after none", v, xla.Compilations()-before)
	}
}

// A graph function that panics gives an error at every call.
func TestPanicWhileBuilding(t *testing.T) {
	p := xla.NewProgram("panics", func(a []*graph.Node) []*graph.Node { panic("no") })
	for range 2 {
		if _, err := p.Call(float32(1)); err == nil || err.Error() != `program "panics": no` {
			t.Errorf("error %v", err)
		}
	}
}

// The collector sees only the small objects that hold uploads, so it is called once enough bytes have accumulated.
func TestDroppedUploadsAreGivenBack(t *testing.T) {
	values := make([]uint8, 40<<20)
	first, most := pjrt.BuffersAlive(), int64(0)
	for range 25 {
		expect.Value(xla.Upload(values, len(values)))(t)
		for i := 0; i < 1000 && pjrt.BuffersAlive()-first > 12; i++ {
			time.Sleep(5 * time.Millisecond) // finalizers run concurrently
		}
		most = max(most, pjrt.BuffersAlive()-first)
	}
	if most > 12 {
		t.Errorf("%d uploads of 40 MB each were alive at once, want about 5", most)
	}
}

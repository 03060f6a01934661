package worker_test

import (
	"testing"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

func BenchmarkCall(b *testing.B) {
	w := local(b, 1)
	d, leave, _ := w.Open(b.Context())
	defer leave()
	p := xla.NewProgram("inc", func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.AddScalar(graph.ReduceAllSum(a[0]), 1)} })
	for _, n := range []int{0, 10} {
		args := []any{[]float32{1, 2}}
		for range n {
			args = append(args, []int32{1, 2, 3})
		}
		name := "one"
		if n > 0 { name = "eleven" }
		b.Run(name, func(b *testing.B) {
			for range b.N {
				v, err := d.Run(b.Context(), p, args)
				if err != nil { b.Fatal(err) }
				v[0].Free()
			}
		})
		b.Run(name+" here", func(b *testing.B) {
			for range b.N {
				v, err := p.Call(args...)
				if err != nil { b.Fatal(err) }
				xla.Free(v...)
			}
		})
	}
}

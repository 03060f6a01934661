package fedkit

import (
	"reflect"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
)

// A server program can work layer by layer.
func TestSplitAndJoin(t *testing.T) {
	fed, o := toy(t, 3)
	last := NewProgram("biases of the last layer alone", func(a []*graph.Node) *graph.Node {
		p := fed.Task.Split(a[0])
		for l := range p[:len(p)-1] {
			p[l] = graph.ZerosLike(p[l])
		}
		return fed.Task.Join(p)
	})
	x := randomMatrix(1, 2, o.Dim())
	want := x.Mul(ones(o.Dim(), o.Dim()-3).Not())
	if got := rowsOf(t, x.Apply(last)); !reflect.DeepEqual(got, rowsOf(t, want)) {
		t.Errorf("%v, want %v", got, rowsOf(t, want))
	}
}

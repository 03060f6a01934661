package xla

import (
	"fmt"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/gomlx/gomlx/core/graph"
)

// The known answers of Random123 (kat_vectors, threefry2x32 with 20 rounds): counter, key, result.
func TestThreefry(t *testing.T) {
	p := NewProgram("threefry", func(in []*graph.Node) []*graph.Node {
		a, b := Threefry(in[2], in[3], in[0], in[1])
		return []*graph.Node{a, b}
	})
	for _, v := range [][6]uint32{
		{0, 0, 0, 0, 0x6b200159, 0x99ba4efe},
		{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x1cb996fc, 0xbb002be7},
		{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xc4923a9c, 0x483df7a0},
	} {
		out := expect.Value(p.Call([]uint32{v[0]}, []uint32{v[1]}, []uint32{v[2]}, []uint32{v[3]}))(t)
		if got, want := fmt.Sprintf("%x %x", out[0].Value(), out[1].Value()), fmt.Sprintf("[%x] [%x]", v[4], v[5]); got != want {
			t.Errorf("%x: %s, want %s", v[:4], got, want)
		}
	}
}

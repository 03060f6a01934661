package tree

import (
	"container/list"
	"reflect"
	"strings"
	"testing"
)

// node can contain itself, in every way in which a type can.
type node struct {
	Next  *node
	Kids  []node
	Named map[string]node
	Any   any
	Pair  [2][]node
	back  *node // gob does not follow it
}

// sealed saves itself, and so may contain itself.
type sealed struct{ Next *sealed }

func (*sealed) MarshalBinary() ([]byte, error) { return nil, nil }
func (*sealed) UnmarshalBinary([]byte) error   { return nil }

func TestCycle(t *testing.T) {
	next, deep := &node{}, &node{}
	next.Next = next
	deep.Next = &node{Kids: []node{{}, {Next: deep}}}
	kids := make([]node, 2)
	kids[1].Kids = kids
	named := map[string]node{}
	named["a"] = node{Named: named}
	loose := &node{}
	loose.Any = []any{0, loose}
	pair := make([]node, 1)
	pair[0].Pair[1] = pair
	shared := &node{}
	back := &node{}
	back.back = back
	own := &sealed{}
	own.Next = own
	long := &node{}
	for range 2 * maxDepth {
		long = &node{Next: long}
	}
	ring := list.New()
	ring.PushBack(1)
	for _, c := range []struct {
		v    any
		want string // "" for none
	}{
		{next, ".Next"}, {deep, ".Next.Kids[1].Next"}, {kids, "[1].Kids"}, {named, "[a].Named"}, {loose, ".Any[1]"}, {pair, "[0].Pair[1]"},
		{struct{ Head *node }{next}, ".Head.Next"}, {long, strings.Repeat(".Next", 20) + "…"},
		{nil, ""}, {&node{}, ""}, {[]*node{shared, shared, {Next: shared, Kids: []node{{}, {}}[:1]}}, ""}, {back, ""}, {own, ""}, {ring, ""}, {[][]float64{{1}, {2}}, ""},
	} {
		if path, found := Cycle(reflect.ValueOf(c.v)); path != c.want || found != (c.want != "") {
			t.Errorf("%T: %q, %v, want %q", c.v, path, found, c.want)
		}
	}
}

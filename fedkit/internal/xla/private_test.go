package xla

import (
	"os"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	gxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/go-xla/stablehlo"
)

// go-xla has the private fields that fedkit reads; TestArithmetic covers GoMLX's. It fails if go.mod has other versions.
func TestPrivateFields(t *testing.T) {
	mod := expect.Value(os.ReadFile("../../../go.mod"))(t)
	for version := range strings.SplitSeq(privateOf, ", ") {
		if !strings.Contains(string(mod), "\t"+version+"\n") {
			t.Errorf("go.mod has not %s: if what follows passes, so does TestArithmetic, and privateOf is out of date", version)
		}
	}
	b := expect.Value(Backend())(t)
	x := b.(*gxla.Backend)
	for _, c := range []struct {
		read func()
		want string // part of the error
	}{
		{func() { _ = private[pjrt.Client](x, "client").Plugin() }, ""},
		{func() { private[stablehlo.Builder](x.Builder("text").(*gxla.Builder), "builder").Main() }, ""},
		{func() { private[pjrt.Client](x, "secret") }, "xla.Backend has no field secret, which it has in " + privateOf},
		{func() { private[pjrt.Buffer](x, "client") }, "xla.Backend.client is a *pjrt.Client, not the *pjrt.Buffer of " + privateOf},
	} {
		err := func() (err error) { defer Caught(&err); c.read(); return nil }()
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

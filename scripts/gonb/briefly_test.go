package jpyexec

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Long output loses whole lines of its middle, which are counted; the capture has all of it. Shorter output stays as it is.
func TestCopyBriefly(t *testing.T) {
	numbered := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %06d\n", i) // 12 bytes
		}
		return b.String()
	}
	for _, c := range []struct {
		text  string
		lines int // left out
	}{
		{"", 0}, {"one", 0}, {numbered(100), 0}, {numbered((firstShown + lastShown) / 12), 0},
		{numbered(1_000_000), 1_000_000 - firstShown/12 - lastShown/12},
		{strings.Repeat("x", 10_000_000), 1},
	} {
		var out, all bytes.Buffer
		if err := copyBriefly(&out, iotest.HalfReader(strings.NewReader(c.text)), &all); err != nil || all.String() != c.text {
			t.Errorf("%v, and the capture has %d of %d bytes", err, all.Len(), len(c.text))
		}
		got := out.String()
		if c.lines == 0 {
			if got != c.text {
				t.Errorf("%d bytes became %d", len(c.text), len(got))
			}
			continue
		}
		head, tail, cut := strings.Cut(got, fmt.Sprintf("\n… these were 400 kB: of what follows, the last lines are shown when it ends …\n… lines left out: %d …\n", c.lines))
		if !cut || len(head) != firstShown || !strings.HasPrefix(c.text, head) || len(tail) > lastShown || len(tail) < lastShown-12 || !strings.HasSuffix(c.text, tail) {
			t.Errorf("%d bytes became %d and %d\n%.200s", len(c.text), len(head), len(tail), got[len(head):])
		}
	}
	var out bytes.Buffer
	if err := copyBriefly(&out, iotest.TimeoutReader(strings.NewReader(numbered(1_000_000))), nil); err != iotest.ErrTimeout {
		t.Errorf("error %v", err)
	}
	if err := copyBriefly(failing{}, strings.NewReader("x"), nil); err != io.ErrClosedPipe {
		t.Errorf("error %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

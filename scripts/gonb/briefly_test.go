package jpyexec

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/janpfeifer/must"
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

// A place in a trace comes in one piece, everything else at once, and the end of what has no end of line too.
func TestPlacesAreWhole(t *testing.T) {
	const text = "working\t1\t2\npanic: x\n\nmain.main()\n\t/tmp/main.go:17 +0x25\n\tgo\t1\n\tno end"
	var got []string
	if err := copyBriefly(pieces{&got}, iotest.OneByteReader(strings.NewReader(text)), nil); err != nil || strings.Join(got, "") != text {
		t.Errorf("%v: %q", err, got)
	}
	for i, piece := range got {
		want := 1
		if piece[0] == '\t' && (i == 0 || strings.HasSuffix(got[i-1], "\n")) {
			want = len(piece)
		}
		if len(piece) != want || want > 1 && !strings.HasSuffix(piece, "\n") && i < len(got)-1 {
			t.Errorf("piece %d is %q of %q", i, piece, got)
		}
	}
	for _, whole := range []string{"\t/tmp/main.go:17 +0x25\n", "\tgo\t1\n", "\tno end"} {
		if !slices.Contains(got, whole) {
			t.Errorf("no %q in %q", whole, got)
		}
	}
	long := "\t" + strings.Repeat("x", 100_000)
	if n := len(must.M1(io.ReadAll(&places{Reader: iotest.OneByteReader(strings.NewReader(long)), start: true}))); n != len(long) {
		t.Errorf("%d bytes of %d", n, len(long))
	}
}

type pieces struct{ got *[]string }

func (p pieces) Write(b []byte) (int, error) {
	*p.got = append(*p.got, string(b))
	return len(b), nil
}

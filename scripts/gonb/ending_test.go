package jpyexec

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// A cell ends with its own report, which is not on standard error, too; else with a sentence on what ended it, if there is one.
func TestEnding(t *testing.T) {
	exit := errors.New("exit status 2")
	for _, c := range []struct {
		writes          string // in pieces, between bars
		err             error
		shown, endsWith string
	}{
		{"", nil, "", ""},
		{"a|b\n", nil, "ab\n", ""},
		{"error: but it goes on\n|b\n", nil, "error: but it goes on\nb\n", ""},
		{"error: the last word\n", nil, "error: the last word\n", ""},
		{"a\nerror: α = −1\n\tmain.main\n", exit, "a\n", "error: α = −1\n\tmain.main"},
		{"error: but it goes on\n|b\n", exit, "error: but it goes on\nb\n", "exit status 2"},
		{"panic: index\n\tmain.main\n", exit, "", "panic: index\n\tmain.main"},
		{"panic: |else|where\n|\ngoroutine 5:\n", exit, "panic: elsewhere\n\ngoroutine 5:\n", "panic: elsewhere"},
		{"panic: elsewhere\n\ngoroutine 5:\n", exit, "panic: elsewhere\n\ngoroutine 5:\n", "panic: elsewhere"},
		{"fatal error: all asleep\n|\ngoroutine 1:\n", exit, "fatal error: all asleep\n\ngoroutine 1:\n", "fatal error: all asleep"},
		{"", errors.New("signal: killed"), "", "the cell was killed (signal: killed): the system does that when memory is short"},
		{"", errors.New("failed: fork/exec /tmp/a: permission denied"), "", "TMPDIR"},
	} {
		var shown strings.Builder
		h := &Held{Writer: &shown}
		for piece := range strings.SplitSeq(c.writes, "|") {
			if n, err := h.Write([]byte(piece)); err != nil || n != len(piece) {
				t.Errorf("%q: %d, %v", c.writes, n, err)
			}
		}
		err := Ending(c.err, h)
		if (err == nil) != (c.endsWith == "") || err != nil && !strings.Contains(err.Error(), c.endsWith) || shown.String() != c.shown {
			t.Errorf("%q: shows %q and ends with %v, want %q and %q", c.writes, shown.String(), err, c.shown, c.endsWith)
		}
	}
	if err := Ending(exit, nil); err != exit {
		t.Errorf("without a writer: %v", err)
	}
}

// What the stand-in for go says replaces the parser's error, if it says anything.
func TestMistakes(t *testing.T) {
	dir, refused := t.TempDir(), errors.New("main.go:1:1: refused")
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	for script, want := range map[string]string{"echo \"$1\"": "mistakes", "exit 0": refused.Error(), "echo no; exit 1": refused.Error()} {
		if err := os.WriteFile(dir+"/go", []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if said := Mistakes(dir, refused); said != want {
			t.Errorf("%s: %q", script, said)
		}
	}
}

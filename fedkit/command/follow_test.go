package command

import (
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
)

// A run is followed until it is over, here at once. The exit status says how it ended.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	if status, _, log := do("follow", path); status != refused || !strings.HasPrefix(log, "fedkit: invalid: file = "+path+": must be one that a run writes: ") {
		t.Error(status, log)
	}
	h := &fedkit.History{Name: "FedAvg", Rounds: []fedkit.Record{{Round: 1}, {Round: 2}}}
	for _, want := range []int{done, stopped} {
		h.Stopped = want == stopped
		expect.OK(t, h.Save(path))
		if status, out, _ := do("follow", path, "--json"); status != want || strings.Count(out, "\n") != 2 || !strings.HasPrefix(out, `{"round":1,`) {
			t.Error(status, out)
		}
		status, out, _ := do("follow", path)
		if status != want || out != "" {
			t.Errorf("status %d, want %d; printed %q", status, want, out)
		}
	}
}

package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/lines"
	"fedkit.example/fedkit/internal/rows"
)

// state is a strategy's State.
type state struct {
	X      *rows.Matrix
	Groups map[string][]int
}

func FuzzCheckpoint(f *testing.F) {
	h, states := &history.History{Name: "a run", Clients: 2}, States{&state{X: rows.Zeros(1, 2), Groups: map[string][]int{"a": {1}}}}
	var b bytes.Buffer
	expect.OK(f, encode(&b, h, &snapshot{states: states}))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := len(b) - 4; n >= 0 {
			b = binary.LittleEndian.AppendUint32(b[:n:n], crc32.Checksum(b[:n], lines.Castagnoli))
		}
		c, state, err := parse(b)
		if err == nil && c.fits(h, states) == nil {
			_ = States{new(struct{ X *rows.Matrix })}.decode(state)
		}
	})
}

// A State with a renamed field is refused.
func TestOtherState(t *testing.T) {
	was, is := new(struct{ V *rows.Matrix }), new(struct{ Velocity *rows.Matrix })
	var b bytes.Buffer
	expect.OK(t, encode(&b, &history.History{}, &snapshot{states: States{was}}))
	c, _ := expect.Values(parse(b.Bytes()))(t)
	expect.Error(t, "State.V: missing, was *fedkit.Matrix; State.Velocity: *fedkit.Matrix, was missing")(c.fits(&history.History{}, States{is}))
	queued := new(struct {
		InFlight struct {
			Queue struct {
				Now    float64
				Events []struct{ Time float64 }
			}
			Begun int
		}
	})
	differ := differLayouts(States{queued}.layout(), States{new(struct{ InFlight struct{ Begun int } })}.layout())
	expect.That(t, differ == nil, "a State from when work in flight had a queue: %q", differ)
}

func TestDue(t *testing.T) {
	f := &Files{config: Config{Every: 4}}
	due := func() (rounds []int) {
		for t := range 8 {
			if f.due(t + 1) {
				rounds = append(rounds, t+1)
			}
		}
		return rounds
	}
	got := due()
	expect.That(t, slices.Equal(got, []int{4, 8}), "every fourth round: after rounds %v", got)
	f.config, f.at = Config{After: time.Minute}, time.Now()
	got = due()
	expect.That(t, got == nil, "after a minute: after rounds %v at once", got)
	f.at = time.Now().Add(-time.Hour)
	expect.That(t, len(due()) == 8, "none after an hour")
}

// Where the file system refuses locks, a complete run is over, and any other one counts as running.
func TestProgressWithoutLocks(t *testing.T) {
	was := tryShared
	defer func() { tryShared = was }()
	tryShared = func(string) (bool, error) { return false, errors.New("no locks available") }
	for _, running := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		h := &history.History{Rounds: []history.Record{{Round: 1}}, Stopped: running}
		expect.OK(t, h.Save(path))
		s, err := ReadProgress(path)
		expect.That(t, err == nil && s.Running == running && s.History != nil && len(s.History.Rounds) == 1, "%v: %+v, %v", running, s, err)
	}
}

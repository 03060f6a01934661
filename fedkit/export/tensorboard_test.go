package export

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

// What tensorboard 2.21.0 writes for two events (RecordWriter, in Python).
const golden = "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a32" +
	"2a28646c36000000000000004f578cef09000000000000f83f10ac022a280a160a0f676c6f62616c2f6163637572616379150000803e0a0e0a077365636f6e6473150000004030474215"

// The bytes are those of tensorboard, but for a step of 0, which it leaves out.
func TestEventBytes(t *testing.T) {
	now := time.UnixMicro(1_500_000)
	first := slices.Delete(event(now, 0, field(nil, 3, "brain.Event:2")), 9, 11)
	second := event(now, 300, field(nil, 5, string(scalar(scalar(nil, "global_accuracy", 0.25), "seconds", 2))))
	expect.That(t, hex.EncodeToString(record(record(nil, first), second)) == golden, "%x\n%s", record(record(nil, first), second), golden)
}

// Value is a scalar of an event.
type Value struct {
	Step  int
	Tag   string
	Value float32
}

// ReadEvents reads event files by hand, and fails unless all records are whole and their checksums right.
func ReadEvents(t *testing.T, dir string) (all []Value) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*tfevents*"))
	expect.Must(t, len(files) == 1, "%d event files in %s", len(files), dir)
	b := expect.Value(os.ReadFile(files[0]))(t)
	for len(b) > 0 {
		n := binary.LittleEndian.Uint64(b)
		data := b[12 : 12+n]
		expect.Must(t, binary.LittleEndian.Uint32(b[8:]) == masked(b[:8]) && binary.LittleEndian.Uint32(b[12+n:]) == masked(data), "a wrong checksum")
		b = b[16+n:]
		step, k := binary.Uvarint(data[10:])
		for in := data[10+k:]; in[0] == 5<<3|2; {
			_, k := binary.Uvarint(in[1:])
			for in = in[1+k:]; len(in) > 0; {
				size, at := binary.Uvarint(in[1:])
				one := in[1+at : 1+at+int(size)]
				tag := int(one[1])
				all = append(all, Value{int(step), string(one[2 : 2+tag]), math.Float32frombits(binary.LittleEndian.Uint32(one[3+tag:]))})
				in = in[1+at+int(size):]
			}
			break
		}
	}
	return all
}

// A run that begins again replaces its file; a file that cannot be written is said once, ends with a whole round, and goes on.
func TestTensorBoardThatCannotWrite(t *testing.T) {
	dir := t.TempDir()
	h := &history.History{Name: "../α β", Rounds: []history.Record{{Round: 1, Global: &history.Score{Accuracy: 0.5}}}}
	said := func(do func()) string {
		was := os.Stderr
		defer func() { os.Stderr = was }()
		r, w, err := os.Pipe()
		expect.OK(t, err)
		os.Stderr = w
		do()
		expect.OK(t, w.Close())
		var b bytes.Buffer
		_, _ = b.ReadFrom(r)
		return b.String()
	}
	expect.OK(t, os.WriteFile(filepath.Join(dir, "events"), nil, 0o666)) // where a folder should be
	e := TensorBoard(filepath.Join(dir, "events"))
	got := said(func() { e.Start(h, 2); e.Round(h, 2); e.Round(h, 2) })
	expect.That(t, strings.Count(got, "\n") == 1 && strings.Contains(got, "export: events of ../α β end with round 0: mkdir"), "said %q", got)
	expect.OK(t, os.Remove(filepath.Join(dir, "events")))
	h.Rounds = append(h.Rounds, history.Record{Round: 2, Seconds: 1})
	e.Round(h, 2)
	folders, _ := filepath.Glob(filepath.Join(dir, "events", "*"))
	expect.Must(t, len(folders) == 1 && strings.HasPrefix(filepath.Base(folders[0]), "_α β, seed 0, "), "folders %v", folders)
	all := ReadEvents(t, folders[0])
	expect.That(t, slices.Contains(all, Value{1, "global/accuracy", 0.5}) && slices.Contains(all, Value{2, "seconds", 1}), "%v", all)
	e.Start(h, 3)
	e.Done(h, nil)
	e.Done(h, nil)
	expect.That(t, len(ReadEvents(t, folders[0])) == len(all) && len(e.runs) == 0, "another file: %v", ReadEvents(t, folders[0]))
}

// Whatever a full disk leaves of a round is taken back.
func TestTensorBoardOnAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	dir := t.TempDir()
	h := &history.History{Name: "a", Rounds: []history.Record{{Round: 1}}}
	f := &eventFile{path: filepath.Join(dir, "events.out.tfevents.1.fedkit")}
	expect.OK(t, f.write(h, time.Unix(1, 0)))
	h.Rounds = append(h.Rounds, history.Record{Round: 2})
	real := f.path
	f.path = "/dev/full"
	err := f.write(h, time.Unix(2, 0))
	expect.That(t, err != nil && strings.Contains(err.Error(), "no space left on device") && f.rounds == 1, "error %v after round %d", err, f.rounds)
	f.path = real
	expect.OK(t, f.write(h, time.Unix(3, 0)))
	expect.That(t, len(ReadEvents(t, dir)) > 0 && f.rounds == 2, "%d rounds", f.rounds)
}

package export

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit/history"
)

// Events is a fedkit.Watcher that writes event files: see TensorBoard.
type Events struct {
	dir  string
	mu   sync.Mutex
	runs map[*history.History]*eventFile
}

// TensorBoard returns a watcher that writes every number of a round that is not one client's to event files, as they come, under the names
// of Table with a folder for each group: "global/accuracy", "mean/loss", "train/loss". TensorBoard shows a folder of them, and W&B, Aim,
// trackio and ClearML read them. Each run has a folder of its own, by its name, seed and what else identifies it, in which an earlier run's
// file is replaced. A resumed run has all its rounds.
//
//	h, err := fedkit.Run(ctx, fed, avg, fedkit.Options{Rounds: 30, Watch: export.TensorBoard("events")})
//	st := study.Study{Watch: export.TensorBoard("events"), …} // then: tensorboard --logdir events
//
// A file that cannot be written, as on a full disk, is said once on standard error, and never stops a run. It ends after the last whole
// round, and goes on once there is room.
func TensorBoard(dir string) *Events {
	return &Events{dir: dir, runs: map[*history.History]*eventFile{}}
}

// Start is called before the first round, and again when a run resumes: see fedkit.Watcher.
func (e *Events) Start(h *history.History, _ int) {
	e.do(h, func() {
		b, _ := json.Marshal(history.HeadingOf(h))
		name := strings.NewReplacer("/", "_", `\`, "_", ":", "_").Replace(strings.TrimLeft(h.Name, "."))
		folder := fmt.Sprintf("%s, seed %d, %.4x", name, h.Seed, sha256.Sum256(b))
		e.runs[h] = &eventFile{path: filepath.Join(e.dir, folder, fmt.Sprintf("events.out.tfevents.%d.fedkit", time.Now().UnixNano()))}
	})
}

// Round implements fedkit.Watcher.
func (e *Events) Round(h *history.History, _ int) { e.do(h, func() {}) }

// Done implements fedkit.Watcher. A run that another process computed has no events here.
func (e *Events) Done(h *history.History, _ error) {
	e.do(h, func() {})
	e.do(h, func() { delete(e.runs, h) })
}

// do does something with a run, and writes its rounds that are not written yet.
func (e *Events) do(h *history.History, what func()) {
	if e == nil || h == nil || e.runs == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	what()
	f := e.runs[h]
	if f == nil {
		return
	}
	if err := f.write(h, time.Now()); err != nil && !f.failed {
		f.failed = true
		fmt.Fprintf(os.Stderr, "export: events of %s end with round %d: %v\n", h.Name, f.rounds, err)
	}
}

// eventFile is a run's.
type eventFile struct {
	path   string
	size   int64 // of what was written whole
	rounds int   // that were
	failed bool  // and it was said
}

// write appends the rounds that are missing, whole or not at all.
func (f *eventFile) write(h *history.History, now time.Time) (err error) {
	var b []byte
	if f.size == 0 {
		old, _ := filepath.Glob(filepath.Join(filepath.Dir(f.path), "*.tfevents.*"))
		for _, path := range old {
			err = errors.Join(err, os.Remove(path))
		}
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(f.path), 0o777)); err != nil {
			return err
		}
		b = record(b, event(now, 0, field(nil, 3, "brain.Event:2")))
	}
	for i := f.rounds; i < len(h.Rounds); i++ {
		b = record(b, event(now, h.Rounds[i].Round, field(nil, 5, string(scalars(&h.Rounds[i])))))
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(b, f.size)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Truncate(f.path, f.size))
	}
	f.size, f.rounds = f.size+int64(len(b)), len(h.Rounds)
	return nil
}

// scalars is the Summary of a round.
func scalars(r *history.Record) (b []byte) {
	each(&history.History{Rounds: []history.Record{*r}}, func(_, client int, metric string, v float64, optional bool) {
		if client < 0 && v == v && (v != 0 || !optional) {
			b = scalar(b, metric, v)
		}
	})
	if t := r.Training(); t != nil {
		b = scalar(scalar(b, "train_loss", float64(t.Loss)), "train_steps", float64(t.Steps))
	}
	return b
}

// scalar appends a Value to a Summary, as a protocol buffer: tag = 1, simple_value = 2.
func scalar(b []byte, name string, v float64) []byte {
	value := append(field(nil, 1, strings.Replace(name, "_", "/", 1)), 2<<3|5)
	return field(b, 1, string(binary.LittleEndian.AppendUint32(value, math.Float32bits(float32(v)))))
}

// event is TensorFlow's Event with a further field: wall_time = 1, step = 2.
func event(now time.Time, round int, what []byte) []byte {
	b := binary.LittleEndian.AppendUint64([]byte{1<<3 | 1}, math.Float64bits(float64(now.UnixMicro())/1e6))
	return append(binary.AppendUvarint(append(b, 2<<3), uint64(round)), what...)
}

// field appends a field of bytes.
func field(b []byte, number byte, value string) []byte {
	return append(binary.AppendUvarint(append(b, number<<3|2), uint64(len(value))), value...)
}

// record appends a TFRecord: the length, its checksum, the bytes, theirs.
func record(b, data []byte) []byte {
	size := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(append(b, size...), masked(size))
	return binary.LittleEndian.AppendUint32(append(b, data...), masked(data))
}

// masked is CRC-32C, rotated by 15 bits and shifted, as in TFRecords.
func masked(b []byte) uint32 {
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return (sum>>15 | sum<<17) + 0xa282ead8
}

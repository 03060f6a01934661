package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/file"
	"fedkit.example/fedkit/internal/lines"
	"fedkit.example/fedkit/internal/text"
	"github.com/klauspost/compress/zstd"
)

// An extract is compressed by zstd. It has a line of JSON that says what it is, and for each run one that says which it is and one for each
// evaluated round. The last line is the SHA-256 of those before it:
//
//	{"fedkit":"extract","schema":5}
//	{"schema":2,…,"name":"FedAvg",…}
//	{"round":5,…,"global":{"loss":0.6512,"accuracy":0.8012,…},…}
//	{"round":10,…}
//	{"sha256":"f6e0…"}
//
// Numbers that are not whole are rounded to four decimals.
const extractSchema = 5

// decimals is the resolution of numbers that are not whole: 10,000 stands for four decimals.
const decimals = 10_000

// Limits of an extract, so that a small file cannot fill the memory: usually it unpacks to 20 times its size.
const (
	unpackedAlways = 1 << 24 // bytes
	unpackedTimes  = 200     // its size
	window         = 1 << 25 // bytes, of zstd
	mostRuns       = 100_000
)

// mostUnpacked limits the size of an unpacked extract.
func mostUnpacked(packed int) int { return max(unpackedAlways, unpackedTimes*packed) }

type extractHead struct {
	Fedkit string `json:"fedkit"`
	Schema int    `json:"schema"`
}

// recordStart begins the line of a round.
const recordStart = `{"round":`

// lastLine is that of the lines before it.
func lastLine(before []byte) string {
	return fmt.Sprintf("{\"sha256\":\"%x\"}\n", sha256.Sum256(before))
}

// Extract writes what tables, curves and maps need of the runs into one small file, which may be committed beside a notebook or a
// paper: see Open. It keeps the evaluated rounds. Of what is recorded per client it keeps the clusters and, if all rounds were
// evaluated, who took part (history.Record.Clients). Seconds and bytes of other rounds are added to the next one that is kept.
// Numbers that are not whole have four decimals. The file is written atomically.
//
// Errors: no runs, two that are the same, a history that cannot be loaded.
func (rs Runs) Extract(path string) error { return rs.write(path, false) }

// ExtractEnds is Extract with only the last round of each run, to which the seconds and bytes of all are added.
func (rs Runs) ExtractEnds(path string) error { return rs.write(path, true) }

func (rs Runs) write(path string, ends bool) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("study: extract %s: %w", path, err)
		}
	}()
	if len(rs) == 0 || len(rs) > mostRuns {
		return fmt.Errorf("there are %d runs: must be at least 1, and at most %d in an extract", len(rs), mostRuns)
	}
	seen := map[string]bool{}
	for _, r := range rs {
		if r == nil || r.About == nil {
			return errNil
		}
		if seen[r.Key+r.String()] {
			return fmt.Errorf("%s, is there twice", r.called())
		}
		seen[r.Key+r.String()] = true
	}
	records, errs := each(len(rs), func(i int) ([]fedkit.Record, error) {
		h, err := rs[i].History()
		if h != nil {
			return evaluated(h.Rounds, ends), nil
		} else if rs[i].Error != "" {
			err = nil
		}
		return nil, err
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	b := bytes.NewBuffer(nil)
	to := json.NewEncoder(b)
	err = to.Encode(extractHead{"extract", extractSchema})
	for i, r := range rs {
		x := r.entry()
		x.Key, x.Models, x.Files, x.Seconds = "", false, nil, math.Round(decimals*x.Seconds)/decimals // a key is made of the rest
		err = errors.Join(err, to.Encode(x))
		for _, r := range records[i] {
			line, wrong := json.Marshal(r)
			err = errors.Join(err, wrong)
			b.Write(append(tokens.ReplaceAllFunc(line, rounded), '\n'))
		}
	}
	if err != nil {
		return err
	}
	b.WriteString(lastLine(b.Bytes()))
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	packed := z.EncodeAll(b.Bytes(), nil)
	if b.Len() > mostUnpacked(len(packed)) {
		return errUnpacked
	}
	return file.Write(path, packed)
}

// tokens are the texts and the numbers of a line.
var tokens = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?[0-9][-+.0-9eE]*`)

// rounded rounds a number to four decimals; texts and whole numbers stay.
func rounded(b []byte) []byte {
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !bytes.ContainsAny(b, ".eE") || math.Abs(decimals*v) > 1<<53 {
		return b
	}
	return strconv.AppendFloat(nil, math.Round(decimals*v)/decimals, 'f', -1, 64)
}

var errUnpacked = fmt.Errorf("it unpacks to more than %d MiB and %d times its size: must be at most that; write several extracts", unpackedAlways>>20, unpackedTimes)

// evaluated returns the evaluated rounds and the last one, or only this, with the seconds and bytes since the one before.
func evaluated(rounds []fedkit.Record, ends bool) (kept []fedkit.Record) {
	all := !slices.ContainsFunc(rounds, func(r fedkit.Record) bool { return r.Score() == nil })
	var since fedkit.Record
	for i, r := range rounds {
		r.Seconds += since.Seconds
		r.BytesDown += since.BytesDown
		r.BytesUp += since.BytesUp
		if since.Links != nil {
			links := maps.Clone(since.Links)
			for name, n := range r.Links {
				links[name] += n
			}
			r.Links = links
		}
		clients := r.Clients()
		if r.LeaveOut(true, true); all && r.Summary != nil { // nil if nobody trained or was scored
			r.Summary.Clients = clients
		}
		r.EvalTime, r.Absences = 0, nil
		if r.Clustering != nil {
			own := *r.Clustering
			own.Distances, r.Clustering = nil, &own
		}
		if since = r; r.Score() != nil && !ends || i == len(rounds)-1 {
			kept, since = append(kept, r), fedkit.Record{}
		}
	}
	return kept
}

// Open returns the runs that Extract wrote. Their histories are light, as Extract has them, and they have no files.
//
// Errors: no such file; one that is no extract, was altered, or was written by an older fedkit; ErrNewer for one
// that a newer fedkit wrote.
func Open(path string) (Runs, error) {
	packed, err := room.ReadFile(path, 1)
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	rs, err := readExtract(packed)
	if err != nil {
		return nil, fmt.Errorf("study: %s: %w", path, text.ShortError(err))
	}
	return rs, nil
}

func readExtract(packed []byte) (Runs, error) {
	z, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	most := mostUnpacked(len(packed))
	b, err := io.ReadAll(io.LimitReader(z, int64(most)+1))
	var head extractHead
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	switch wrong := json.Unmarshal(first, &head); {
	case wrong != nil || head.Fedkit != "extract":
		return nil, errors.Join(errors.New("it is not an extract of runs"), err)
	case head.Schema > extractSchema:
		return nil, fmt.Errorf("%w: schema %d, this one knows %d", history.ErrNewer, head.Schema, extractSchema)
	case head.Schema < extractSchema:
		return nil, fmt.Errorf("an older fedkit wrote it, with schema %d: extract the runs again, or read it with that version", head.Schema)
	case err != nil:
		return nil, err
	case len(b) > most:
		return nil, errUnpacked
	}
	last := bytes.LastIndexByte(b[:max(0, len(b)-1)], '\n') + 1
	if string(b[last:]) != lastLine(b[:last]) {
		return nil, errors.New("altered, or cut off: its checksum does not match")
	}
	var runs [][][]byte // the lines of each
	for line := range bytes.Lines(rest[:last-len(first)-1]) {
		if !bytes.HasPrefix(line, []byte(recordStart)) {
			runs = append(runs, nil)
		} else if runs == nil {
			return nil, errors.New("it is damaged: it has a round before the first run")
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], line)
	}
	if len(runs) > mostRuns {
		return nil, fmt.Errorf("it is damaged: it has %d runs, must be at most %d", len(runs), mostRuns)
	}
	rs, errs := each(len(runs), func(i int) (*Run, error) {
		r, err := readExtracted(runs[i][0], runs[i][1:])
		if err != nil {
			err = fmt.Errorf("run %d: %w", i+1, err)
		}
		return r, err
	})
	return rs, errors.Join(errs...)
}

// agrees refuses a history that does not end as the run says, within four decimals.
func (r *Run) agrees(h *fedkit.History) error {
	rounds := 0
	if last := h.Last(); last != nil {
		rounds = last.Round
	}
	was, is := float64(r.Accuracy), h.Accuracy()
	if rounds != r.Rounds || math.Abs(was-is) > 1.0/decimals || math.IsNaN(was) != math.IsNaN(is) {
		return fmt.Errorf("it is damaged: %s, has %d rounds and an accuracy of %.4f, and its figures %d and %.4f", r.called(), r.Rounds, was, rounds, is)
	}
	return nil
}

// readExtracted reads the lines of a run and its rounds.
func readExtracted(line []byte, rounds [][]byte) (*Run, error) {
	var x entry
	if err := lines.Strict(line, &x); err != nil {
		return nil, err
	}
	if x.Run == nil || x.About == nil || x.About.Manifest == nil || len(x.About.Rounds) > 0 || x.Key != "" {
		return nil, errors.New("it is not a run")
	}
	var err error
	if x.Key, err = keyOf(x.About); err != nil {
		return nil, err
	}
	r, err := x.run()
	if err != nil {
		return nil, err
	}
	light := *x.About
	light.Name, light.Rounds = x.Name, make([]fedkit.Record, len(rounds))
	if r.ID, r.extract = idOf(x.About.Strategy, x.Key), &light; !form.MatchString(r.ID) {
		return nil, fmt.Errorf("it is damaged: its strategy is %.100q", x.About.Strategy)
	}
	for i, line := range rounds {
		if err := json.Unmarshal(line, &light.Rounds[i]); err != nil {
			return nil, fmt.Errorf("round %d: %w", i+1, err)
		}
	}
	if err := light.Check(); err != nil {
		return nil, err
	}
	return r, r.agrees(&light)
}

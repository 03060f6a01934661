package study

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"math"
	"slices"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/file"
	"fedkit.example/fedkit/internal/lines"
	"fedkit.example/fedkit/internal/text"
	"github.com/klauspost/compress/zstd"
)

// An extract is compressed by zstd. It has a line of JSON that says what it is, one for each run, and then one for each quantity,
// with its values in all rounds of all runs. The last line is the SHA-256 of those before it:
//
//	{"fedkit":"extract","schema":4,"runs":2}
//	{"name":"FedAvg",…,"records":2}
//	{"name":"FedProx",…,"records":2}
//	{"path":["round"],"values":[5,10,5,10]}
//	{"path":["global","accuracy"],"values":[0.8012,0.8923,0.792,0.8765]}
//	{"sha256":"f6e0…"}
//
// Numbers that are not whole are rounded to four decimals, and null stands for no value. Differences of successive values would
// take a tenth less room, and no other program reads them.
const (
	extractSchema = 4
	oldestExtract = 3 // without lists
)

// decimals is the resolution of numbers that are not whole: 10,000 stands for four decimals.
const decimals = 10_000

// Limits of an extract, so that a small file cannot fill the memory: usually it unpacks to 20 times its size.
const (
	unpackedAlways = 1 << 24 // bytes
	unpackedTimes  = 200     // its size
	mostRuns       = 100_000
	mostRecords    = 1 << 21
	mostFigures    = 1000
	window         = 1 << 25 // bytes, of zstd
)

// mostUnpacked limits the size of an unpacked extract.
func mostUnpacked(packed int64) int64 { return max(unpackedAlways, unpackedTimes*packed) }

// counted counts what is written.
type counted struct {
	io.Writer
	n int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n += int64(n)
	return n, err
}

type extractHead struct {
	Fedkit string `json:"fedkit"`
	Schema int    `json:"schema"`
	Runs   int    `json:"runs"`
}

// extractLast is the last line.
type extractLast struct {
	SHA256 string `json:"sha256"`
}

func lastOf(sum hash.Hash) extractLast { return extractLast{hex.EncodeToString(sum.Sum(nil))} }

type extracted struct {
	entry
	Records int `json:"records"` // in its history
}

// Extract writes what tables, curves and maps need of the runs into one small file, which may be committed beside a notebook or a
// paper: see Open. It keeps the evaluated rounds. Of what is recorded per client it keeps the clusters and, if all rounds were
// evaluated, who took part (history.Record.Clients). Seconds and bytes of other rounds are added to the next one that is kept.
// Numbers that are not whole have four decimals. The file is written atomically.
//
// Errors: no runs, two that are the same, a history that cannot be loaded.
func (rs Runs) Extract(path string) error {
	if err := rs.extract(path); err != nil {
		return fmt.Errorf("study: extract %s: %w", path, err)
	}
	return nil
}

func (rs Runs) extract(path string) error {
	if len(rs) == 0 {
		return errors.New("there are no runs")
	}
	seen := map[string]bool{}
	for _, r := range rs {
		if r == nil || r.About == nil {
			return errNil
		}
		if seen[r.Key+r.String()] {
			return fmt.Errorf("%s, seed %d, is there twice", r, r.About.Seed)
		}
		seen[r.Key+r.String()] = true
	}
	records, errs := make([][]fedkit.Record, len(rs)), make([]error, len(rs))
	each(len(rs), func(i int) {
		h, err := rs[i].History()
		if h != nil {
			records[i] = evaluated(h.Rounds)
		} else if rs[i].Error == "" {
			errs[i] = err
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var columns columns
	for _, r := range slices.Concat(records...) {
		if err := columns.add(&r); err != nil {
			return err
		}
	}
	if len(rs) > mostRuns || columns.rows > mostRecords || len(columns.all) > mostFigures {
		return fmt.Errorf("%d runs, %d evaluated rounds, %d figures: must be at most %d, %d and %d; write several extracts",
			len(rs), columns.rows, len(columns.all), mostRuns, mostRecords, mostFigures)
	}
	return file.Stream(path, func(w io.Writer) error {
		packed := &counted{Writer: w}
		z, err := zstd.NewWriter(packed, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		unpacked, sum := &counted{Writer: z}, sha256.New()
		to := json.NewEncoder(io.MultiWriter(unpacked, sum))
		err = to.Encode(extractHead{"extract", extractSchema, len(rs)})
		for i, r := range rs {
			x := extracted{r.entry(), len(records[i])}
			x.Key, x.Models, x.Files, x.Seconds = "", false, nil, math.Round(decimals*x.Seconds)/decimals // a key is made of the rest
			err = errors.Join(err, to.Encode(x))
		}
		for _, c := range columns.all {
			err = errors.Join(err, to.Encode(c))
		}
		err = errors.Join(err, json.NewEncoder(unpacked).Encode(lastOf(sum)), z.Close())
		if err == nil && unpacked.n > mostUnpacked(packed.n) {
			err = errUnpacked
		}
		return err
	})
}

var errUnpacked = fmt.Errorf("it unpacks to more than %d MiB and %d times its size: must be at most that; write several extracts", unpackedAlways>>20, unpackedTimes)

// evaluated returns the evaluated rounds and the last one, with the seconds and bytes since the one before.
func evaluated(rounds []fedkit.Record) (kept []fedkit.Record) {
	all := !slices.ContainsFunc(rounds, func(r fedkit.Record) bool { return r.Score() == nil })
	var since fedkit.Record
	for i, r := range rounds {
		r.Seconds += since.Seconds
		r.BytesDown += since.BytesDown
		r.BytesUp += since.BytesUp
		if since.Links != nil {
			r.Links = maps.Clone(r.Links)
			for name, n := range since.Links {
				if r.Links == nil {
					r.Links = map[string]fedkit.Float{}
				}
				r.Links[name] += n
			}
		}
		clients := r.Clients()
		if r.LeaveOut(true, true); all {
			r.Summary.Clients = clients
		}
		r.EvalTime, r.Absences = 0, nil
		if since = r; r.Score() != nil || i == len(rounds)-1 {
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
	in := bufio.NewScanner(io.LimitReader(z, mostUnpacked(int64(len(packed)))))
	in.Buffer(nil, 1<<26)
	if !in.Scan() {
		return nil, errors.Join(errors.New("it is not an extract of runs"), in.Err())
	}
	var head extractHead
	if err := json.Unmarshal(in.Bytes(), &head); err != nil || head.Fedkit != "extract" {
		return nil, errors.New("it is not an extract of runs")
	}
	if head.Schema > extractSchema {
		return nil, fmt.Errorf("%w: schema %d, this one knows %d", history.ErrNewer, head.Schema, extractSchema)
	}
	if head.Schema < oldestExtract {
		return nil, fmt.Errorf("schema %d: an older fedkit wrote it: write it anew", head.Schema)
	}
	if head.Runs > mostRuns {
		return nil, fmt.Errorf("it is damaged: it has %d runs, must be at most %d", head.Runs, mostRuns)
	}
	text, sum := [][]byte{slices.Clone(in.Bytes())}, sha256.New()
	for in.Scan() {
		fmt.Fprintf(sum, "%s\n", text[len(text)-1])
		if text = append(text, slices.Clone(in.Bytes())); len(text) > max(0, head.Runs)+mostFigures+2 {
			return nil, fmt.Errorf("it is damaged: it has more than %d figures", mostFigures)
		}
	}
	if n, _ := z.Read(make([]byte, 1)); n > 0 && in.Err() == nil {
		return nil, errUnpacked
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	var last extractLast
	if err := json.Unmarshal(text[len(text)-1], &last); err != nil || last != lastOf(sum) {
		return nil, errors.New("altered, or cut off: its checksum does not match")
	}
	text = text[1 : len(text)-1]
	if head.Runs < 0 || len(text) < head.Runs {
		return nil, fmt.Errorf("it is damaged: it has %d lines for %d runs", len(text), head.Runs)
	}
	rs, records, errs := make(Runs, head.Runs), make([]int, head.Runs), make([]error, head.Runs)
	each(head.Runs, func(i int) {
		if rs[i], records[i], errs[i] = readExtracted(text[i]); errs[i] != nil {
			errs[i] = fmt.Errorf("run %d: %w", i+1, errs[i])
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	columns, err := readColumns(text[head.Runs:])
	if err != nil {
		return nil, err
	}
	if columns.rows > mostRecords {
		return nil, fmt.Errorf("it is damaged: it has %d records, must be at most %d", columns.rows, mostRecords)
	}
	first, rows := make([]int, len(rs)), 0
	for i, n := range records {
		first[i] = rows
		if rows += n; n > columns.rows || rows > columns.rows {
			return nil, fmt.Errorf("it is damaged: runs have more records than the %d of its figures", columns.rows)
		}
	}
	each(len(rs), func(i int) {
		h := rs[i].extract
		for row := range records[i] {
			r, err := columns.record(first[i] + row)
			if errs[i] = err; err != nil {
				return
			}
			h.Rounds = append(h.Rounds, r)
		}
		if errs[i] = h.Check(); errs[i] == nil {
			errs[i] = rs[i].agrees(h)
		}
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
		return fmt.Errorf("it is damaged: %s, seed %d, has %d rounds and an accuracy of %.4f, and its figures %d and %.4f", r, r.About.Seed, r.Rounds, was, rounds, is)
	}
	return nil
}

// readExtracted reads the line of a run, whose history has no records yet, and the number of these.
func readExtracted(line []byte) (*Run, int, error) {
	var x extracted
	if err := lines.Strict(line, &x); err != nil {
		return nil, 0, err
	}
	if x.Run == nil || x.About == nil || x.About.Manifest == nil || len(x.About.Rounds) > 0 || x.Key != "" || x.Records < 0 {
		return nil, 0, errors.New("it is not a run")
	}
	var err error
	if x.Key, err = keyOf(x.About); err != nil {
		return nil, 0, err
	}
	r, err := x.run()
	if err != nil {
		return nil, 0, err
	}
	light := *x.About
	light.Name = x.Name
	if r.ID, r.extract = idOf(x.About.Strategy, x.Key), &light; !form.MatchString(r.ID) {
		return nil, 0, fmt.Errorf("it is damaged: its strategy is %.100q", x.About.Strategy)
	}
	return r, x.Records, nil
}

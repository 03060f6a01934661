package history

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/file"
	"fedkit.example/fedkit/internal/lines"
	"fedkit.example/fedkit/internal/text"
	"github.com/janpfeifer/must"
	"github.com/klauspost/compress/flate"
)

// ErrNewer says that a newer version of fedkit wrote a file, in a format that this version does not read.
var ErrNewer = fault.ErrNewer

// A history file has a line of JSON for the run, one for each round, and one for its end, which has the number of rounds,
// whether the run was interrupted, and why it ended early. Each ends with a checksum (see lines.Sum). A round's per-client data are packed into
// one string, the last field before the checksum, so that a reader may skip it.
//
//	{"fedkit":"history","schema":2,"name":"FedAvg",…,"crc":"0a1b2c3d"}
//	{"round":1,"seconds":0.5,…,"summary":{…},"packed":"…","crc":"1b2c3d4e"}
//	{"end":1,"crc":"2c3d4e5f"}
//
// If the run goes on or was killed, the file has no end line, and may end with a partial line.
const historySchema = 2

const packedField = `,"packed":"`

// historyStart begins every history file.
const historyStart = `{"fedkit":"history",`

// Heading is the first line.
type Heading struct {
	Fedkit string `json:"fedkit"` // kind of file: "history"
	Schema int    `json:"schema"` // version of the format
	*plainHistory
	Rounds  *struct{} `json:"rounds,omitempty"`  // hides History.Rounds, which have their own lines
	Stopped *struct{} `json:"stopped,omitempty"` // hides History.Stopped, which is in the last line
	Early   *struct{} `json:"early,omitempty"`   // hides History.Early, which is there too
}

type (
	plainHistory History // without its methods
	plainRecord  Record
)

// ending is the last line.
type ending struct {
	End     *int   `json:"end"`
	Stopped bool   `json:"stopped,omitempty"`
	Early   string `json:"early,omitempty"`
}

// Line writes a line of a history's file.
type Line = func(c *lines.Sum) ([]byte, error)

// HeadingLine is the first line of a history.
func HeadingLine(h *History) Line {
	return func(c *lines.Sum) ([]byte, error) { return c.LineOf(HeadingOf(h)) }
}

// HeadingOf returns the heading of a history. To decode one, take that of an empty history.
func HeadingOf(h *History) Heading {
	return Heading{Fedkit: "history", Schema: historySchema, plainHistory: (*plainHistory)(h)}
}

// History returns the history of the heading.
func (h Heading) History() *History { return (*History)(h.plainHistory) }

// EndLine is the last line.
func EndLine(h *History) Line {
	n := len(h.Rounds)
	return func(c *lines.Sum) ([]byte, error) { return c.LineOf(ending{&n, h.Stopped, h.Early}) }
}

// RecordLine is the line of a round.
func RecordLine(r *Record) Line {
	return func(c *lines.Sum) ([]byte, error) {
		columns, err := pack(r)
		if err != nil {
			return nil, err
		}
		own := *r
		own.LeaveOut(true, true)
		own.Clusters, own.Summary, own.FineTuned = nil, own.sums(), r.FineTuned // a line always has a summary
		b, err := json.Marshal(plainRecord(own))
		if err != nil {
			return nil, err
		}
		line := make([]byte, 0, len(b)+len(packedField)+base64.StdEncoding.EncodedLen(len(columns))+lines.SumSize+2)
		line = append(append(line, b[:len(b)-1]...), packedField...)
		line = append(base64.StdEncoding.AppendEncode(line, columns), '"')
		return c.Seal(line), nil
	}
}

// Save writes the history atomically: a line of JSON for the run and one for each round, with packed per-client data and a checksum
// per line. Folders are made as needed.
func (h *History) Save(path string) error {
	b, err := h.file()
	if err == nil {
		err = file.Write(path, b)
	}
	if err != nil {
		return fmt.Errorf("fedkit: save history %s: %w", path, err)
	}
	return nil
}

// file returns the whole file.
func (h *History) file() (b []byte, err error) {
	all := []Line{HeadingLine(h)}
	for i := range h.Rounds {
		all = append(all, RecordLine(&h.Rounds[i]))
	}
	var c lines.Sum
	for _, next := range append(all, EndLine(h)) {
		line, err := next(&c)
		if err != nil {
			return nil, err
		}
		b = append(b, line...)
	}
	return b, nil
}

// Load reads a history that Save or a run with fedkit.Options.History wrote. Errors: an altered file, or another format version.
func Load(path string) (*History, error) { return load(path, true) }

// LoadLight is Load without per-client data: Results, Scores and Clusters are nil, but their totals and means work. It is fast, for
// tables and curves of many runs.
func LoadLight(path string) (*History, error) { return load(path, false) }

func load(path string, whole bool) (h *History, err error) {
	b, err := room.ReadFile(path, 1)
	if err != nil {
		return nil, fmt.Errorf("fedkit: load history: %w", err)
	}
	if h, err = Parse(b, whole); err != nil {
		return nil, fmt.Errorf("fedkit: load history %s: %w", path, err)
	}
	return h, nil
}

// Parse is Load for the bytes of a file, or LoadLight unless whole is set.
func Parse(file []byte, whole bool) (*History, error) {
	p := parser{file: bufio.NewReaderSize(bytes.NewReader(file), 1<<16), whole: whole}
	h, err := p.history(func(*History, *Record) error { return nil })
	return h, text.ShortError(err)
}

// ReadOpen reads a file that may have no end line yet. It calls each for every round before the next one is read: what that drops
// takes no memory. It returns the checksum of the lines; open reports whether the file ends with a whole line that is not the end line.
func ReadOpen(file io.Reader, each func(h *History, r *Record) error) (h *History, sum lines.Sum, open bool, err error) {
	p := parser{file: bufio.NewReaderSize(file, 1<<16), whole: true}
	h, err = p.history(each)
	return h, p.sum, !p.partial && !p.ended, err
}

// perClient is what a line has packed: gob, deflated. A field keeps its name for the files that have it.
type perClient struct {
	Results                          []ClientResult
	Scores                           []Score
	Clusters                         []int
	Unseen, ChosenOnTest, Validation []Score
}

// mostUnpacked limits the bytes that a reader inflates, so that a small file cannot fill the memory.
func mostUnpacked(packed int) int { return max(1<<16, 4*packed) }

// pack packs a record's per-client data, which are stored as they are if the limit does not allow to deflate them.
func pack(r *Record) ([]byte, error) {
	var b, packed bytes.Buffer
	err := gob.NewEncoder(&b).Encode(perClient{r.Results, r.Scores, r.Clusters, r.Unseen, r.ChosenOnTest, r.validation().Scores})
	for _, w := range []*sync.Pool{fast, stored} {
		if packed.Reset(); err == nil {
			z := w.Get().(*flate.Writer)
			z.Reset(&packed)
			_, err = z.Write(b.Bytes())
			err = errors.Join(err, z.Close())
			w.Put(z)
		}
		if b.Len() <= mostUnpacked(packed.Len()) {
			break
		}
	}
	return packed.Bytes(), err
}

// Writers that deflate and that store: to make one takes longer than a round's data.
var fast, stored = writers(flate.BestSpeed), writers(flate.NoCompression)

func writers(level int) *sync.Pool {
	return &sync.Pool{New: func() any { return must.M1(flate.NewWriter(nil, level)) }} // there are these levels
}

// unpack is the inverse of pack.
func unpack(b []byte, r *Record) error {
	var all perClient
	if err := gob.NewDecoder(io.LimitReader(flate.NewReader(bytes.NewReader(b)), int64(mostUnpacked(len(b))))).Decode(&all); err != nil {
		return fmt.Errorf("what is packed is broken: %w", err)
	}
	r.Results, r.Scores, r.Clusters, r.Unseen, r.ChosenOnTest = all.Results, all.Scores, all.Clusters, all.Unseen, all.ChosenOnTest
	if all.Validation != nil {
		r.Validation = &Validation{Global: r.validation().Global, Scores: all.Validation}
	}
	return nil
}

// parser reads a file line by line.
type parser struct {
	file    *bufio.Reader
	sum     lines.Sum
	line    int
	whole   bool // with packed data
	ended   bool
	partial bool // its last line is cut off
}

func (p *parser) history(each func(h *History, r *Record) error) (*History, error) {
	if start, err := p.file.Peek(len(historyStart)); string(start) != historyStart {
		if err == io.EOF || err == nil {
			err = errors.New("no history, or altered, or a much older fedkit wrote it: compute the run again")
		}
		return nil, err
	}
	h, err := p.heading()
	if err == nil {
		err = p.rounds(h, each)
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", p.line, err)
	}
	h.Stopped = h.Stopped || !p.ended
	return h, nil
}

// rounds reads all lines after the first.
func (p *parser) rounds(h *History, each func(h *History, r *Record) error) error {
	for {
		b, err := p.object()
		switch {
		case b == nil:
			return err
		case bytes.HasPrefix(b, []byte(`{"end":`)):
			return p.end(append(b, '}'), h)
		}
		r, err := p.record(b)
		if err == nil {
			err = h.checkNext(r)
		}
		if err == nil {
			err = each(h, r)
		}
		if err != nil {
			return err
		}
		h.Rounds = append(h.Rounds, *r)
	}
}

// object returns the JSON object of the next line without its closing brace, for which it has capacity; nil at the end of the
// file, or before a partial line.
func (p *parser) object() ([]byte, error) {
	line, err := p.file.ReadBytes('\n')
	if err == io.EOF {
		p.partial = len(line) > 0
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p.line++
	return p.sum.Open(line[:len(line)-1])
}

func (p *parser) heading() (*History, error) {
	b, err := p.object()
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, errors.New("the file is cut off")
	}
	b = append(b, '}')
	var format struct{ Schema int }
	if err := json.Unmarshal(b, &format); err != nil {
		return nil, err
	}
	if format.Schema > historySchema {
		return nil, fmt.Errorf("%w: schema %d, this one reads %d", ErrNewer, format.Schema, historySchema)
	}
	if format.Schema != historySchema {
		return nil, fmt.Errorf("an older fedkit wrote it, with schema %d: compute the run again, or read it with that version", format.Schema)
	}
	h := new(History)
	if err := lines.Strict(b, &Heading{plainHistory: (*plainHistory)(h)}); err != nil {
		return nil, err
	}
	return h, h.Check()
}

func (p *parser) record(b []byte) (*Record, error) {
	r := new(Record)
	columns, err := cut(&b)
	if err == nil {
		err = lines.Strict(append(b, '}'), (*plainRecord)(r))
	}
	if err != nil || !p.whole {
		r.FineTuned = r.FineTuned.light()
		return r, err
	}
	if columns, err = base64.StdEncoding.AppendDecode(nil, columns); err == nil {
		err = unpack(columns, r)
	}
	if err != nil {
		return nil, err
	}
	r.setRounds()
	r.trimSummary()
	return r, nil
}

func (p *parser) end(b []byte, h *History) error {
	var e ending
	if err := lines.Strict(b, &e); err != nil {
		return err
	}
	if _, err := p.file.Peek(1); err == nil || e.End == nil || *e.End != len(h.Rounds) {
		return fmt.Errorf("the end does not come after %d rounds", len(h.Rounds))
	}
	h.Stopped, h.Early, p.ended = e.Stopped, e.Early, true
	return nil
}

// cut removes the packed data from the end of a record's line, and returns them.
func cut(b *[]byte) (columns []byte, err error) {
	n := len(*b) - 1
	from := bytes.LastIndexByte((*b)[:max(n, 0)], '"') + 1
	if from < len(packedField) || (*b)[n] != '"' || string((*b)[from-len(packedField):from]) != packedField {
		return nil, errors.New("nothing is packed in it")
	}
	columns, *b = (*b)[from:n], (*b)[:from-len(packedField)]
	return columns, nil
}

// LeaveOut drops scores or solves, and keeps their totals and means in Summary.
func (r *Record) LeaveOut(scores, solves bool) {
	all := r.summary()
	r.Summary = &all
	if scores {
		r.Scores, r.Unseen, r.ChosenOnTest, r.Validation, r.FineTuned = nil, nil, nil, r.Validation.light(), r.FineTuned.light()
	}
	if solves {
		r.Results = nil
	}
	r.trimSummary()
}

// LeaveOutEvaluation drops all scores, as of a round that was not evaluated, and the clusters unless they are known without one.
func (r *Record) LeaveOutEvaluation(clusters bool) {
	r.Global, r.Scores, r.Personal, r.Unseen, r.ChosenOnTest, r.Validation, r.FineTuned = nil, nil, false, nil, nil, nil, nil
	r.Summary = &Summary{Training: r.Training()}
	r.trimSummary()
	if !clusters {
		r.Clusters, r.Clustering = nil, nil
	}
}

// trimSummary drops from the summary what the record itself has.
func (r *Record) trimSummary() {
	s := r.Summary
	if s == nil {
		return
	}
	if r.Results != nil {
		s.Training = nil
	}
	if r.Scores != nil {
		s.Mean, s.Spread = nil, nil
	}
	if r.Unseen != nil {
		s.Unseen = nil
	}
	if r.ChosenOnTest != nil {
		s.ChosenOnTest = nil
	}
	if reflect.ValueOf(*s).IsZero() {
		r.Summary = nil
	}
}

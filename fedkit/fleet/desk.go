package fleet

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// desk stores objects (programs, parts of the data, initial models) by their hash, each in a file, and gives them to workers. The hub
// has one; with your own NATS server, every notebook has one.
type desk struct {
	dir  string
	most int64 // bytes

	mu     sync.Mutex
	bytes  int64     // about: files that were replaced count until the next count
	tidied time.Time // when they were counted
}

// hubDesk is the name of the hub's desk. That of a notebook has its name.
const hubDesk = "hub"

// unused is the time after which an object that nobody has read is removed. Whoever needs it sends it again.
const unused = 5 * time.Minute

// putRequest brings a chunk of an object or, without an Upload, asks whether the object is there.
type putRequest struct {
	Hash       string
	Size, From int64  // of the object, and of the chunk in it
	Upload     uint64 `json:",omitempty"` // unique
	Last       bool   `json:",omitempty"` // all other chunks are there
}

// serve starts a desk, which runs until its connection is closed.
func serve(nc *nats.Conn, name, dir string, most int64) error {
	d := &desk{dir: dir, most: most}
	if err := d.makeRoom(); err != nil {
		return err
	}
	for range 2 * window { // each subscription handles one request at a time
		for subject, handle := range map[string]nats.MsgHandler{desks + name + ".*" + wantData: d.onRead, desks + name + put: d.onPut} {
			if _, err := nc.QueueSubscribe(subject, "desk", handle); err != nil {
				return err
			}
		}
	}
	return nil
}

// onRead serves a worker's request. Replies go to an inbox of that worker and nowhere else.
func (d *desk) onRead(m *nats.Msg) {
	worker := strings.Split(m.Subject, ".")[3]
	if strings.HasPrefix(m.Reply, workerInbox+worker+".") {
		respond(m, d.read)
	}
}

// read returns a chunk of an object.
func (d *desk) read(r readRequest) (data []byte, whole int64, err error) {
	path, err := d.path(r.Key)
	if err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, errLost
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	used(path)
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	n, err := r.within(info.Size())
	if err != nil {
		return nil, 0, err
	}
	data = make([]byte, n)
	_, err = io.ReadFull(io.NewSectionReader(f, r.From, n), data)
	return data, info.Size(), err
}

func (d *desk) path(hash string) (string, error) {
	if b, err := hex.DecodeString(hash); err != nil || len(b) != 32 {
		return "", fmt.Errorf("%.80q is no hash", hash)
	}
	return filepath.Join(d.dir, hash), nil
}

// used notes the use of an object, for the order in which they are removed.
func used(path string) { _ = os.Chtimes(path, time.Time{}, time.Now()) } // at worst it is removed too early

// onPut serves a notebook's request.
func (d *desk) onPut(m *nats.Msg) {
	var r putRequest
	err := json.Unmarshal([]byte(m.Header.Get(putField)), &r)
	if err == nil {
		err = d.put(r, m.Data)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	replyWith(m, nil, d.bytes, err)
}

func (d *desk) put(r putRequest, chunk []byte) error {
	path, err := d.path(r.Hash)
	if err != nil {
		return err
	}
	if r.Upload == 0 {
		if info, err := os.Stat(path); err != nil || info.Size() != r.Size {
			return errLost
		}
		used(path)
		return nil
	}
	if r.From < 0 || r.From+int64(len(chunk)) > r.Size {
		return fmt.Errorf("%d bytes from %d on of an object of %d", len(chunk), r.From, r.Size)
	}
	if err := d.reserve(r.Size, int64(len(chunk))); err != nil {
		return err
	}
	part := fmt.Sprintf("%s.%d", path, r.Upload)
	f, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(chunk, r.From)
	if err = errors.Join(err, f.Close()); err == nil && r.Last {
		err = os.Rename(part, path)
	}
	return err
}

// reserve makes room for a chunk of an object of some size.
func (d *desk) reserve(size, chunk int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if size > d.most {
		return fmt.Errorf("insufficient room: it stores at most %s", bytesText(d.most))
	}
	d.bytes += chunk
	if d.bytes <= d.most && time.Since(d.tidied) < unused {
		return nil
	}
	return d.makeRoom()
}

// makeRoom removes objects that nobody has used for a while, and the least recently used ones if there are too many bytes. The caller
// holds d.mu.
func (d *desk) makeRoom() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	var all []fs.FileInfo
	d.bytes, d.tidied = 0, time.Now()
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // it may have been renamed
			all = append(all, info)
			d.bytes += info.Size()
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, info := range all {
		if d.bytes > d.most || time.Since(info.ModTime()) > unused {
			_ = os.Remove(filepath.Join(d.dir, info.Name())) // or next time
			d.bytes -= info.Size()
		}
	}
	return nil
}

// Headers of replies.
const (
	replyLost  = "Fedkit-Lost"  // it is not there
	replyError = "Fedkit-Error" // what went wrong
	sizeField  = "Fedkit-Size"  // bytes of the whole object or result; of all objects, in the reply to a putRequest
	putField   = "Fedkit-Put"   // a putRequest, whose chunk is the message
)

// readRequest asks for some bytes of an object or a result.
type readRequest struct {
	Key        string
	From, Size int64
}

func (r readRequest) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // it always marshals
	}
	return b
}

// within returns how many of so many bytes to return: at most a chunk.
func (r readRequest) within(whole int64) (int64, error) {
	if r.From < 0 || r.Size < 0 || r.From > whole {
		return 0, fmt.Errorf("%d bytes from %d on, of %d", r.Size, r.From, whole)
	}
	return min(r.Size, chunk, whole-r.From), nil
}

// respond replies to a readRequest.
func respond(m *nats.Msg, to func(r readRequest) (data []byte, whole int64, err error)) {
	var r readRequest
	if err := json.Unmarshal(m.Data, &r); err != nil {
		replyWith(m, nil, 0, err)
		return
	}
	data, whole, err := to(r)
	replyWith(m, data, whole, err)
}

func replyWith(m *nats.Msg, data []byte, whole int64, err error) {
	answer := nats.NewMsg(m.Reply)
	answer.Header.Set(sizeField, strconv.FormatInt(whole, 10))
	switch {
	case errors.Is(err, errLost):
		answer.Header.Set(replyLost, "yes")
	case err != nil:
		answer.Header.Set(replyError, err.Error())
	default:
		answer.Data = data
	}
	_ = m.RespondMsg(answer) // if this is lost, it is requested again
}

// said returns the error that a reply carries, or that there was in place of it.
func said(m *nats.Msg, err error) error {
	switch {
	case err != nil:
		return err
	case m.Header.Get(replyLost) != "":
		return errLost
	case m.Header.Get(replyError) != "":
		return refused(fmt.Sprintf("%.4000s", m.Header.Get(replyError)))
	}
	return nil
}

// refused is an error that another process has sent.
type refused string

func (r refused) Error() string { return string(r) }

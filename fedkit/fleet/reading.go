package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// readRequest asks for some bytes of a result.
type readRequest struct {
	Key        string
	From, Size int
}

// Headers of replies.
const (
	replyLost  = "Fedkit-Lost"  // the result is not kept
	replyError = "Fedkit-Error" // what went wrong
)

func (w *worker) reply(m *nats.Msg, to func(request []byte) (data []byte, ok bool, err error)) {
	data, ok, err := to(m.Data)
	reply := nats.NewMsg(m.Reply)
	switch {
	case err != nil:
		reply.Header.Set(replyError, err.Error())
	case !ok:
		reply.Header.Set(replyLost, "yes")
	default:
		reply.Data = data
	}
	_ = m.RespondMsg(reply) // if this is lost, it is requested again
}

// readPart returns some bytes of a result. The result stays on the host, until another is read, or for a while.
func (w *worker) readPart(request []byte) (data []byte, ok bool, err error) {
	var r readRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, false, err
	}
	w.reading.Lock()
	defer w.reading.Unlock()
	if w.read != r.Key {
		if w.data, ok, err = w.machine.Read(r.Key); !ok || err != nil {
			w.read = ""
			return nil, ok, err
		}
		w.read = r.Key
	}
	w.readAt = time.Now()
	if r.From < 0 || r.Size < 0 || r.From > len(w.data) || r.Size > len(w.data)-r.From {
		return nil, false, fmt.Errorf("bytes %d to %d of a result of %d", r.From, r.From+r.Size, len(w.data))
	}
	return w.data[r.From : r.From+r.Size], true, nil
}

// hash returns the hashes of results, a line each.
func (w *worker) hash(request []byte) (data []byte, ok bool, err error) {
	for key := range strings.FieldsSeq(string(request)) {
		b, ok, err := w.machine.Read(key)
		if !ok || err != nil {
			return nil, ok, err
		}
		sum := sha256.Sum256(b)
		data = append(append(data, hex.EncodeToString(sum[:])...), '\n')
	}
	return data, true, nil
}

// forgetRun forgets the results of a run.
func (w *worker) forgetRun(prefix string) {
	of := func(key string) bool { return strings.HasPrefix(key, prefix) }
	w.unwanted(of)
	w.closeRead(of)
	w.machine.ForgetAll(of)
}

func (w *worker) forget(keys []string) {
	w.unwanted(func(call string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, call+"/") })
	})
	w.closeRead(func(key string) bool { return slices.Contains(keys, key) })
	w.machine.Forget(keys)
}

// closeRead drops the result that is being read, if it is meant.
func (w *worker) closeRead(meant func(key string) bool) {
	w.reading.Lock()
	defer w.reading.Unlock()
	if meant(w.read) {
		w.read, w.data = "", nil
	}
}

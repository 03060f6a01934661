package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// desk serves objects by their hash, so that workers need no access to JetStream. The hub has one; with your own NATS server,
// every notebook has one.
type desk struct {
	nc *nats.Conn
	js jetstream.JetStream

	mu     sync.Mutex
	chunks jetstream.Stream // of objects
	infos  jetstream.ObjectStore
	waits  map[string]int // by worker, requests in flight
}

const (
	mostWaits = 1024          // limit on a worker's requests in flight
	atOnce    = 8             // chunks per request
	sizeField = "Fedkit-Size" // bytes of the object
	nextField = "Fedkit-Next" // where to resume, sent with the last chunk of a reply
)

// dataRequest asks for some chunks of an object.
type dataRequest struct {
	Hash string
	Have uint64 // bytes
	From string // nextField of the previous reply
}

// serve starts a desk, which runs until its connection is closed.
func serve(nc *nats.Conn) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	d := &desk{nc: nc, js: js, waits: map[string]int{}}
	_, err = nc.QueueSubscribe(desks+"*"+wantData, "desk", d.onRequest) // any desk answers
	return err
}

// onRequest serves a worker's request. Replies go to an inbox of that worker and nowhere else.
func (d *desk) onRequest(m *nats.Msg) {
	worker := strings.TrimSuffix(strings.TrimPrefix(m.Subject, desks), wantData)
	if !strings.HasPrefix(m.Reply, workerInbox+worker+".") {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waits[worker] == mostWaits {
		return
	}
	d.waits[worker]++
	go func() {
		if err := d.giveData(m.Data, m.Reply); err != nil { // if this is lost, the worker asks again
			reply := nats.NewMsg(m.Reply)
			reply.Header.Set(replyError, err.Error())
			_ = d.nc.PublishMsg(reply)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.waits[worker]--; d.waits[worker] == 0 {
			delete(d.waits, worker)
		}
	}()
}

// giveData sends some chunks of an object.
func (d *desk) giveData(request []byte, to string) error {
	ctx, cancel := context.WithTimeout(context.Background(), chunkTimeout)
	defer cancel()
	var r dataRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return err
	}
	infos, chunks, err := d.objects(ctx)
	if err != nil {
		return err
	}
	info, err := infos.GetInfo(ctx, r.Hash)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		reply := nats.NewMsg(to)
		reply.Header.Set(replyLost, "yes")
		return d.nc.PublishMsg(reply)
	}
	if err != nil {
		return err
	}
	from, _ := strconv.ParseUint(r.From, 10, 64) // 0 at the beginning
	subject := fmt.Sprintf("$O.%s.C.%s", bucket, info.NUID)
	for i := 1; ; i++ {
		reply := nats.NewMsg(to)
		reply.Header.Set(sizeField, strconv.FormatUint(info.Size, 10))
		if r.Have < info.Size {
			m, err := chunks.GetMsg(ctx, max(1, from), jetstream.WithGetMsgSubject(subject))
			if err != nil {
				return err
			}
			reply.Data = m.Data
			r.Have, from = r.Have+uint64(len(m.Data)), m.Sequence+1
		}
		last := i == atOnce || r.Have >= info.Size
		if last {
			reply.Header.Set(nextField, strconv.FormatUint(from, 10))
		}
		if err := d.nc.PublishMsg(reply); err != nil || last {
			return err
		}
	}
}

// objects returns the object store, once a notebook has made it.
func (d *desk) objects(ctx context.Context) (infos jetstream.ObjectStore, chunks jetstream.Stream, err error) {
	d.mu.Lock()
	infos, chunks = d.infos, d.chunks
	d.mu.Unlock()
	if chunks != nil {
		return infos, chunks, nil
	}
	if infos, err = d.js.ObjectStore(ctx, bucket); err != nil {
		return nil, nil, err
	}
	if chunks, err = d.js.Stream(ctx, "OBJ_"+bucket); err != nil {
		return nil, nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.infos, d.chunks = infos, chunks
	return infos, chunks, nil
}

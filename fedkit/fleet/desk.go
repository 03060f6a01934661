package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// desk gives workers what they may have: calls of a queue, each under a lease, and objects whose hash they know. So they need no
// JetStream. The hub has one; at a NATS server of your own, every notebook has.
type desk struct {
	nc *nats.Conn
	js jetstream.JetStream

	mu     sync.Mutex
	queues map[string]jetstream.Consumer
	chunks jetstream.Stream // of objects
	infos  jetstream.ObjectStore
	leases map[string]*leased
	guests map[string]*guest // by worker, those that wait for something
}

// leased is a call that a worker has.
type leased struct {
	jetstream.Msg
	worker string
	end    *time.Timer
}

// guest is a worker that waits for something.
type guest struct {
	ctx   context.Context // until it is gone
	leave context.CancelFunc
	gone  *time.Timer // unless a beat comes
	waits int
}

const (
	turn       = 5 * time.Second // how long a worker waits for a call before it asks again
	mostWaits  = 1024            // of a worker, at once
	atOnce     = 8               // chunks of an object, after which a worker asks for more
	leaseField = "Fedkit-Lease"
	sizeField  = "Fedkit-Size" // bytes of the object
	nextField  = "Fedkit-Next" // where to go on, with the last of the chunks
)

// dataRequest asks for some chunks of an object.
type dataRequest struct {
	Hash string
	Have uint64 // bytes
	From string // nextField of the chunks before
}

// serve lets a desk serve workers, for as long as its connection is open.
func serve(nc *nats.Conn) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	d := &desk{nc: nc, js: js, queues: map[string]jetstream.Consumer{}, leases: map[string]*leased{}, guests: map[string]*guest{}}
	for _, what := range []string{wantCall, wantData} { // from any desk
		if _, err := nc.QueueSubscribe(desks+"*"+what, "desk", d.asked); err != nil {
			return err
		}
	}
	if _, err := nc.Subscribe(beats+"*", d.heard); err != nil {
		return err
	}
	for _, what := range []string{renew, done, back} { // the desk that gave the call knows its lease
		if _, err := nc.Subscribe(desks+"*"+what, d.told); err != nil {
			return err
		}
	}
	return nil
}

// split returns the worker that a message is from, and what it is about.
func split(m *nats.Msg) (worker, what string) {
	worker, what, _ = strings.Cut(strings.TrimPrefix(m.Subject, desks), ".")
	return worker, "." + what
}

// asked gives a worker what it asks for. A reply goes to an inbox of that worker and nowhere else.
func (d *desk) asked(m *nats.Msg) {
	worker, what := split(m)
	if !strings.HasPrefix(m.Reply, workerInbox+worker+".") {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.guests[worker]
	if g == nil || g.ctx.Err() != nil {
		g = new(guest)
		g.ctx, g.leave = context.WithCancel(context.Background())
		g.gone = time.AfterFunc(2*beat, g.leave)
		d.guests[worker] = g
	}
	if g.waits == mostWaits {
		return
	}
	g.waits++
	go func() {
		var err error
		if what == wantCall {
			err = d.giveCall(g.ctx, worker, string(m.Data), m.Reply)
		} else {
			err = d.giveData(g.ctx, m.Data, m.Reply)
		}
		if err != nil { // it asks again if nobody hears
			reply := nats.NewMsg(m.Reply)
			reply.Header.Set(replyError, err.Error())
			_ = d.nc.PublishMsg(reply)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if g.waits--; g.waits > 0 {
			return
		}
		g.gone.Stop()
		g.leave()
		if d.guests[worker] == g {
			delete(d.guests, worker)
		}
	}()
}

// heard notes that a worker is there. What one waits for that is not would be lost with it.
func (d *desk) heard(m *nats.Msg) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g := d.guests[strings.TrimPrefix(m.Subject, beats)]; g != nil {
		g.gone.Reset(2 * beat)
	}
}

// giveCall gives a worker the next call of a queue, if there is one in its turn.
func (d *desk) giveCall(ctx context.Context, worker, queue, to string) error {
	ctx, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	d.mu.Lock()
	calls := d.queues[queue]
	d.mu.Unlock()
	if calls == nil {
		var err error
		if calls, err = d.js.Consumer(ctx, stream, queue); err != nil {
			return err
		}
		d.mu.Lock()
		d.queues[queue] = calls
		d.mu.Unlock()
	}
	batch, err := calls.Fetch(1, jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(time.Second))
	if err != nil {
		return err
	}
	for m := range batch.Messages() {
		return d.lend(worker, m, to)
	}
	if err = batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		d.mu.Lock()
		delete(d.queues, queue) // it may have to be made again
		d.mu.Unlock()
		return err
	}
	return d.nc.Publish(to, nil)
}

// lend gives a worker a call. One that is gone does not get it, and somebody else does at once.
func (d *desk) lend(worker string, m jetstream.Msg, to string) error {
	id := nuid.Next()
	d.mu.Lock()
	d.leases[id] = &leased{m, worker, time.AfterFunc(2*lease, func() { d.release(id) })}
	d.mu.Unlock()
	call := nats.NewMsg(to)
	call.Data = m.Data()
	call.Header.Set(leaseField, id)
	_, err := d.nc.RequestMsg(call, late)
	if !errors.Is(err, nats.ErrNoResponders) {
		return nil // or it is late: if it does not have it, the notebook publishes it again
	}
	d.release(id)
	return errors.Join(err, m.Nak())
}

func (d *desk) release(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.leases[id]; l != nil {
		l.end.Stop()
		delete(d.leases, id)
	}
}

// told hears of a lease, from the worker that has it.
func (d *desk) told(m *nats.Msg) {
	worker, what := split(m)
	id := string(m.Data)
	d.mu.Lock()
	l := d.leases[id]
	d.mu.Unlock()
	if l == nil || l.worker != worker {
		return
	}
	switch what { // a lease that runs out costs the call once more, and nothing else
	case renew:
		l.end.Reset(2 * lease)
		_ = l.InProgress()
		return
	case done:
		_ = l.Ack()
	case back:
		_ = l.Nak()
	}
	d.release(id)
}

// giveData gives some chunks of an object.
func (d *desk) giveData(ctx context.Context, request []byte, to string) error {
	ctx, cancel := context.WithTimeout(ctx, slowest)
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

// objects returns where objects are, once a notebook has made it.
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

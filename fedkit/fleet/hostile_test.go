package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/remote"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// hostile is a client with the file for workers, beside a victim that runs a call.
type hostile struct {
	*testing.T
	hub     *Hub
	fleet   *Fleet
	ticket  *ticket
	nc      *nats.Conn
	name    string
	refused chan error

	victim string
	call   string         // ID of the victim's
	reply  string         // the inbox for its answer
	calls  chan *nats.Msg // of the notebook to workers, except that one
	result chan []engine.Value
}

// newHostile lets the victim take its call, which it runs once it is released.
func newHostile(t *testing.T, release <-chan struct{}) *hostile {
	x := &hostile{T: t, hub: startHub(t, HubOptions{Listen: "127.0.0.1:0"}), refused: make(chan error, 100), calls: make(chan *nats.Msg, 100), result: make(chan []engine.Value, 1)}
	x.fleet = join(t, x.hub.File())
	var err error
	if x.ticket, err = readTicket(x.hub.WorkerFile()); err != nil {
		t.Fatal(err)
	}
	if x.nc, x.name, err = x.ticket.connectWorker(nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { x.refused <- err })); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.nc.Close)
	if _, err := x.fleet.nc.ChanSubscribe(asks+"*"+askRun, x.calls); err != nil {
		t.Fatal(err)
	}
	taken := make(chan string, 1)
	victim, _ := startWorker(t, x.hub.WorkerFile(), WorkerOptions{Slots: 1}, before(func(_ context.Context, c *remote.Call) {
		taken <- c.ID
		<-release
	}))
	x.victim = victim.beat.Worker
	d := device1(t, x.fleet)
	go func() {
		out, err := d.Run(t.Context(), double, []any{float32(21)})
		if err != nil {
			t.Error(err)
		}
		x.result <- out
	}()
	x.call = <-taken
	x.reply = (<-x.calls).Reply
	return x
}

// denied fails unless the hub refuses to publish each message.
func (x *hostile) denied(subjects ...string) {
	for _, subject := range subjects {
		x.send(nats.NewMsg(subject))
		x.isRefused("Publish", subject)
	}
}

// unheard fails unless the hub refuses each subscription.
func (x *hostile) unheard(subjects ...string) {
	for _, subject := range subjects {
		if _, err := x.nc.SubscribeSync(subject); err != nil {
			x.Fatal(err)
		}
		x.isRefused("Subscription", subject)
	}
}

func (x *hostile) isRefused(what, subject string) {
	x.Helper()
	select {
	case err := <-x.refused:
		says(x.T, err, what, subject)
	case <-time.After(5 * time.Second):
		x.Error("a worker may:", what, subject)
	}
}

func (x *hostile) send(m *nats.Msg) {
	if err := x.nc.PublishMsg(m); err != nil {
		x.Fatal(err)
	}
}

// ask sends a request to the desk, and returns its reply.
func (x *hostile) ask(hash string) *nats.Msg {
	m, err := x.nc.Request(desks+hubDesk+"."+x.name+wantData, readRequest{hash, 0, chunk}.encode(), 5*time.Second)
	if err != nil {
		x.Fatal(hash, err)
	}
	return m
}

// settle waits until the notebook has handled all earlier messages.
func (x *hostile) settle() {
	b := WorkerInfo{Worker: x.name, Slots: 1, Protocol: remote.Protocol + 1, Bytes: time.Now().UnixNano()}
	text, err := json.Marshal(b)
	if err != nil {
		x.Fatal(err)
	}
	x.send(&nats.Msg{Subject: beats + x.name, Data: text})
	wait(x.T, "the beat of "+x.name, func() bool { return x.lastBeat(x.name).Bytes == b.Bytes })
}

// lastBeat is the notebook's latest heartbeat of a worker.
func (x *hostile) lastBeat(name string) (b WorkerInfo) {
	x.fleet.mu.Lock()
	defer x.fleet.mu.Unlock()
	if w := x.fleet.workers[name]; w != nil {
		b = w.WorkerInfo
	}
	return b
}

// undisturbed fails if the call was answered, or is no longer with the victim alone.
func (x *hostile) undisturbed() {
	x.settle()
	time.Sleep(2 * beat)
	if len(x.result) > 0 || len(x.calls) > 0 || !slices.Equal(x.lastBeat(x.victim).Doing, []string{x.call}) {
		x.Error("the call was disturbed:", len(x.result), len(x.calls), x.lastBeat(x.victim))
	}
}

// enter tries to connect, and fails unless the hub refuses.
func (x *hostile) enter(public string, key nkeys.KeyPair, token string) {
	x.Helper()
	nc, err := x.ticket.connect(workerInbox+"x", nats.Nkey(public, key.Sign), nats.Token(token))
	if err == nil {
		nc.Close()
	}
	says(x.T, err, "refuses its key")
}

// impossible maps what a worker cannot do, in the guide's words, to attempts at it.
var impossible = map[string]func(x *hostile){
	"speak under the name of another worker": func(x *hostile) {
		x.denied(beats+x.victim, desks+hubDesk+"."+x.victim+wantData)
		beat, err := json.Marshal(WorkerInfo{Worker: x.victim, Host: "stolen", Slots: 1, Leaving: true})
		if err != nil {
			x.Fatal(err)
		}
		x.send(&nats.Msg{Subject: beats + x.name, Data: beat})
		x.undisturbed()
		if x.lastBeat(x.victim).Host == "stolen" {
			x.Error("the victim's beat is another's")
		}
	},
	"have a name that is taken": func(x *hostile) {
		key, public := newKey(x.T)
		_, other := newKey(x.T)
		join, err := nkeys.FromSeed([]byte(x.ticket.Worker))
		if err != nil {
			x.Fatal(err)
		}
		token, err := vouch(join, other)
		if err != nil {
			x.Fatal(err)
		}
		x.enter(other, key, token) // another's key, without its seed
		x.enter(public, key, token)
		if nameOf(public) == nameOf(other) {
			x.Error("two keys of one name")
		}
	},
	"answer a call that it was not given": func(x *hostile) {
		id := strings.Split(x.call, ".") // its notebook, run and number can be guessed
		if len(id) != 4 || len(id[3]) < 12 {
			x.Error("an ID that can be guessed:", x.call)
		}
		x.send(&nats.Msg{Subject: x.reply, Data: (&remote.Answer{ID: x.call, Machine: x.name, Error: "stolen"}).Encode()}) // it cannot know this subject
		x.isRefused("Publish", x.reply)
		x.undisturbed()
	},
	"hear what is said to others": func(x *hostile) {
		x.unheard(asks+x.victim+askRun, asks+x.victim+".*", asks+"*"+askRun, asks+">", beats+"*", desks+">", workerInbox+x.victim+".>", workerInbox+">", notebookInbox+".>",
			"$O.>", "$JS.>", "$JS.ACK.>", "$SYS.>", "fedkit.>", ">", "*.>", "_INBOX.>")
	},
	"read an object whose hash it does not know, or change one": func(x *hostile) {
		if err := x.fleet.store.put(x.Context(), []object{objectOf(hashOf([]byte("secret")), []byte("secret"))}); err != nil {
			x.Fatal(err)
		}
		if m := x.ask(hashOf([]byte("secret"))); string(m.Data) != "secret" {
			x.Error("not even with its hash:", m.Header)
		}
		for _, hash := range []string{hashOf([]byte("other")), "", "*", ">", hashOf([]byte("secret"))[:63] + "*"} {
			if m := x.ask(hash); len(m.Data) > 0 || m.Header.Get(replyLost)+m.Header.Get(replyError) == "" {
				x.Errorf("%q: %q", hash, m.Data)
			}
		}
		x.denied(desks+hubDesk+put, "$O.fedkit.C.x", "$O.fedkit.M.x")
	},
	"reach JetStream, with its streams, consumers and objects": func(x *hostile) {
		const of = "OBJ_fedkit"
		x.denied("$JS.API.INFO", "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.CREATE.mine", "$JS.ACK."+of+".x.1.1.1.1.0", "$JS.FC."+of+".x")
		x.denied("$JS.API.STREAM.INFO."+of, "$JS.API.STREAM.UPDATE."+of, "$JS.API.STREAM.DELETE."+of, "$JS.API.STREAM.PURGE."+of, "$JS.API.STREAM.MSG.GET."+of, "$JS.API.STREAM.MSG.DELETE."+of,
			"$JS.API.DIRECT.GET."+of, "$JS.API.DIRECT.GET."+of+".x", "$JS.API.CONSUMER.LIST."+of, "$JS.API.CONSUMER.CREATE."+of, "$JS.API.CONSUMER.CREATE."+of+".x", "$JS.API.CONSUMER.DURABLE.CREATE."+of+".x",
			"$JS.API.CONSUMER.INFO."+of+".x", "$JS.API.CONSUMER.DELETE."+of+".x", "$JS.API.CONSUMER.MSG.NEXT."+of+".x")
	},
	"make the hub or a notebook say something for it": func(x *hostile) {
		elsewhere := []string{asks + x.victim + leave, workerInbox + x.victim + ".x", workerInbox + "x", "$JS.API.STREAM.DELETE.OBJ_fedkit", desks + hubDesk + put, goodbyes + x.fleet.name, notebookInbox + ".x"}
		heard := make(chan *nats.Msg, 100)
		for _, subject := range elsewhere {
			if _, err := x.fleet.nc.ChanSubscribe(subject, heard); err != nil {
				x.Fatal(err)
			}
		}
		if err := x.fleet.nc.Flush(); err != nil {
			x.Fatal(err)
		}
		for _, to := range elsewhere {
			x.send(&nats.Msg{Subject: desks + hubDesk + "." + x.name + wantData, Reply: to, Data: []byte("{}")}) // the desk would reply with an error, were the inbox the sender's
			x.send(&nats.Msg{Subject: beats + x.name, Reply: to, Data: []byte("{}")})
			trace := nats.NewMsg(beats + x.name)
			trace.Header.Set("Nats-Trace-Dest", to)
			x.send(trace)
			x.isRefused("Publish", to)
		}
		x.ask(hashOf(nil))
		x.settle()
		if len(heard) > 0 {
			m := <-heard
			x.Errorf("%s: %q", m.Subject, m.Data)
		}
	},
	"send another away, or take its calls from it": func(x *hostile) {
		x.denied(asks+x.victim+leave, asks+x.victim+forget, asks+x.victim+askRun, asks+x.victim+askRead, asks+x.victim+askHash)
		b := WorkerInfo{Worker: x.name, Slots: 1, Protocol: remote.Protocol + 1, Doing: []string{x.call}, Waiting: []string{x.call}} // with an ID that it cannot know
		text, err := json.Marshal(b)
		if err != nil {
			x.Fatal(err)
		}
		x.send(&nats.Msg{Subject: beats + x.name, Data: text})
		x.undisturbed()
	},
	"be a notebook, which asks for calls and programs": func(x *hostile) {
		x.denied(asks+x.name+askRun, "fedkit.x", hellos+"x", goodbyes+x.fleet.name, notebookInbox+".x")
		_, err := Join(x.hub.WorkerFile())
		says(x.T, err, "none for notebooks")
		join, err := nkeys.FromSeed([]byte(x.ticket.Worker))
		if err != nil {
			x.Fatal(err)
		}
		public, err := join.PublicKey()
		if err != nil {
			x.Fatal(err)
		}
		x.enter(public, join, "") // the key that signs others
		key, own := newKey(x.T)
		x.enter(own, key, "") // an unsigned key
		token, err := vouch(key, own)
		if err != nil {
			x.Fatal(err)
		}
		x.enter(own, key, token)
	},
}

func newKey(t *testing.T) (key nkeys.KeyPair, public string) {
	t.Helper()
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	if public, err = key.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return key, public
}

// A client with the file for workers can do nothing that the guide rules out, and another's run is undisturbed.
func TestHostile(t *testing.T) {
	release := make(chan struct{})
	x := newHostile(t, release)
	for what, try := range impossible {
		t.Run(what, func(t *testing.T) {
			try(&hostile{t, x.hub, x.fleet, x.ticket, x.nc, x.name, x.refused, x.victim, x.call, x.reply, x.calls, x.result})
		})
	}
	close(release)
	out := <-x.result
	if out == nil {
		t.Fatal("no result")
	}
	if y, err := out[0].Tensor(); err != nil || y.Value() != float32(42) {
		t.Error(y, err)
	}
	if len(x.refused) > 0 {
		t.Error(<-x.refused)
	}
}

// The guide lists exactly what is tried here.
func TestHostileIsListed(t *testing.T) {
	text, err := os.ReadFile("../../notebooks/guide/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(text), "It cannot\n\n")
	if !ok {
		t.Fatal("the guide has no list of what a worker cannot do")
	}
	list, _, _ = strings.Cut(list, "\n\n")
	var lines []string
	for line := range strings.Lines(list) {
		line = strings.TrimRight(strings.TrimPrefix(line, "- "), ",;.\n")
		if lines = append(lines, line); impossible[line] == nil {
			t.Errorf("not tried: %q", line)
		}
	}
	for what := range impossible {
		if !slices.Contains(lines, what) {
			t.Errorf("not in the guide: %q", what)
		}
	}
}

// A worker sees what it runs: a call with the hash of its program, the program, and notebooks' heartbeats.
func TestWorkersSee(t *testing.T) {
	t.Parallel()
	h, f := hubAndFleet(t)
	k, err := readTicket(h.File())
	if err != nil {
		t.Fatal(err)
	}
	nc, name, err := k.connectWorker()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	x := &hostile{T: t, nc: nc, name: name}
	hello, err := nc.SubscribeSync(hellos + "*")
	if err != nil {
		t.Fatal(err)
	}
	calls, err := nc.SubscribeSync(asks + name + askRun)
	if err != nil {
		t.Fatal(err)
	}
	pretend(t, nc, name)
	workers(t, f, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := running(ctx, device1(t, f))
	m, err := calls.NextMsg(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	c, err := remote.DecodeCall(m.Data)
	if err != nil || c.Name != "double" {
		t.Fatal(c, err)
	}
	if m := x.ask(c.Program); !strings.Contains(string(m.Data), "stablehlo.add") {
		t.Errorf("%q", m.Data)
	}
	if m, err := hello.NextMsg(5 * time.Second); err != nil || m.Subject != hellos+f.name {
		t.Error(m, err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/remote"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// changed rewrites a fleet's file after a change.
func changed(t *testing.T, file string, change func(k *ticket)) string {
	t.Helper()
	k, err := readTicket(file)
	if err != nil {
		t.Fatal(err)
	}
	change(k)
	other := filepath.Join(t.TempDir(), "fleet.json")
	if err := k.write(other); err != nil {
		t.Fatal(err)
	}
	return other
}

// says fails unless an error contains all words.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want %q in it", err, word)
		}
	}
}

// A wrong file is refused, for a notebook and for a worker, with the reason.
func TestWrongFiles(t *testing.T) {
	t.Parallel()
	plain := startHub(t, HubOptions{})
	secret := startHub(t, HubOptions{Listen: "127.0.0.1:0"})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "nats://" + closed.Addr().String()
	closed.Close()
	k, err := readTicket(secret.File())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, file string
		words      []string
	}{
		{"keys of another hub", changed(t, plain.File(), func(p *ticket) { p.Notebook, p.Worker = k.Notebook, k.Worker }), []string{"refuses", "key", "another hub"}},
		{"keys the other way around", changed(t, plain.File(), func(p *ticket) { p.Notebook, p.Worker = "", "" }), []string{"refuses", "key", "another hub"}},
		{"plain where TLS is due", changed(t, secret.File(), func(p *ticket) { p.URL, p.CA = strings.Replace(p.URL, "tls", "nats", 1), "" }), []string{"hub", "127.0.0.1"}},
		{"TLS where there is none", changed(t, plain.File(), func(p *ticket) { p.CA = k.CA }), []string{"hub", "secure"}},
		{"another certificate", changed(t, secret.File(), func(p *ticket) { p.CA = otherCertificate(t) }), []string{"hub", "certificate"}},
		{"no certificate", changed(t, secret.File(), func(p *ticket) { p.CA = "-" }), []string{"ca is no certificate"}},
		{"a key that is none", changed(t, plain.File(), func(p *ticket) { p.Notebook, p.Worker = "S", "S" }), []string{"key"}},
		{"nobody there", changed(t, plain.File(), func(p *ticket) { p.URL = nobody }), []string{"no hub answers", nobody, "./scripts/hub"}},
		{"another version", changed(t, plain.File(), func(p *ticket) { p.Version++ }), []string{"version 2"}},
		{"no address", changed(t, plain.File(), func(p *ticket) { p.URL = "" }), []string{"no url"}},
		{"no file", filepath.Join(t.TempDir(), "none.json"), []string{"none.json", "./scripts/hub"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			begin := time.Now()
			f, err := Join(c.file)
			says(t, err, c.words...)
			if err == nil {
				f.Close()
			}
			says(t, RunWorker(t.Context(), c.file, WorkerOptions{}), c.words...)
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	join(t, secret.File()) // the right file does
}

func otherCertificate(t *testing.T) string {
	t.Helper()
	k := &secrets{Names: []string{"127.0.0.1"}}
	if err := k.certify(); err != nil {
		t.Fatal(err)
	}
	return k.Certificate
}

// A worker of another version gets no calls, and the error says why.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	h, f := hubAndFleet(t)
	f.Timeout = time.Second
	startWorker(t, h.File(), WorkerOptions{}, func(w *worker) { w.beat.Protocol++ })
	wait(t, "the worker", func() bool { return len(f.Workers()) == 1 })
	_, err := few(t, f)
	says(t, err, "no worker", fmt.Sprintf("speaks version %d", remote.Protocol+1), "./scripts/worker")
}

// Malformed heartbeats are ignored.
func TestWrongBeats(t *testing.T) {
	_, f := hubAndFleet(t)
	for _, b := range []string{"", "{", "[]", `{"Worker":"other","Slots":1}`, `{"Worker":"x"}`, `{"Worker":"x","Slots":-1}`, `{"Worker":"x","Slots":1000000}`,
		`{"Worker":"x","Slots":1,"Programs":["` + strings.Repeat("x", 5000) + `"]}`} {
		f.onBeat(&nats.Msg{Subject: beats + "x", Data: []byte(b)})
	}
	if n := len(f.Workers()); n != 0 {
		t.Errorf("%d workers", n)
	}
	f.onBeat(&nats.Msg{Subject: beats + "x", Data: []byte(`{"Worker":"x","Slots":1,"Host":"\u001b[2J","Programs":["a\nb"]}`)})
	if all := f.Workers(); len(all) != 1 || all[0].Host != "·[2J" || all[0].Programs[0] != "a·b" {
		t.Error("a beat was not heard, or not made harmless:", all)
	}
}

// Workers of two kinds are refused, unless Mixed is set. If those of one kind leave, the others take over.
func TestTwoKinds(t *testing.T) {
	t.Parallel()
	h, f := hubAndFleet(t)
	startWorker(t, h.File(), WorkerOptions{}, nil)
	_, kill := startWorker(t, h.File(), WorkerOptions{}, func(w *worker) { w.beat.Kind.Flags = "--other" })
	workers(t, f, 2)
	_, err := few(t, f)
	says(t, err, "2 kinds", "--other", "Fleet.Mixed")
	f.Mixed = true
	same(t, f)
	d := device1(t, f)
	kill()
	for range 6 { // some of them for the kind that left
		if _, err := d.Run(t.Context(), double, []any{float32(1)}); err != nil {
			t.Fatal(err)
		}
	}
}

// double is a program for any argument.
var double = xla.NewProgram("double", func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.Add(a[0], a[0])} })

// device1 opens a fleet for a run.
func device1(t *testing.T, f *Fleet) engine.Device {
	t.Helper()
	d, leave, err := f.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(leave)
	return d
}

// large returns a vector on the device, of n numbers, all v.
func large(t *testing.T, v float32, n int) *tensors.Tensor {
	t.Helper()
	x, err := xla.Upload(slices.Repeat([]float32{v}, n), n)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// doubled runs double, and returns the first number that comes out.
func doubled(t *testing.T, d engine.Device, x any) (float32, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := d.Run(ctx, double, []any{x})
	if err != nil {
		return 0, err
	}
	y, err := out[0].Tensor()
	if err != nil {
		return 0, err
	}
	values, err := xla.Host(y)
	if err != nil {
		return 0, err
	}
	return values[0], nil
}

// What is too large for a worker, or for the hub, is refused by name, and smaller calls still run.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		hub    HubOptions
		worker WorkerOptions
		words  []string
	}{
		{"a worker's memory", HubOptions{}, WorkerOptions{Memory: 1 << 20}, []string{"1048576 bytes", "--memory"}},
		{"the hub's disk", HubOptions{Disk: 2 << 20}, WorkerOptions{}, []string{"the hub does not take an object of 4.0 MB", "insufficient"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			h := startHub(t, c.hub)
			startWorker(t, h.File(), c.worker, nil)
			d := device1(t, join(t, h.File()))
			_, err := doubled(t, d, large(t, 1, 1e6))
			says(t, err, c.words...)
			if got, err := doubled(t, d, large(t, 2, 100)); err != nil || got != 4 {
				t.Errorf("a small call: %v, %v", got, err)
			}
		})
	}
}

// More calls than the hub has memory for wait in this process, and all are done: it need not close a worker's connection.
func TestLittleMemoryForCalls(t *testing.T) {
	usualLimits(t)
	h := startHub(t, HubOptions{Memory: 16 << 20})
	startWorker(t, h.File(), WorkerOptions{Slots: 7}, nil)
	d := device1(t, join(t, h.File()))
	ended := make(chan error, 24)
	for call := range cap(ended) {
		go func() {
			many := make([]float32, 9e5) // 3.6 MB that have no hash yet, so they travel with the call
			for i := range many {
				many[i] = float32(call + i)
			}
			got, err := doubled(t, d, many)
			if err == nil && got != float32(2*call) {
				err = fmt.Errorf("%v, want %d", got, 2*call)
			}
			ended <- err
		}()
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if n := h.server.NumSlowConsumers(); n > 0 {
		t.Errorf("%d times the hub's memory was full, and calls were lost", n)
	}
}

// An object that was damaged in the store, or is missing from it, is sent again.
func TestDamagedObject(t *testing.T) {
	t.Parallel()
	h, f := hubAndFleet(t)
	_, kill := startWorker(t, h.File(), WorkerOptions{}, nil)
	d := device1(t, f)
	x := large(t, 3, 1e6)
	if got, err := doubled(t, d, x); err != nil || got != 6 {
		t.Fatal(got, err)
	}
	path := filepath.Join(h.File()+".hub", objectsDir, f.store.hashesOf(x).all)
	for _, spoil := range []func() error{
		func() error { return os.WriteFile(path, make([]byte, 4e6), 0o600) },
		func() error { return os.Remove(path) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		kill()
		_, kill = startWorker(t, h.File(), WorkerOptions{}, nil) // a new worker, which has not fetched it
		if got, err := doubled(t, d, x); err != nil || got != 6 {
			t.Fatal(got, err)
		}
	}
}

// A worker without the plugin exits at once, and says what to do.
func TestWorkerWithoutPlugin(t *testing.T) {
	h := startHub(t, HubOptions{})
	t.Setenv("GOMLX_BACKEND", "xla:/nowhere/cpu.so")
	o := LocalOptions{Dir: filepath.Dir(h.File())}
	if err := o.start(process{Role: "worker"}, func(error) {}); err != nil {
		t.Fatal(err)
	}
	wait(t, "its last words", func() bool {
		log, _ := os.ReadFile(filepath.Join(o.Dir, "worker-0.log"))
		return strings.Contains(string(log), "no XLA device") && strings.Contains(string(log), "/nowhere/cpu.so")
	})
}

// Two fleets of one process do not receive each other's answers and results.
func TestTwoFleets(t *testing.T) {
	t.Parallel()
	h := startHub(t, HubOptions{})
	startWorker(t, h.File(), WorkerOptions{}, nil)
	a, b := device1(t, join(t, h.File())), device1(t, join(t, h.File()))
	first, err := a.Run(t.Context(), double, []any{float32(1)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := doubled(t, b, float32(2)); err != nil || got != 4 {
		t.Errorf("the second has %v, %v, want 4", got, err)
	}
	y, err := first[0].Tensor()
	if err != nil || y.Value() != float32(2) {
		t.Errorf("the first has %v, %v, want 2", y, err)
	}
}

// Closing a fleet ends its runs.
func TestClosed(t *testing.T) {
	t.Parallel()
	h := startHub(t, HubOptions{})
	startWorker(t, h.File(), WorkerOptions{}, nil)
	f := join(t, h.File())
	d := device1(t, f)
	f.Close()
	_, err := doubled(t, d, float32(1))
	says(t, err, "closed")
}

// If the hub stays away, runs end with advice.
func TestHubStaysAway(t *testing.T) {
	t.Parallel()
	h := startHub(t, HubOptions{})
	startWorker(t, h.File(), WorkerOptions{}, nil)
	f := join(t, h.File())
	f.Timeout = time.Second
	d := device1(t, f)
	h.Close()
	_, err := doubled(t, d, float32(1))
	says(t, err, "no hub for 1s", "./scripts/hub")
}

// A canceled run leaves no seat taken, and a worker skips those of its calls that it has not begun.
func TestCanceledCalls(t *testing.T) {
	t.Parallel()
	h, f := hubAndFleet(t)
	begun, release := make(chan bool, 100), make(chan struct{})
	w, _ := startWorker(t, h.File(), WorkerOptions{Slots: 1}, before(func(context.Context, *remote.Call) {
		begun <- true
		<-release // once, or after it is closed
	}))
	d := device1(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { release <- struct{}{} }()
	if _, err := d.Run(ctx, double, []any{float32(1)}); err != nil { // an unknown program has one call at a time
		t.Fatal(err)
	}
	<-begun
	ended := make(chan error, 5)
	for range cap(ended) {
		go func() {
			_, err := d.Run(ctx, double, []any{float32(1)})
			ended <- err
		}()
	}
	<-begun
	<-begun // a worker prepares it
	cancel()
	for range cap(ended) {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	close(release)
	wait(t, "free seats", func() bool {
		f.seats.mu.Lock()
		defer f.seats.mu.Unlock()
		return len(f.seats.taken) == 0
	})
	if len(begun) > 0 || w.machine.Bytes() > 1<<10 {
		t.Errorf("%d more calls were begun, %d bytes are kept", len(begun), w.machine.Bytes())
	}
}

// Error texts of workers and content of a fleet's file are quoted briefly.
func TestLongWords(t *testing.T) {
	long := strings.Repeat("x", 10<<20)
	h := startHub(t, HubOptions{})
	startWorker(t, h.File(), WorkerOptions{}, func(w *worker) {
		w.perform = func(_ context.Context, c *remote.Call, _ bool) *remote.Answer {
			return &remote.Answer{ID: c.ID, Machine: long[:1<<16], Error: long[:1<<16]}
		}
	})
	if _, err := device1(t, join(t, h.File())).Run(t.Context(), double, []any{float32(1)}); err == nil || len(err.Error()) > 3000 {
		t.Errorf("%.200v", err)
	}
	path := filepath.Join(t.TempDir(), "fleet.json")
	if err := os.WriteFile(path, []byte(`{"version":`+strings.Repeat("9", 1<<20)+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readTicket(path); !errors.Is(err, ErrTicket) || len(err.Error()) > 3000 {
		t.Errorf("%.200v", err)
	}
}

func FuzzBeat(f *testing.F) {
	good, err := json.Marshal(WorkerInfo{Worker: "x", Slots: 2, Doing: []string{"a"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"Worker":"x","Slots":1,"Doing":null,"Kind":{"Threads":-1}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		fleet := &Fleet{workers: map[string]*member{}}
		fleet.seats.free = fleet.free
		fleet.onBeat(&nats.Msg{Subject: beats + "x", Data: b})
		if n := fleet.atOnce(1, Platform{}.Key()); n < 0 || len(fleet.Workers()) > 1 {
			t.Fatal(n, fleet.Workers())
		}
	})
}

func FuzzTicket(f *testing.F) {
	f.Add([]byte(`{"version":1,"url":"nats://127.0.0.1:1","ca":"-","notebook":"SU","worker":"SU","credentials":""}`))
	f.Add([]byte(`{"version":1,"url":"x"}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(dir, "fleet.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := readTicket(path)
		switch {
		case err != nil && !errors.Is(err, ErrTicket):
			t.Fatal(err)
		case err == nil && (k.URL == "" || k.Version != ticketVersion):
			t.Fatalf("%+v", k)
		}
	})
}

// Your own NATS server, with its usual limits and without keys, serves as well as a hub.
func TestServerOfYourOwn(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(s.Shutdown)
	wait(t, "the server", func() bool { return s.ReadyForConnections(time.Second) })
	file := filepath.Join(t.TempDir(), "fleet.json")
	if err := (&ticket{Version: ticketVersion, URL: s.ClientURL()}).write(file); err != nil {
		t.Fatal(err)
	}
	startWorker(t, file, WorkerOptions{}, nil)
	if got, err := doubled(t, device1(t, join(t, file)), large(t, 2, 1e6)); err != nil || got != 4 {
		t.Error(got, err)
	}
}

// A hub passes on its server's warnings, such as of a client that does not trust its certificate.
func TestHubTells(t *testing.T) {
	t.Parallel()
	said := make(chan string, 100)
	h := startHub(t, HubOptions{Listen: "127.0.0.1:0", Logf: func(format string, a ...any) { said <- fmt.Sprintf(format, a...) }})
	if _, err := Join(changed(t, h.File(), func(k *ticket) { k.CA = otherCertificate(t) })); err == nil {
		t.Error("it was let in")
	}
	select {
	case text := <-said:
		if !strings.Contains(text, "TLS handshake") {
			t.Error(text)
		}
	case <-time.After(10 * time.Second):
		t.Error("it says nothing")
	}
}

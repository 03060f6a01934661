package fleet

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy relays between a hub and clients that use another file. It counts bytes, and can degrade the line.
type proxy struct {
	File     string       // like the hub's, with the proxy's address
	Up, Down atomic.Int64 // bytes to the hub, and from it

	listener net.Listener
	hub      string

	mu    sync.Mutex
	conns map[net.Conn]bool
	delay time.Duration // per piece
	rate  float64       // bytes per second, both ways each; 0: no limit
	until chan struct{} // closed when nothing is held back any more; nil: nothing is held
}

// newProxy starts a proxy to the hub of a file.
func newProxy(t *testing.T, file string) *proxy {
	t.Helper()
	k, err := readTicket(file)
	if err != nil {
		t.Fatal(err)
	}
	scheme, hub, _ := strings.Cut(k.URL, "://")
	p := &proxy{File: filepath.Join(t.TempDir(), "fleet.json"), hub: hub, conns: map[net.Conn]bool{}}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	k.URL = scheme + "://" + p.listener.Addr().String()
	if err := k.write(p.File); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.listener.Close()
		p.Drop()
	})
	go func() {
		for {
			c, err := p.listener.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// serve relays both ways until either side ends.
func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	hub, err := net.Dial("tcp", p.hub)
	if err != nil {
		return
	}
	defer hub.Close()
	p.mu.Lock()
	p.conns[c], p.conns[hub] = true, true
	p.mu.Unlock()
	ended := make(chan struct{}, 2)
	for _, way := range []struct {
		from, to net.Conn
		bytes    *atomic.Int64
	}{{c, hub, &p.Up}, {hub, c, &p.Down}} {
		go func() {
			p.pass(way.from, way.to, way.bytes)
			ended <- struct{}{}
		}()
	}
	<-ended
	p.mu.Lock()
	delete(p.conns, c)
	delete(p.conns, hub)
	p.mu.Unlock()
}

func (p *proxy) pass(from io.Reader, to io.Writer, count *atomic.Int64) {
	for b := make([]byte, 32<<10); ; {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		p.mu.Lock()
		delay, until := p.delay, p.until
		if p.rate > 0 {
			delay += time.Duration(float64(n) / p.rate * float64(time.Second))
		}
		p.mu.Unlock()
		if until != nil {
			<-until
		}
		time.Sleep(delay)
		count.Add(int64(n))
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// Drop ends all connections.
func (p *proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Slow delays every piece, and limits the bytes per second; zeros end it.
func (p *proxy) Slow(delay time.Duration, rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.rate = delay, rate
}

// Hold lets nothing through until release is called.
func (p *proxy) Hold() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	until := make(chan struct{})
	p.until = until
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.until = nil
		close(until)
	}
}

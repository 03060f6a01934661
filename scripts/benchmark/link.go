package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/janpfeifer/must"
)

// link is a network to a hub that is slower than this machine's own: each direction passes rate bytes per second (0: no limit), some
// time later. It counts what passes.
type link struct {
	rate   float64
	delay  time.Duration
	passed atomic.Int64 // bytes, both ways
}

func (l *link) String() string {
	switch {
	case l.rate > 0:
		return fmt.Sprintf("%.0f MB/s", l.rate/1e6)
	case l.delay > 0:
		return fmt.Sprintf("%v there and back", 2*l.delay)
	}
	return "loopback"
}

// before writes a fleet's file for those who are to reach its hub through the link.
func (l *link) before(file, to string) {
	ticket := map[string]any{}
	must.M(json.Unmarshal(must.M1(os.ReadFile(file)), &ticket))
	listener := must.M1(net.Listen("tcp", "127.0.0.1:0"))
	hub := strings.TrimPrefix(ticket["url"].(string), "nats://")
	ticket["url"] = "nats://" + listener.Addr().String()
	must.M(os.WriteFile(to, must.M1(json.Marshal(ticket)), 0o600))
	up, down := new(wire), new(wire) // all who come this way share them
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far := must.M1(net.Dial("tcp", hub))
			go l.pass(near, far, up)
			go l.pass(far, near, down)
		}
	}()
}

// wire is one direction of a link. It is free again when the last byte has left.
type wire struct{ free atomic.Int64 }

// leave returns when n bytes that come now have left, if those before them have.
func (w *wire) leave(n int, rate float64) time.Time {
	now := time.Now().UnixNano()
	if rate == 0 {
		return time.Unix(0, now)
	}
	for {
		free := w.free.Load()
		at := max(now, free) + int64(1e9*float64(n)/rate)
		if w.free.CompareAndSwap(free, at) {
			return time.Unix(0, at)
		}
	}
}

// pass copies what comes to where it goes, as the link does, until either side closes.
func (l *link) pass(from, to net.Conn, w *wire) {
	type packet struct {
		data []byte
		at   time.Time
	}
	packets := make(chan packet, 64)
	go func() {
		defer to.Close()
		for p := range packets {
			time.Sleep(time.Until(p.at))
			if _, err := to.Write(p.data); err != nil {
				break
			}
		}
		for range packets { // until the other side has noticed
		}
	}()
	defer close(packets)
	for data := make([]byte, 64<<10); ; {
		n, err := from.Read(data)
		if n > 0 {
			l.passed.Add(int64(n))
			packets <- packet{append([]byte(nil), data[:n]...), w.leave(n, l.rate).Add(l.delay)}
		}
		if err != nil {
			return
		}
	}
}

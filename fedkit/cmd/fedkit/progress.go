package main

import (
	"fmt"
	"io"
	"time"

	"fedkit.example/fedkit"
)

// progress prints lines for people, at most one per second, so that a log stays short.
type progress struct {
	to    io.Writer
	of    int // rounds
	began time.Time
	first int       // round that was finished first: what came before was a checkpoint's, and programs were compiled
	since time.Time // when that was
	last  time.Time // when a line was printed
}

func (p *progress) begin(fed *fedkit.Federation) {
	fmt.Fprintln(p.to, fed)
	p.began = time.Now()
}

func (p *progress) round(h *fedkit.History) {
	t, now, left := len(h.Rounds), time.Now(), ""
	if p.first == 0 {
		p.first, p.since = t, now
	} else {
		seconds := now.Sub(p.since).Seconds() / float64(t-p.first) * float64(p.of-t)
		left = fmt.Sprintf("  %v left", time.Duration(seconds)*time.Second)
	}
	if t < p.of && now.Sub(p.last) >= time.Second {
		p.last = now
		fmt.Fprintf(p.to, "round %d/%d  accuracy %.2f %%%s\n", t, p.of, 100*h.Accuracy(), left)
	}
}

func (p *progress) done(h *fedkit.History, err error) {
	how := "done"
	switch {
	case err != nil:
		how = "failed"
	case h.Stopped:
		how = "stopped"
	}
	fmt.Fprintf(p.to, "%s: %s after %d of %d rounds, accuracy %.2f %%, %v\n", h.Name, how, len(h.Rounds), p.of, 100*h.Accuracy(),
		time.Since(p.began).Round(10*time.Millisecond))
}

package plot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fedkit.example/fedkit"
)

// progress is how far one run has come.
type progress struct {
	track
	of      int // rounds it is meant to reach
	round   int // that it has reached
	watched int // rounds seen while it ran
	start   time.Time
	first   time.Time // end of the first round seen: it compiles, and says little about the others
	last    time.Time // end of the latest
	seconds float64   // of the latest round
	over    bool
	err     error
}

// advance takes in the round that has just ended.
func (p *progress) advance(h *fedkit.History, of int, now time.Time) {
	p.follow(h)
	p.of, p.last = of, now
	if n := len(h.Rounds); n > 0 {
		r := &h.Rounds[n-1]
		p.round, p.seconds = r.Round, r.Seconds+r.EvalTime
	}
	if p.watched++; p.watched == 1 {
		p.first = now
		p.start = now
		if p.seconds > 0 && p.seconds < 1e6 {
			p.start = now.Add(-time.Duration(p.seconds * float64(time.Second)))
		}
	}
}

// pace returns seconds per round.
func (p *progress) pace() float64 {
	if p.watched < 2 {
		return p.seconds
	}
	return p.last.Sub(p.first).Seconds() / float64(p.watched-1)
}

// line says it in one line.
func (p *progress) line() string {
	var parts []string
	switch elapsed := p.last.Sub(p.start).Seconds(); {
	case p.over && p.err == nil:
		parts = append(parts, fmt.Sprintf("✓ %d rounds in %s", p.round, duration(elapsed)))
	case p.over && errors.Is(p.err, context.Canceled):
		parts = append(parts, fmt.Sprintf("✗ canceled after round %d of %d", p.round, p.of))
	case p.over:
		parts = append(parts, fmt.Sprintf("✗ failed after round %d of %d: %s", p.round, p.of, firstLine(p.err)))
	default:
		parts = append(parts, fmt.Sprintf("%s round %d/%d", bar(p.round, p.of), p.round, p.of))
	}
	points := p.global
	if points == nil {
		points = p.own
	}
	if q := last(points); points != nil {
		if finite(q.accuracy) {
			parts = append(parts, "accuracy "+percent(q.accuracy))
		}
		parts = append(parts, fmt.Sprintf("loss %.3g", q.loss))
	}
	if !p.over {
		parts = append(parts, threeDigits(p.pace())+" s/round")
		if left := float64(p.of-p.round) * p.pace(); left > 0 {
			parts = append(parts, duration(left)+" left")
		}
	}
	return p.name + "  " + strings.Join(parts, " · ")
}

// bar draws i of n.
func bar(i, n int) string {
	const width = 20
	full := min(width, max(0, width*i/max(1, n)))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200]) + "…"
	}
	return s
}

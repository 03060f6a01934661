package plot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// progress is how far one run has come.
type progress struct {
	compare.Run
	label   string // the name, and what sets the run apart from others of that name
	over    bool   // the run has ended
	of      int    // rounds it is meant to reach
	round   int    // that it has reached
	watched int    // rounds seen while it ran
	start   time.Time
	first   time.Time // end of the first round seen: it compiles, and says little about the others
	last    time.Time // end of the latest
	seconds float64   // of the latest round
	err     error
}

// advance takes in the round that has just ended.
func (p *progress) advance(h *fedkit.History, of int, now time.Time) {
	p.Follow(h)
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

// forget lets go of the rounds of a run that has ended, which nobody needs any more: a study has many.
func (p *progress) forget() {
	h := *p.History
	h.Rounds = nil
	p.History = &h
}

// stopped says whether the run was interrupted or canceled, and failed whether anything else ended it early.
func (p *progress) stopped() bool {
	return p.over && (p.err == nil && p.History.Stopped || errors.Is(p.err, context.Canceled))
}

func (p *progress) failed() bool { return p.over && p.err != nil && !p.stopped() }

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
	case p.over && p.err == nil && p.History.Stopped:
		parts = append(parts, "■ stopped "+p.after())
	case p.over && p.err == nil:
		parts = append(parts, fmt.Sprintf("✓ %d rounds in %s", p.round, chart.Seconds(elapsed)))
	case p.over && errors.Is(p.err, context.Canceled):
		parts = append(parts, "✗ canceled "+p.after())
	case p.over:
		parts = append(parts, "✗ failed "+p.after()+": "+firstLine(p.err))
	default:
		parts = append(parts, fmt.Sprintf("%s round %d/%d", bar(p.round, p.of), p.round, p.of))
	}
	parts = append(parts, p.scores()...)
	if !p.over {
		parts = append(parts, chart.Short(p.pace())+" s/round")
		if left := float64(p.of-p.round) * p.pace(); left > 0 {
			parts = append(parts, chart.Seconds(left)+" left")
		}
		if machines := p.History.Machines(); machines != "" {
			parts = append(parts, machines)
		}
	}
	return cmp.Or(p.label, p.Name) + "  " + strings.Join(parts, " · ")
}

// after says when it ended early. How many rounds it is meant to reach is known from the first one on.
func (p *progress) after() string {
	switch {
	case p.round == 0:
		return "before round 1"
	case p.of == 0:
		return fmt.Sprintf("after round %d", p.round)
	}
	return fmt.Sprintf("after round %d of %d", p.round, p.of)
}

// scores says how good the model is, or both are: the global one and the clients' own.
func (p *progress) scores() (parts []string) {
	b := compare.GlobalModel
	if p.Global == nil {
		b = compare.OwnModels
	}
	if b.Points(&p.Run) == nil {
		return nil
	}
	if a := compare.Accuracy.Value(&p.Run, b); finite(a) {
		parts = append(parts, "accuracy "+chart.Percent(a))
		if own := compare.Accuracy.Value(&p.Run, compare.OwnModels); p.Personal && p.Global != nil && finite(own) {
			parts[0] += fmt.Sprintf(" (clients' own %s)", chart.Percent(own))
		}
	}
	return append(parts, fmt.Sprintf("loss %.3g", compare.Loss.Value(&p.Run, b)))
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

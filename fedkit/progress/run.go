package progress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/table"
)

// Run is the progress of one run.
type Run struct {
	compare.Run
	Ended   bool // the run has ended
	Planned int  // rounds to reach, 0 if unknown

	label    string  // the name, and what distinguishes the run from others of that name
	round    int     // latest
	watched  int     // rounds seen while it ran
	before   int     // rounds in the checkpoint it resumed from
	earlier  float64 // seconds of those rounds
	start    time.Time
	first    time.Time // end of the first round seen: it compiles, and is not representative
	last     time.Time // end of the latest
	seconds  float64   // of the latest round
	compiled bool      // programs were compiled while it was watched
	err      error
}

// begin notes that the run starts, or has read the rounds of its checkpoint.
func (p *Run) begin(h *fedkit.History, of int, now time.Time) {
	p.take(h, of, now)
	if p.start.IsZero() {
		p.start = now
	}
	p.before, p.earlier = len(h.Rounds), took(h)
}

// took returns the total seconds of the rounds, evaluations included.
func took(h *fedkit.History) (s float64) {
	for i := range h.Rounds {
		s += h.Rounds[i].Seconds + h.Rounds[i].EvalTime
	}
	return s
}

// advance notes the round that has just ended.
func (p *Run) advance(h *fedkit.History, of int, now time.Time) {
	p.take(h, of, now)
	if p.watched++; p.watched > 1 {
		return
	}
	p.first = now
	if p.start.IsZero() {
		p.start = now
		if p.seconds > 0 && p.seconds < 1e6 {
			p.start = now.Add(-time.Duration(p.seconds * float64(time.Second)))
		}
	}
}

// take reads the rounds so far.
func (p *Run) take(h *fedkit.History, of int, now time.Time) {
	p.Follow(h)
	p.Planned, p.last = of, now
	if r := h.Last(); r != nil {
		p.round, p.seconds = r.Round, r.Seconds+r.EvalTime
	}
}

// forget drops the rounds of a run that has ended: a study has many.
func (p *Run) forget() {
	h := *p.History
	h.Rounds = nil
	p.History = &h
}

// stopped reports whether the run was interrupted or canceled, and failed whether anything else ended it early.
func (p *Run) stopped() bool {
	return p.Ended && (p.err == nil && p.History.Stopped || errors.Is(p.err, context.Canceled))
}

func (p *Run) failed() bool { return p.Ended && p.err != nil && !p.stopped() }

// pace returns seconds per round.
func (p *Run) pace() float64 {
	if p.watched < 2 {
		return p.seconds
	}
	return p.last.Sub(p.first).Seconds() / float64(p.watched-1)
}

// line is the progress in one line.
func (p *Run) line(now time.Time) string {
	var parts []string
	if p.Ended {
		parts = append([]string{p.end()}, p.scores()...)
	} else {
		parts = p.under(now)
	}
	return text.Line(cmp.Or(p.label, p.Name) + "  " + strings.Join(parts, " · "))
}

// end describes how the run ended.
func (p *Run) end() string {
	switch {
	case p.err == nil && p.History.Stopped:
		return "■ stopped " + p.after()
	case p.err == nil && p.History.Early != "":
		return "✓ " + p.done() + ", early: " + p.History.Early
	case p.err == nil:
		return "✓ " + p.done()
	case errors.Is(p.err, errEarly):
		return fmt.Sprintf("■ ended %s: %v", p.after(), p.err)
	case errors.Is(p.err, context.Canceled):
		return "✗ canceled " + p.after()
	}
	return "✗ failed " + p.after() + ": " + firstLine(p.err)
}

// under describes the progress of an active run: round, scores, pace, and its current activity.
func (p *Run) under(now time.Time) (parts []string) {
	since := now.Sub(p.last).Seconds()
	if p.round == 0 {
		parts = append(parts, bar(0, p.Planned)+" "+p.doing(since))
	} else {
		at := fmt.Sprintf("%s round %d/%d", bar(p.round, p.Planned), p.round, p.Planned)
		if p.Planned == 0 {
			at = fmt.Sprint("round ", p.round)
		}
		parts = append(append(append(parts, at), p.scores()...), pace(p.pace()))
		if left := float64(p.Planned-p.round)*p.pace() - since; left > 0 {
			parts = append(parts, table.Seconds(math.Ceil(left))+" left")
		}
		if since > patience {
			parts = append(parts, p.doing(since))
		}
	}
	return parts
}

// patience is the number of seconds after which the line shows that a round is still running.
const patience = 1

// doing describes the activity since the last round.
func (p *Run) doing(seconds float64) string {
	what := fmt.Sprint("round ", p.round+1)
	if p.Planned > 0 {
		what += fmt.Sprint(" of ", p.Planned)
	}
	compiling := xla.Compiling()
	p.compiled = p.compiled || compiling
	switch {
	case compiling:
		what = "compiling"
	case p.round == 0 && !p.compiled && seconds < patience:
		what = "starting"
	}
	return what + " … " + elapsed(seconds)
}

// done summarizes a run that has reached its last round.
func (p *Run) done() string {
	s := fmt.Sprintf("%d rounds in %s", p.round, table.Seconds(p.earlier+p.last.Sub(p.start).Seconds()))
	switch p.before {
	case 0:
	case p.Rounds:
		s += " (all of them before)"
	default:
		s += fmt.Sprintf(" (%d of them before)", p.before)
	}
	return s
}

// pace writes seconds per round: "12 ms/round".
func pace(s float64) string {
	if s < 0.9995 {
		return table.Short(1000*s) + "\u00a0ms/round"
	}
	return table.Seconds(s) + "/round"
}

// elapsed writes seconds of a running clock.
func elapsed(s float64) string {
	if s < 9.95 {
		return fmt.Sprintf("%.1f\u00a0s", max(0, s))
	}
	return table.Seconds(math.Trunc(s))
}

// after describes a run that ended early. The number of its rounds is known from the first one on.
func (p *Run) after() string {
	switch {
	case p.round == 0:
		return "before round 1"
	case p.Planned == 0:
		return fmt.Sprintf("after round %d", p.round)
	}
	return fmt.Sprintf("after round %d of %d", p.round, p.Planned)
}

// scores lists the accuracy, or R², of the global model, the clients' own, or both.
func (p *Run) scores() (parts []string) {
	b := compare.GlobalModel
	if p.Global == nil {
		b = compare.OwnModels
	}
	if b.Points(&p.Run) == nil {
		return nil
	}
	q, write := compare.Accuracy.For(&p.Run), table.Percent
	if q.Format != nil {
		write = q.Format
	}
	if a := q.Value(&p.Run, b); finite(a) {
		parts = append(parts, q.Name+" "+table.Minus(write(a)))
		if own := q.Value(&p.Run, compare.OwnModels); p.Personal && p.Global != nil && finite(own) {
			parts[0] += fmt.Sprintf(" (clients' own %s)", table.Minus(write(own)))
		}
	}
	return append(parts, "loss "+table.Minus(fmt.Sprintf("%.3g", compare.Loss.Value(&p.Run, b))))
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

func finite(v float64) bool { return v-v == 0 }

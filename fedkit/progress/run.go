package progress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/table"
	"golang.org/x/text/width"
)

// Run is the progress of one run.
type Run struct {
	compare.Run
	Ended   bool // the run has ended
	Planned int  // rounds to reach, 0 if unknown

	label    string    // the name, and what distinguishes the run from others of that name
	round    int       // latest
	before   int       // rounds in the checkpoint it resumed from
	earlier  float64   // seconds of those rounds
	seconds  float64   // of all rounds
	pace     float64   // seconds per round
	start    time.Time // zero if its start was not watched
	last     time.Time // end of the latest round, or of what came before it
	compiled bool      // programs were compiled while it was watched
	err      error
}

// begin notes that the run starts, or has read the rounds of its checkpoint.
func (p *Run) begin(h *fedkit.History, of int, now time.Time) {
	p.before = len(h.Rounds)
	p.advance(h, of, now)
	p.earlier = p.seconds
	if p.start.IsZero() {
		p.start = now
	}
}

// advance notes the rounds so far, the latest of which has just ended.
func (p *Run) advance(h *fedkit.History, of int, now time.Time) {
	p.Follow(h)
	p.Planned, p.last = of, now
	if r := h.Last(); r != nil {
		p.round = r.Round
	}
	n := len(h.Rounds)
	own := h.Rounds[max(0, min(p.before+1, n-1)):] // the first one compiles
	p.seconds, p.pace = took(h.Rounds), took(own)/float64(max(1, len(own)))
}

// took returns the total seconds of rounds, evaluations included.
func took(rounds []fedkit.Record) (s float64) {
	for i := range rounds {
		s += rounds[i].Seconds + rounds[i].EvalTime
	}
	return s
}

// end notes how the run ended, and drops its rounds: a study has many.
func (p *Run) end(h *fedkit.History, err error, now time.Time) {
	p.advance(h, p.Planned, now)
	p.Ended, p.err = true, err
	own := *p.History
	own.Rounds = nil
	p.History = &own
}

// Names of what a run is doing.
const running, stopped, failed, done = "running", "stopped", "failed", "done"

// state is stopped after an interrupt or a canceled context, and failed if anything else ended the run early.
func (p *Run) state() string {
	switch {
	case !p.Ended:
		return running
	case p.err == nil && p.History.Stopped, errors.Is(p.err, context.Canceled):
		return stopped
	case p.err != nil:
		return failed
	}
	return done
}

// line is the progress in one line.
func (p *Run) line(now time.Time) string {
	parts := p.activity(now)
	if p.Ended {
		parts = append([]string{p.ending()}, p.scores()...)
	}
	return text.Line(cmp.Or(p.label, p.Name) + "  " + strings.Join(parts, " · "))
}

// ending describes how the run ended. The number of its rounds is known from the first one on.
func (p *Run) ending() string {
	after := fmt.Sprintf("after round %d", p.round)
	if p.round == 0 {
		after = "before round 1"
	} else if p.Planned > 0 {
		after += fmt.Sprintf(" of %d", p.Planned)
	}
	switch {
	case p.err == nil && p.History.Stopped:
		return "■ stopped " + after
	case p.err == nil && p.History.Early != "":
		return "✓ " + p.total() + ", early: " + p.History.Early
	case p.err == nil:
		return "✓ " + p.total()
	case errors.Is(p.err, errEarly):
		return fmt.Sprintf("■ ended %s: %v", after, p.err)
	case errors.Is(p.err, context.Canceled):
		return "✗ canceled " + after
	}
	why, _, _ := strings.Cut(p.err.Error(), "\n")
	return "✗ failed " + after + ": " + text.Short(why)
}

// total summarizes a run that has reached its last round.
func (p *Run) total() string {
	seconds := p.seconds
	if !p.start.IsZero() {
		seconds = p.earlier + p.last.Sub(p.start).Seconds()
	}
	s := fmt.Sprintf("%d rounds in %s", p.round, table.Seconds(seconds))
	if p.before > 0 && p.before == p.Rounds {
		s += " (all of them before)"
	} else if p.before > 0 {
		s += fmt.Sprintf(" (%d of them before)", p.before)
	}
	return s
}

// patience is the number of seconds after which the line shows that a round is still running.
const patience = 1

// activity describes an active run: round, scores, pace, time left and, in a long round, what it is doing.
func (p *Run) activity(now time.Time) []string {
	since := now.Sub(p.last).Seconds()
	if p.round == 0 {
		return []string{bar(0, p.Planned) + " " + p.doing(since)}
	}
	at := fmt.Sprint("round ", p.round)
	if p.Planned > 0 {
		at = fmt.Sprintf("%s %s/%d", bar(p.round, p.Planned), at, p.Planned)
	}
	parts := append(append([]string{at}, p.scores()...), perRound(p.pace))
	if left := float64(p.Planned-p.round)*p.pace - since; left > 0 {
		parts = append(parts, table.Seconds(math.Ceil(left))+" left")
	}
	if since > patience {
		parts = append(parts, p.doing(since))
	}
	return parts
}

// doing describes what has gone on for some seconds.
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
	elapsed := fmt.Sprintf("%.1f\u00a0s", max(0, seconds))
	if seconds >= 9.95 {
		elapsed = table.Seconds(math.Trunc(seconds))
	}
	return what + " … " + elapsed
}

// perRound writes seconds per round: "12 ms/round".
func perRound(s float64) string {
	if s < 0.9995 {
		return table.Short(1000*s) + "\u00a0ms/round"
	}
	return table.Seconds(s) + "/round"
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

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// bar draws i of n.
func bar(i, n int) string {
	const width = 20
	full := min(width, max(0, width*i/max(1, n)))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// bars are drawn only where there is room for them.
var bars = regexp.MustCompile(`[█░]+ `)

// fit shortens a line to this many columns of a terminal, 0 for any: first by its bar, then at its end, which becomes "…". A line that
// wraps could not be overwritten.
func fit(line string, columns int) string {
	if columns <= 0 || columnsOf(line) <= columns {
		return line
	}
	if line = bars.ReplaceAllString(line, ""); columnsOf(line) <= columns {
		return line
	}
	used := 0
	for i, r := range line {
		if used += columnsOf(string(r)); used > columns-1 {
			return line[:i] + "…"
		}
	}
	return line
}

// columnsOf is the width of a text on a terminal: two columns for wide characters, none for marks that go onto others.
func columnsOf(line string) (n int) {
	for _, r := range line {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

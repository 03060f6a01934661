package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"fedkit.example/fedkit/internal/display"
	"fedkit.example/fedkit/internal/text"
)

// say reports what is stored, what is to run, and why, "23 stored, 2 to run: Local.LR: 0.03, was 0.1", what is damaged, and what other code
// computed.
func (s *Study) say(missing []*plan) {
	stored := len(s.distinct()) - len(missing)
	line := fmt.Sprintf("%d stored, %d to run", stored, len(missing))
	if reasons := s.reasons(missing); reasons != "" {
		line += ": " + reasons
	}
	if _, known := said.LoadOrStore(s.Dir+line, true); known && len(missing) == 0 && display.InNotebook() {
		return
	}
	s.sayf("%s\n", line)
	for _, p := range missing {
		if p.problem != nil && !errors.Is(p.problem, errOlder) {
			s.sayf("damaged, and computed again: %v\n", p.problem)
		}
	}
	now, others := "", map[string]int{}
	for _, p := range s.distinct() {
		if p.stored && p.code != p.About.Code {
			now = p.code
			others[p.About.Code]++
		}
	}
	for _, code := range slices.Sorted(maps.Keys(others)) {
		s.sayf("%d of the stored runs were computed by other code (%s; this is %s): Study.Recompute computes them again\n", others[code], code, now)
	}
}

// said holds what this program has printed. That nothing is to run is printed once: a notebook's cell may run the same study
// again and again.
var said sync.Map

// sayf prints a line; concurrent runs may call it.
func (s *Study) sayf(format string, values ...any) {
	s.saying.Lock()
	defer s.saying.Unlock()
	to := s.Log
	if to == nil {
		to = os.Stderr
		if display.InNotebook() {
			to = os.Stdout
		}
	}
	fmt.Fprint(to, text.Lines(fmt.Sprintf(format, values...)))
}

// reasons says why runs are missing, most frequent first. A run that was not stored under any options needs no reason.
func (s *Study) reasons(missing []*plan) string {
	if s.Recompute {
		return "all again"
	}
	if len(missing) == 0 {
		return ""
	}
	stored, _ := List(s.Dir)
	byName := map[string]Runs{}
	for _, r := range stored {
		byName[r.Name] = append(byName[r.Name], r)
	}
	n := map[string]int{}
	for _, p := range missing {
		n[p.reason(byName[p.Name])]++
	}
	delete(n, "")
	return frequent(n, len(missing))
}

// frequent lists words, the most frequent first, each with its number unless that is the number of all.
func frequent(n map[string]int, all int) string {
	words := slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(n[b]-n[a], cmp.Compare(a, b)) })
	for i, word := range words {
		if n[word] < all {
			words[i] = fmt.Sprintf("%s (%d)", word, n[word])
		}
	}
	return first3(words, "; ")
}

// reason returns how a run differs from the most similar one of its name, labels and seed first. Ties are broken by the words,
// not by the order of keys.
func (p *plan) reason(stored Runs) string {
	switch {
	case errors.Is(p.problem, errOlder):
		return errOlder.Error()
	case p.problem != nil:
		return "damaged"
	case p.models:
		return "models were not kept"
	}
	var fields []string
	for _, r := range stored {
		if r.Key == p.Key {
			return "failed before: " + r.Error
		}
		if r.About.Seed != p.About.Seed || !slices.Equal(r.Labels, p.Labels) {
			continue // a run that was not there yet
		}
		if d := differences(r.About, p.About); fields == nil || cmp.Or(len(d)-len(fields), slices.Compare(d, fields)) < 0 {
			fields = d
		}
	}
	if len(fields) > 3 { // another experiment
		return ""
	}
	return strings.Join(fields, ", ")
}

// first3 writes the first three lines.
func first3(lines []string, between string) string {
	if len(lines) > 3 {
		lines = append(slices.Clone(lines[:3]), fmt.Sprintf("and %d more", len(lines)-3))
	}
	return strings.Join(lines, between)
}

package plot

import (
	"errors"
	"fmt"
	"slices"

	"fedkit.example/fedkit"
)

// Participants draws how often each client took part: a row of bars for each history, a bar a client, all to one scale.
// Histories of the same Name are runs of one experiment with other seeds: a bar is the mean over them. At most the first
// 100 clients are drawn.
//
// Errors: no history, a nil one, one in which nobody took part.
func Participants(h ...*fedkit.History) error { return show(ParticipantsFigure(h...)) }

// ParticipantsFigure returns the figure that Participants shows.
func ParticipantsFigure(h ...*fedkit.History) (f *Figure, err error) {
	defer guard(&err)
	all, err := attendances(h)
	if err != nil {
		return nil, fmt.Errorf("plot: participants: %w", err)
	}
	most, clients := 0.0, 0
	for _, a := range all {
		most, clients = max(most, slices.Max(a.times)), max(clients, len(a.times))
	}
	shown := min(clients, maxClients)
	f = &Figure{
		Name:   "participants",
		Title:  "How often each client took part",
		Note:   fmt.Sprintf("bar: rounds with the client, the highest is %.3g", most),
		X:      Axis{Title: "client", Whole: true},
		Point:  "took part",
		Width:  min(900, max(360, 26*shown)),
		Height: 40 + 76*len(all),
	}
	if shown < clients {
		f.Note += fmt.Sprintf("; the first %d of %d clients", shown, clients)
	}
	for i, a := range all {
		row := float64(len(all) - 1 - i) // the first on top
		f.Y.Names = append([]string{a.name}, f.Y.Names...)
		s := Series{Name: a.name, Mark: Cells}
		for c, n := range a.times[:min(len(a.times), shown)] {
			s.X, s.X2 = append(s.X, float64(c)-0.4), append(s.X2, float64(c)+0.4)
			s.Y, s.Y2 = append(s.Y, row-0.45), append(s.Y2, row-0.45+0.88*n/most+0.012)
			s.Tip = append(s.Tip, fmt.Sprintf("%.3g of %.3g rounds", n, a.rounds))
		}
		f.Series = append(f.Series, s)
	}
	return f, nil
}

// attendance is in how many rounds each client took part, the mean over the runs of a name.
type attendance struct {
	name         string
	runs, rounds float64
	times        []float64
}

func attendances(h []*fedkit.History) (all []*attendance, err error) {
	if len(h) == 0 {
		return nil, errors.New("no history given")
	}
	for i, h := range h {
		if h == nil {
			return nil, fmt.Errorf("history %d is nil: did its run fail?", i+1)
		}
		a := &attendance{name: h.Name}
		if at := slices.IndexFunc(all, func(a *attendance) bool { return a.name == h.Name }); at >= 0 {
			a = all[at]
		} else {
			all = append(all, a)
		}
		a.runs++
		a.rounds += float64(len(h.Rounds))
		a.times = append(a.times, make([]float64, max(0, h.Clients-len(a.times)))...)
		took := false
		for _, r := range h.Rounds {
			for _, c := range r.Clients() {
				if c >= 0 && c < len(a.times) {
					a.times[c]++
					took = true
				}
			}
		}
		if !took {
			return nil, fmt.Errorf("history %q has no client that took part in any of its %d rounds", h.Name, len(h.Rounds))
		}
	}
	for _, a := range all {
		a.rounds /= a.runs
		for c := range a.times {
			a.times[c] /= a.runs
		}
	}
	return all, nil
}

// Package participation has what strategies and selectors see of earlier rounds.
package participation

import "fedkit.example/fedkit/history"

// Log is each client's participation so far. It is rebuilt from the History, so it survives a resume.
type Log struct {
	Whole    bool                     // Results has all, not only Last the latest
	Results  [][]history.ClientResult // by client, oldest first
	Clusters []int                    // the last served

	rounds []int                  // by client, number of rounds in which it took part
	last   []history.ClientResult // by client
}

// New returns the log of m clients before the first round.
func New(m int, whole bool) *Log {
	return &Log{Whole: whole, Results: make([][]history.ClientResult, m), rounds: make([]int, m), last: make([]history.ClientResult, m)}
}

// Last returns a client's latest result, zero if there is none, and the number of rounds in which it took part.
func (p *Log) Last(client int) (s history.ClientResult, rounds int) {
	return p.last[client], p.rounds[client]
}

// Add adds a round.
func (p *Log) Add(r *history.Record) {
	for _, s := range r.Results {
		if s.Skipped {
			continue
		}
		s.Round = r.Round
		p.rounds[s.Client]++
		if p.last[s.Client] = s; p.Whole {
			p.Results[s.Client] = append(p.Results[s.Client], s)
		}
	}
	if r.Clusters != nil {
		p.Clusters = r.Clusters
	}
}

// Clear forgets all rounds.
func (p *Log) Clear() {
	clear(p.rounds)
	clear(p.last)
	clear(p.Results)
	p.Clusters = nil
}

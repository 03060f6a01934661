package fedkit

import "fedkit.example/fedkit/config"

// SimilarityUser is a selector, or a part of one, that may use Solve.Similarity, which is computed only on demand.
type SimilarityUser interface {
	UsesSimilarity() bool // whether it does with its current options
}

// PastUser is a strategy, or a part of one, that may call Round.Past.
type PastUser interface {
	UsesPast() bool // whether it does with its current options
}

// past is each client's participation so far. It is rebuilt from the History, so it survives a resume.
type past struct {
	rounds   []int     // by client, number of rounds in which it took part
	last     []Solve   // by client, the latest
	whole    bool      // all Solves are kept, not only the latest
	solves   [][]Solve // by client, oldest first
	clusters []int     // the last served
}

// newPast keeps all Solves if the history does, or a PastUser needs them.
func newPast(fed *Federation, all []Strategy, k Keep) *past {
	p := &past{rounds: make([]int, fed.Size()), last: make([]Solve, fed.Size()), whole: k.Solves == 0, solves: make([][]Solve, fed.Size())}
	for _, s := range all {
		_ = config.Walk(s, func(_ string, part any) error {
			u, ok := part.(PastUser)
			p.whole = p.whole || ok && u.UsesPast()
			return nil
		})
	}
	return p
}

func (p *past) add(r *Record) {
	for _, s := range r.Solves {
		if s.Skipped {
			continue
		}
		s.Round = r.Round
		p.rounds[s.Client]++
		if p.last[s.Client] = s; p.whole {
			p.solves[s.Client] = append(p.solves[s.Client], s)
		}
	}
	if r.Clusters != nil {
		p.clusters = r.Clusters
	}
}

func (p *past) clear() {
	clear(p.rounds)
	clear(p.last)
	clear(p.solves)
	p.clusters = nil
}

// Last returns a client's Solve in the latest earlier round in which it took part, zero if there is none, and the number of those
// rounds.
func (r *Round) Last(client int) (s Solve, rounds int) {
	return r.past.last[client], r.past.rounds[client]
}

// Past returns a client's Solves in all earlier rounds, oldest first, as for a μ that adapts to clients. They must not be changed.
// To save memory, it is an error if Keep leaves out Solves and no part of the strategy is a PastUser that UsesPast. Last always works.
func (r *Round) Past(client int) []Solve {
	if !r.past.whole {
		r.Fail(Invalid("Options.Keep.Solves", r.opts.Keep.Solves, "left out for a strategy that calls Round.Past, or one of its parts must have UsesPast; Round.Last is always known"))
		return nil
	}
	return r.past.solves[client]
}

// Clusters returns the cluster of each client, [M], as last served (Serving.Clusters); nil if there are none, or none yet. It must
// not be changed.
func (r *Round) Clusters() []int { return r.past.clusters }

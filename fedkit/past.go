package fedkit

import "fedkit.example/fedkit/config"

// SimilarityUser is a selector, or a part of one, that may use Solve.Similarity, which is computed only if it is used.
type SimilarityUser interface {
	UsesSimilarity() bool // whether it does, as it is set
}

// PastUser is a strategy, or a part of one, that may call Round.Past.
type PastUser interface {
	UsesPast() bool // whether it does, as it is set
}

// past is what the server knows of every client from the rounds so far. It is made from the History, so it survives a
// resume.
type past struct {
	rounds   []int     // by client, in how many it took part
	last     []Solve   // by client, of the last of them
	whole    bool      // all Solves are kept, not only the last ones
	solves   [][]Solve // by client, oldest first
	clusters []int     // the last known
}

// newPast keeps all Solves if the history does, or if somebody asks for them.
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

// Last returns what a client did in the last round before this one in which it took part, and in how many rounds it did; if
// in none, there is no Solve.
func (r *Round) Last(client int) (s Solve, rounds int) {
	return r.past.last[client], r.past.rounds[client]
}

// Past returns what a client did in all rounds before this one in which it took part, oldest first: how μ adapts to clients. It must not
// be changed. As that is much for many clients and rounds, it is an error if Keep leaves out Solves and no part of the strategy is a
// PastUser that UsesPast. Last is always known.
func (r *Round) Past(client int) []Solve {
	if !r.past.whole {
		r.Fail(Invalid("Options.Keep.Solves", r.opts.Keep.Solves, "left out for a strategy that calls Round.Past, or one of its parts must have UsesPast; Round.Last is always known"))
		return nil
	}
	return r.past.solves[client]
}

// Clusters returns the cluster of each client, [M], as the strategy last served them (Serving.Clusters); nil
// if it does not cluster, or not yet. It must not be changed.
func (r *Round) Clusters() []int { return r.past.clusters }

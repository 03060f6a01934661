package fedkit

// SimilarityUser is a selector, or a part of one, that may use Solve.Similarity, which is computed only if it is used.
type SimilarityUser interface {
	UsesSimilarity() bool // whether it does, as it is set
}

// past is what the server knows of every client from the rounds so far. It is made from the History, so it survives a
// resume.
type past struct {
	solves   [][]Solve // by client, oldest first
	clusters []int     // the last known
}

func newPast(fed *Federation) *past { return &past{solves: make([][]Solve, fed.Size())} }

func (p *past) add(r *Record) {
	for _, s := range r.Solves {
		if !s.Skipped {
			s.Round = r.Round
			p.solves[s.Client] = append(p.solves[s.Client], s)
		}
	}
	if r.Clusters != nil {
		p.clusters = r.Clusters
	}
}

// Past returns what a client did in the rounds before this one in which it took part, oldest first: how selectors rank
// clients and how μ adapts to them. It must not be changed.
func (r *Round) Past(client int) []Solve { return r.past.solves[client] }

// Clusters returns the cluster of each client, [M], as the strategy last served them (Serving.Clusters); nil
// if it does not cluster, or not yet. It must not be changed.
func (r *Round) Clusters() []int { return r.past.clusters }

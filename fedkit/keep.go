package fedkit

// Keep is how often a run's history keeps per-client data. With many clients that is nearly all of its memory and of its file.
// The zero value keeps everything. Totals over clients are kept of every round: Training, Mean and Spread of a Record do not
// depend on Keep, and neither do the run's results. With Never for all, a round adds less than a kilobyte, for any number of
// clients; see also Round.Past.
type Keep struct {
	Scores   int `default:"every evaluation"` // keep Scores of every n-th evaluation; Never for none
	Solves   int `default:"every round"`      // keep Solves of every n-th round; Never for none
	Clusters int `default:"every round"`      // keep Clusters of every n-th round; Never for none
	Missed   int `default:"every round"`      // keep Missed of every n-th round; Never for none
}

// Never keeps no round: see Keep.
const Never = -1

// Check implements Checker.
func (k Keep) Check(*Federation, int) error {
	for _, f := range []struct {
		name  string
		every int
		usual string
	}{{"Scores", k.Scores, "every evaluation"}, {"Solves", k.Solves, "every round"}, {"Clusters", k.Clusters, "every round"}, {"Missed", k.Missed, "every round"}} {
		if f.every < Never {
			return Invalid(f.name, f.every, "at least 1, 0 for "+f.usual+", or fedkit.Never")
		}
	}
	return nil
}

// due reports whether round t is kept; the last one is, unless every is Never.
func due(t, every, last int) bool {
	return every == 0 || every > 0 && (t%every == 0 || t == last)
}

// scores drops Scores that are not due.
func (k Keep) scores(r *Record, o Options) {
	if !due(r.Round, k.Scores*o.EvalEvery, o.Rounds) {
		r.LeaveOut(true, false)
	}
}

// thin drops everything that is not due.
func (k Keep) thin(r *Record, o Options) {
	k.scores(r, o)
	if !due(r.Round, k.Solves, o.Rounds) {
		r.LeaveOut(false, true)
	}
	if !due(r.Round, k.Clusters, o.Rounds) {
		r.Clusters = nil
	}
	if !due(r.Round, k.Missed, o.Rounds) {
		r.Missed = nil
	}
}

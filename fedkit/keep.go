package fedkit

// Keep says how often a run's history keeps what each client did and scored. With many clients that is nearly all of its
// memory and of its file. The zero value keeps everything. What all clients did together is kept of every round: Training,
// Mean and Spread of a Record do not depend on Keep, and neither does the run itself. With Never for all, a run of any number of
// clients takes less than a kilobyte more with every round; see also Round.Past.
type Keep struct {
	Scores   int `default:"every evaluation"` // evaluations from one whose Scores are kept to the next; Never for none
	Solves   int `default:"every round"`      // rounds from one whose Solves are kept to the next; Never for none
	Clusters int `default:"every round"`      // rounds from one whose Clusters are kept to the next; Never for none
	Missed   int `default:"every round"`      // rounds from one whose Missed are kept to the next; Never for none
}

// Never is a number of rounds that no run reaches: see Keep.
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

// due says whether round t, or the last one, is kept.
func due(t, every, last int) bool {
	return every == 0 || every > 0 && (t%every == 0 || t == last)
}

// scores leaves out Scores that are not to be kept.
func (k Keep) scores(r *Record, o Options) {
	if !due(r.Round, k.Scores*o.EvalEvery, o.Rounds) {
		r.LeaveOut(true, false)
	}
}

// thin leaves out everything that is not to be kept.
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

package compare

import (
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/table"
)

// Quantity is a number per run, NaN if a run does not have it. The zero value stands for Accuracy.
type Quantity struct {
	Name   string                        // of its column: "accuracy"
	Value  func(r *Run, b Basis) float64 // b is what all runs have scores of
	Format func(float64) string          // default "%.4g"
	Less   bool                          // less is better: loss, bytes
}

// Quantities of a run. Scores are on test examples. Loss is that of the last evaluated round, and Rounds is how many the run has.
var (
	Accuracy = Quantity{"accuracy", func(r *Run, b Basis) float64 { return float64(b.last(r).Accuracy) }, table.Percent, false} // at the last evaluated round
	Best     = Quantity{"best", best, table.Percent, false}                                                                     // highest accuracy of any round
	Clients  = Quantity{"clients", spread(func(s *history.Spread) history.Float { return s.Mean }), table.Percent, false}       // mean over clients on their own examples, each counting the same
	Worst    = Quantity{"worst 10 %", spread(func(s *history.Spread) history.Float { return s.Worst }), table.Percent, false}   // the same over the worst-off tenth of the clients
	Loss     = Quantity{"loss", func(r *Run, b Basis) float64 { return float64(b.last(r).Loss) }, three, true}
	Rounds   = Quantity{"rounds", rounds, table.Short, true}
	Down     = Quantity{"down", total(func(r *history.Record) float64 { return float64(r.BytesDown) }), table.Bytes, true} // bytes from the server to clients
	Up       = Quantity{"up", total(func(r *history.Record) float64 { return float64(r.BytesUp) }), table.Bytes, true}     // bytes from clients to the server
	Kept     = Quantity{"kept", kept, table.Bytes, true}                                                                   // largest size in bytes of the matrices and numbers that the strategy keeps between rounds
	Unseen   = Quantity{"unseen", mean((*history.Record).MeanUnseen), table.Percent, false}                                // mean over the test examples of clients that never took part
	// ChosenOnTest is the mean over clients' test examples, each client's model chosen by these: see fedkit.Options.ChooseOnTest.
	ChosenOnTest = Quantity{"chosen on test", mean((*history.Record).MeanChosenOnTest), table.Percent, false}
	Clusters     = Quantity{"clusters", clustering(func(c *history.Clustering) float64 { return float64(c.Count) }), table.Short, false} // nonempty clusters in the last round
	ARI          = Quantity{"ARI", clustering(func(c *history.Clustering) float64 { return float64(c.ARI) }), two, false}                // adjusted Rand index with the true groups, in the last round
	Time         = Quantity{"time", total(seconds), table.Seconds, true}                                                                 // wall time of the rounds without evaluations
)

// RoundsTo is the first round whose accuracy is at least target.
func RoundsTo(target float64) Quantity {
	return Quantity{"rounds to " + target100(target), func(r *Run, b Basis) float64 {
		if last := b.reached(r, target); last != nil {
			return float64(last.Round)
		}
		return math.NaN()
	}, table.Short, true}
}

// BytesTo is the number of bytes sent, both ways, until the accuracy was at least target.
func BytesTo(target float64) Quantity {
	return Quantity{"bytes to " + target100(target), to(target, Sent), table.Bytes, true}
}

// TimeTo is the wall time of the rounds, without evaluations, until the accuracy was at least target.
func TimeTo(target float64) Quantity {
	return Quantity{"time to " + target100(target), to(target, seconds), table.Seconds, true}
}

// Metric is a metric of Options.Metrics by its name, "macro F1", at the last evaluated round: of the global model, or the mean
// over the clients' own, as in Accuracy. More is better, unless Less is set.
func Metric(name string) Quantity {
	return Quantity{name, func(r *Run, b Basis) float64 {
		if v, ok := b.last(r).Metrics[name]; ok {
			return float64(v)
		}
		return math.NaN()
	}, three, false}
}

// On is the quantity with a basis of its own, whatever runs are compared by: compare.Accuracy.On(compare.OwnModels).
func (q Quantity) On(b Basis) Quantity {
	q = q.orAccuracy()
	of := q.Value
	q.Name, q.Value = q.Name+", "+b.Name(), func(r *Run, _ Basis) float64 { return of(r, b) }
	return q
}

// Of returns the quantity of each run: of the global model if every history has one, else of the clients' own.
//
// NaN stands for a run that does not have it. If the histories cannot be compared at all, each value is NaN.
func (q Quantity) Of(h ...*history.History) []float64 {
	v := slices.Repeat([]float64{math.NaN()}, len(h))
	runs, err := Runs(h...)
	if err != nil {
		return v
	}
	if b, err := CommonBasis(runs); err == nil {
		for i, r := range runs {
			v[i] = q.orAccuracy().Value(r, b)
		}
	}
	return v
}

func (q Quantity) orAccuracy() Quantity {
	if q.Value == nil {
		return Accuracy
	}
	return q
}

func (q Quantity) write(v float64) string {
	if q.Format == nil {
		return fmt.Sprintf("%.4g", v+0) // -0 becomes 0
	}
	return q.Format(v)
}

// beside writes half of an interval after its mean; a duration in the units of the mean.
func (q Quantity) beside(half, mean float64) string {
	if mean = math.Abs(mean); q.write(mean) == table.Seconds(mean) {
		return table.SecondsLike(half, mean)
	}
	return q.write(half)
}

// finite returns the quantity of the runs that have it.
func (q Quantity) finite(runs []*Run, b Basis) (v []float64) {
	for _, r := range runs {
		if x := q.Value(r, b); finite(x) {
			v = append(v, x)
		}
	}
	return v
}

var noScore = history.Score{Loss: history.Float(math.NaN()), Accuracy: history.Float(math.NaN())}

// last is a run's last score; of NaN if there is none.
func (b Basis) last(r *Run) *history.Score {
	if p := b.Points(r); len(p) > 0 {
		return p[len(p)-1].Score
	}
	return &noScore
}

func best(r *Run, b Basis) float64 {
	best := math.NaN()
	for _, p := range b.Points(r) {
		if a := float64(p.Score.Accuracy); !(a <= best) && finite(a) {
			best = a
		}
	}
	return best
}

// spread reads a number of the last round in which clients were evaluated.
func spread(of func(*history.Spread) history.Float) func(*Run, Basis) float64 {
	return func(r *Run, _ Basis) float64 {
		for i := len(r.History.Rounds) - 1; i >= 0; i-- {
			if s := r.History.Rounds[i].Spread(); s != nil {
				return float64(of(s))
			}
		}
		return math.NaN()
	}
}

// mean reads the accuracy of the last round that has a mean.
func mean(of func(*history.Record) *history.Score) func(*Run, Basis) float64 {
	return func(r *Run, _ Basis) float64 {
		for i := len(r.History.Rounds) - 1; i >= 0; i-- {
			if s := of(&r.History.Rounds[i]); s != nil {
				return float64(s.Accuracy)
			}
		}
		return math.NaN()
	}
}

// clustering reads a number of the last round whose clusters are known.
func clustering(of func(*history.Clustering) float64) func(*Run, Basis) float64 {
	return func(r *Run, _ Basis) float64 {
		for i := len(r.History.Rounds) - 1; i >= 0; i-- {
			if c := r.History.Rounds[i].Clustering; c != nil {
				return of(c)
			}
		}
		return math.NaN()
	}
}

func two(v float64) string   { return decimal(v, 2) }
func three(v float64) string { return decimal(v, 3) }

// kept is NaN for runs of old code, which did not record it.
func kept(r *Run, _ Basis) float64 {
	most := int64(0)
	for i := range r.History.Rounds {
		most = max(most, r.History.Rounds[i].Kept)
	}
	if most == 0 {
		return math.NaN()
	}
	return float64(most)
}

// rounds is the number of the last round: an extract (see study.Runs.Extract) does not have all of them.
func rounds(r *Run, _ Basis) float64 {
	if last := r.History.Last(); last != nil {
		return float64(last.Round)
	}
	return 0
}

// total adds up a number over all rounds.
func total(of func(*history.Record) float64) func(*Run, Basis) float64 {
	return func(r *Run, _ Basis) (sum float64) {
		for i := range r.History.Rounds {
			sum += of(&r.History.Rounds[i])
		}
		return sum
	}
}

// to adds a number up until the target is reached, NaN if it is not.
func to(target float64, of func(*history.Record) float64) func(*Run, Basis) float64 {
	return func(r *Run, b Basis) (sum float64) {
		last := b.reached(r, target)
		if last == nil {
			return math.NaN()
		}
		for k := range r.History.Rounds {
			if rec := &r.History.Rounds[k]; rec.Round <= last.Round {
				sum += of(rec)
			}
		}
		return sum
	}
}

// reached returns the first round whose accuracy is at least target, nil if there is none.
func (b Basis) reached(r *Run, target float64) *history.Record {
	for _, p := range b.Points(r) {
		if float64(p.Score.Accuracy) >= target {
			at := slices.IndexFunc(r.History.Rounds, func(rec history.Record) bool { return rec.Round == p.Round })
			return &r.History.Rounds[at]
		}
	}
	return nil
}

// Sent is how many bytes a round sent, both ways.
func Sent(r *history.Record) float64 { return float64(r.BytesDown) + float64(r.BytesUp) }

func seconds(r *history.Record) float64 { return r.Seconds }

// target100 writes a target without needless decimals: "92.5 %", "90 %".
func target100(t float64) string { return fmt.Sprintf("%.4g %%", 100*t) }

func finite(v float64) bool { return v-v == 0 }

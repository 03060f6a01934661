package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fit"
)

var (
	share       = [2]float64{0, 1}
	notNegative = [2]float64{0, math.Inf(1)}
)

// Quantities of scores, on test examples, in the last evaluated round. Whatever is of accuracy here and below is of R² for regressions,
// which have no accuracy: see Quantity.For.
var (
	// Accuracy is the share of the test examples.
	Accuracy = score(accuracy("accuracy", ""), mainOf)
	// Loss is the mean, with natural logarithm.
	Loss = score(Quantity{Name: "loss", LowerIsBetter: true, Range: notNegative, Format: three}, func(s *history.Score) float64 { return float64(s.Loss) })
	// Best is the accuracy of the round that is best on validation rows or, optimistically, on test rows if the run has none.
	Best = Quantity{Name: "best", Unit: "%", Range: share, ByRound: bestSoFar, scored: true, main: true}
)

// Quantities of all clients, in the last round that has them.
var (
	// Clients is the mean over clients on their own examples, each counting the same.
	Clients = perRound(accuracy("clients", "accuracy of clients"), ofPart((*history.Record).Spread, func(s *history.Spread) float64 { return float64(s.Mean) }))
	// Worst is the same over the worst-off tenth of the clients.
	Worst = perRound(accuracy("worst 10 %", "accuracy of the worst 10 %"), ofPart((*history.Record).Spread, func(s *history.Spread) float64 { return float64(s.Worst) }))
	// Unseen is the mean over the test examples of clients that never took part.
	Unseen = perRound(accuracy("unseen", "accuracy of unseen clients"), ofPart((*history.Record).MeanUnseen, mainOf))
	// FineTuned is the mean over clients' test examples after each has trained its model on its own: see fedkit.Options.FineTune.
	FineTuned = perRound(accuracy("fine-tuned", ""), ofPart((*history.Record).MeanFineTuned, mainOf))
	// FineTunedUnseen is FineTuned over clients that never took part.
	FineTunedUnseen = perRound(accuracy("unseen, fine-tuned", "accuracy of unseen clients, fine-tuned"), ofPart((*history.Record).MeanUnseenFineTuned, mainOf))
	// ChosenOnTest is the mean over clients' test examples, each client's model chosen by these: see fedkit.Options.ChooseOnTest.
	ChosenOnTest = perRound(accuracy("chosen on test", ""), ofPart((*history.Record).MeanChosenOnTest, mainOf))
)

// Quantities of clusters, and of their agreement with the true groups: see cluster.Agreement.
var (
	// Clusters are those that have a client.
	Clusters = clustering(Quantity{Name: "clusters", Title: "Number of clusters", Unit: "1", NoneIsBetter: true,
		Range: [2]float64{1, math.Inf(1)}, Include: []float64{1}, lacks: clustered},
		func(c *history.Clustering) float64 { return float64(c.Count) })
	// ARI is 1 for the same groups, about 0 for random ones.
	ARI = agreement("ARI", "adjusted Rand index", func(c *history.Clustering) float64 { return float64(c.ARI) })
	// NMI is 1 for the same groups, 0 for independent ones.
	NMI = agreement("NMI", "normalized mutual information", func(c *history.Clustering) float64 { return float64(c.NMI) })
	// Purity is the share of clients that have the most frequent true group of their cluster.
	Purity = agreement("purity", "purity", func(c *history.Clustering) float64 { return float64(c.Purity) })
)

// Quantities of work and traffic. Bytes and times are those of all rounds so far.
var (
	// Rounds is the number of the last one: an extract (see study.Runs.Extract) does not have all.
	Rounds = perRound(cost("rounds", "1"), func(r *history.Record) (float64, bool) { return float64(r.Round), true })
	// Down is bytes from the server to clients.
	Down = sofar(cost("down", "B"), func(r *history.Record) float64 { return float64(r.BytesDown) })
	// Up is bytes from clients to the server.
	Up = sofar(cost("up", "B"), func(r *history.Record) float64 { return float64(r.BytesUp) })
	// Sent is Down + Up, and what other links carried.
	Sent = sofar(Quantity{Name: "sent", Long: "sent, both ways", Title: "Bytes", Unit: "B", LowerIsBetter: true, Range: notNegative}, sent)
	// Time is the wall time of the rounds without evaluations.
	Time = sofar(cost("time", "s"), func(r *history.Record) float64 { return r.Seconds })
	// Kept is the largest size in bytes of the matrices and numbers that the strategy keeps between rounds.
	Kept = Quantity{Name: "kept", Unit: "B", LowerIsBetter: true, Range: notNegative, ByRound: kept}
)

// accuracy is the definition of an accuracy.
func accuracy(name, long string) Quantity {
	return Quantity{Name: name, Long: long, Unit: "%", Range: share, main: true}
}

// cost is the definition of what is better if it is less.
func cost(name, unit string) Quantity {
	return Quantity{Name: name, Unit: unit, LowerIsBetter: true, Range: notNegative}
}

// Metric is a metric of Options.Metrics by its name, "macro F1", at the last evaluated round: of the global model, or the mean
// over the clients' own, as in Accuracy. More is better, unless it is RMSE or MAE, or LowerIsBetter is set.
func Metric(name string) Quantity {
	q := Quantity{Name: name, Format: three, lacks: func(r *Run) error { return noSuch(r, "metric", name, r.Metrics()) }}
	if name == fit.RMSE || name == fit.MAE { // of any size, by the unit of the targets
		q.LowerIsBetter, q.Range, q.Format = true, notNegative, nil
	}
	return score(q, history.Main(name).Of)
}

// Note is one of the strategy's own figures (Record.Notes), in the last round that has it.
func Note(name string) Quantity {
	notes := func(r *history.Record) map[string]history.Float { return r.Notes }
	return perRound(Quantity{Name: name, lacks: func(r *Run) error { return noSuch(r, "note", name, r.names(notes)) }},
		func(r *history.Record) (float64, bool) {
			v, ok := r.Notes[name]
			return float64(v), ok
		})
}

// Link is the bytes of all rounds so far on a kind of link, such as "client_to_edge": see fedkit.Round.Send.
func Link(name string) Quantity {
	links, q := func(r *history.Record) map[string]history.Float { return r.Links }, cost(name, "B")
	q.lacks = func(r *Run) error { return noSuch(r, "link", name, r.names(links)) }
	return sofar(q, func(r *history.Record) float64 { return float64(r.Links[name]) })
}

// names returns the names of numbers of a run's rounds, sorted.
func (r *Run) names(of func(*history.Record) map[string]history.Float) []string {
	all := map[string]history.Float{}
	for i := range r.History.Rounds {
		maps.Copy(all, of(&r.History.Rounds[i]))
	}
	return slices.Sorted(maps.Keys(all))
}

// RoundsTo is the first round whose accuracy is at least target.
func RoundsTo(target float64) Quantity { return toAccuracy("rounds", target, Rounds) }

// BytesTo is the number of bytes sent, both ways, until the accuracy was at least target.
func BytesTo(target float64) Quantity { return toAccuracy("bytes", target, Sent) }

// TimeTo is the wall time of the rounds, without evaluations, until the accuracy was at least target.
func TimeTo(target float64) Quantity { return toAccuracy("time", target, Time) }

// SimulatedTo is the simulated clock at the end of the first round whose accuracy is at least target.
func SimulatedTo(target float64) Quantity { return toAccuracy("simulated", target, Simulated) }

func toAccuracy(name string, target float64, cost Quantity) Quantity {
	q := Until(Accuracy, target, cost)
	q.Name = name + " to " + target100(target)
	return q
}

// Until is a cost, Rounds say, in the first round in which a quantity is at least target, or at most if less is better; NaN if there
// is none.
func Until(of Quantity, target float64, cost Quantity) Quantity {
	name := fmt.Sprintf("%s to %s %s", cost.Name, of.Name, of.write(target))
	return Quantity{Name: name, Unit: cost.Unit, LowerIsBetter: true, Range: cost.Range, main: of.main, Summary: func(r *Run, b Basis) float64 {
		values := of.ByRound(r, b)
		i := slices.IndexFunc(values, func(v Value) bool { return v.Of >= target && !of.LowerIsBetter || v.Of <= target && of.LowerIsBetter })
		if i < 0 {
			return math.NaN()
		}
		for _, c := range cost.ByRound(r, b) {
			if c.Round == values[i].Round {
				return c.Of
			}
		}
		return math.NaN() // it has no clock
	}}
}

// ofPart reads a number of what only some rounds have.
func ofPart[T any](part func(*history.Record) *T, number func(*T) float64) func(*history.Record) (float64, bool) {
	return func(r *history.Record) (float64, bool) {
		if p := part(r); p != nil {
			return number(p), true
		}
		return 0, false
	}
}

// mainOf is the accuracy of a score, or R².
func mainOf(s *history.Score) float64 { return s.Main().Of(s) }

// clustering is a number of a round whose clusters are known.
func clustering(q Quantity, number func(*history.Clustering) float64) Quantity {
	return perRound(q, ofPart(func(r *history.Record) *history.Clustering { return r.Clustering }, number))
}

// agreement is an index of how well clusters agree with the true groups. It may be below 0.
func agreement(name, long string, number func(*history.Clustering) float64) Quantity {
	q := Quantity{Name: name, Long: long, Title: "Agreement of clusters with true groups", Range: share, Include: share[:], Format: two}
	q = clustering(q, number)
	q.lacks = func(r *Run) error {
		if err := clustered(r); err != nil {
			return err
		}
		if !slices.ContainsFunc(q.ByRound(r, 0), func(v Value) bool { return finite(v.Of) }) {
			return fmt.Errorf("history %q has nothing to compare its clusters with: its federation has no true groups, or only one", r.Name)
		}
		return nil
	}
	return q
}

// clustered reports a run that does not cluster its clients.
func clustered(r *Run) error {
	if slices.ContainsFunc(r.History.Rounds, func(rec history.Record) bool { return rec.Clustering != nil }) {
		return nil
	}
	return fmt.Errorf("history %q has no clustering (Record.Clustering): %q does not cluster its clients", r.Name, r.History.Strategy)
}

// bestSoFar has the accuracy of the best round up to each. The best one is chosen on validation rows if the run has them.
func bestSoFar(r *Run, b Basis) (all []Value) {
	on := map[int]float64{} // by round, what it is chosen by
	if r.History.Validated() {
		for _, v := range Accuracy.OnValidation().ByRound(r, b) {
			on[v.Round] = v.Of
		}
	}
	most, best := math.NaN(), math.NaN()
	for _, v := range Accuracy.ByRound(r, b) {
		by := v.Of
		if len(on) > 0 {
			by = on[v.Round]
		}
		if !(by <= most) && finite(by) {
			most, best = by, v.Of
		}
		all = append(all, Value{v.Round, best})
	}
	return all
}

// kept has the largest size up to each round; no values for runs of old code, which did not record it.
func kept(r *Run, _ Basis) (all []Value) {
	most := int64(0)
	for i := range r.History.Rounds {
		if most = max(most, r.History.Rounds[i].StateBytes); most > 0 {
			all = append(all, Value{r.History.Rounds[i].Round, float64(most)})
		}
	}
	return all
}

// sent is how many bytes a round sent, on all links.
func sent(r *history.Record) float64 {
	return float64(r.BytesDown) + float64(r.BytesUp) + r.LinkBytes()
}

package fedkit_test

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// tuning is FedAvg whose clients train the model for themselves where it serves them: what Options.FineTune replaces.
type tuning struct {
	strategy.FedAvg
	By fedkit.Local
}

func (s *tuning) Unwrap() fedkit.Strategy { return &s.FedAvg }

func (s *tuning) Serve(r *fedkit.Round) fedkit.Serving {
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.X, Local: s.By, StayLocal: true})
	return fedkit.Serving{Global: s.X, Models: u.Local, Assign: r.AllClients()}
}

func (s *tuning) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.X, Local: s.By, StayLocal: true})
	return fedkit.Serving{Models: u.Local, Assign: r.AllClients()}
}

// Fine-tuning after a run has the scores of a strategy that does it by hand, and leaves everything else as it was, resumed or not.
func TestFineTune(t *testing.T) {
	ctx := context.Background()
	all := expect.Value(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 8, Alpha: 0.1, Seed: 1}, model.MLP(8)))(t)
	fed := expect.Value(all.HoldOut(2, 1))(t)
	by := fedkit.Local{Epochs: 2, Batch: 16, LR: 0.05}
	avg := strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Batch: 16, LR: 0.1}}
	run := func(s fedkit.Strategy, o fedkit.Options) *history.History {
		h := expect.Value(fedkit.Run(ctx, fed, s, o))(t)
		for i := range h.Rounds {
			h.Rounds[i].Seconds, h.Rounds[i].EvalTime = 0, 0
		}
		return h
	}
	plain := run(&strategy.FedAvg{Fraction: avg.Fraction, Local: avg.Local}, fedkit.Options{Rounds: 4})
	byHand := run(&tuning{avg, by}, fedkit.Options{Rounds: 4})
	tuned := run(&strategy.FedAvg{Fraction: avg.Fraction, Local: avg.Local}, fedkit.Options{Rounds: 4, FineTune: &by})
	last := *tuned.Last()
	expect.That(t, reflect.DeepEqual(last.FineTuned.Scores, byHand.Last().Scores) && reflect.DeepEqual(last.FineTuned.Unseen, byHand.Last().Unseen), "fine-tuned %+v, by hand %+v", last.FineTuned, byHand.Last())
	expect.That(t, len(last.FineTuned.Unseen) == 2 && last.MeanFineTuned().Accuracy > last.Mean().Accuracy, "accuracy %v → %v", last.Mean(), last.MeanFineTuned())
	expect.That(t, compare.FineTuned.Of(tuned)[0] == float64(last.MeanFineTuned().Accuracy) && compare.FineTunedUnseen.Of(tuned)[0] == float64(last.MeanUnseenFineTuned().Accuracy), "quantities")
	expect.That(t, strings.Contains(compare.Table(tuned).String(), "fine-tuned"), "no column in\n%s", compare.Table(tuned))

	// After a resume of a shorter run, and from the file.
	path := filepath.Join(t.TempDir(), "c")
	run(&strategy.FedAvg{Fraction: avg.Fraction, Local: avg.Local}, fedkit.Options{Rounds: 2, FineTune: &by, Checkpoint: path})
	resumed := run(&strategy.FedAvg{Fraction: avg.Fraction, Local: avg.Local}, fedkit.Options{Rounds: 4, FineTune: &by, Checkpoint: path, History: path + ".history"})
	again := run(&strategy.FedAvg{Fraction: avg.Fraction, Local: avg.Local}, fedkit.Options{Rounds: 4, FineTune: &by, Checkpoint: path})
	expect.That(t, reflect.DeepEqual(again.Last().FineTuned, last.FineTuned), "a finished run has %+v", again.Last().FineTuned)
	expect.That(t, reflect.DeepEqual(resumed.Rounds, tuned.Rounds), "resumed %+v\nwhole %+v", resumed.Rounds, tuned.Rounds)
	stored, light := expect.Value(history.Load(path+".history"))(t), expect.Value(history.LoadLight(path+".history"))(t)
	expect.That(t, reflect.DeepEqual(stored.Last().FineTuned, last.FineTuned) && light.Last().MeanFineTuned().Accuracy == last.MeanFineTuned().Accuracy, "light %+v", light.Last().FineTuned)
	expect.That(t, light.Last().FineTuned.Scores == nil && light.OnValidation().Last().FineTuned == nil, "light has scores of clients")

	for i := range tuned.Rounds { // the rest is the same
		expect.That(t, (tuned.Rounds[i].FineTuned != nil) == (i == 3), "round %d: %+v", i+1, tuned.Rounds[i].FineTuned)
		tuned.Rounds[i].FineTuned = nil
	}
	expect.That(t, reflect.DeepEqual(plain.Rounds, tuned.Rounds), "fine-tuning changes the run")

	// Personal models, an early end and a share of the clients.
	h := run(&strategy.IFCA{K: 2, Local: avg.Local}, fedkit.Options{Rounds: 9, EvalEvery: 2, EvalFraction: 0.5, FineTune: &by, StopAt: fedkit.StopAt{Value: 0.01}})
	examples := 0
	for i, s := range h.Last().FineTuned.Scores {
		expect.That(t, s.Examples == h.Last().Scores[i].Examples, "client %d: %+v", i, s)
		examples += s.Examples
	}
	expect.That(t, len(h.Rounds) == 2 && examples > 0, "%d rounds, %d examples", len(h.Rounds), examples)
}

// What cannot be fine-tuned is refused before anything runs, or at the first evaluation.
func TestFineTuneRefused(t *testing.T) {
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 3}, model.MLP(2)))(t)
	run := func(s fedkit.Strategy, by fedkit.Local) error {
		_, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 2, FineTune: &by})
		return err
	}
	expect.Invalid(t, "Options.FineTune.LR = 0: must be a number > 0")(run(&strategy.FedAvg{}, fedkit.Local{Epochs: 2}))
	expect.Invalid(t, "Options.FineTune = set: must be left out for a strategy that mixes predictions")(run(&ensemble{}, fedkit.Local{}))
	err := run(&strategy.FedAvg{}, fedkit.Local{LR: 1e30})
	expect.That(t, err != nil && strings.Contains(err.Error(), "round 2: fine-tune: "), "error %v", err)
}

// ensemble serves the mean of two models' predictions.
type ensemble struct{ State struct{ X *fedkit.Matrix } }

func (s *ensemble) Start(r *fedkit.Round) error { s.State.X = r.Models(2); return r.Err() }
func (s *ensemble) Round(*fedkit.Round) error   { return nil }
func (s *ensemble) Serve(r *fedkit.Round) fedkit.Serving {
	var half [][]float64
	for range r.Clients() {
		half = append(half, []float64{0.5, 0.5})
	}
	return fedkit.Serving{Models: s.State.X, Ensemble: half}
}

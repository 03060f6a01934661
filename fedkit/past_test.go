package fedkit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// peek is a selector that keeps what it is told of the clients before it chooses all of them.
type peek struct{ seen *[][]ClientResult }

func (peek) UsesSimilarity() bool { return true }

func (p peek) Select(r *Round, _ int) []int {
	*p.seen = nil
	for _, c := range r.AllClients() {
		past := r.Past(c)
		if last, rounds := r.Last(c); rounds != len(past) || rounds > 0 && last != past[rounds-1] {
			r.Fail(fmt.Errorf("client %d: %+v of %d rounds, the past is %+v", c, last, rounds, past))
		}
		*p.seen = append(*p.seen, slices.Clone(past))
	}
	return r.AllClients()
}

// picky is mean with that selector, two jobs a round and μ by client.
type picky struct {
	seen  *[][]ClientResult `config:"-"`
	State struct{ X *Matrix }
}

func (*picky) UsesPast() bool { return true }

func (s *picky) Start(r *Round) error { s.State.X = r.Models(1); return r.Err() }

func (s *picky) Round(r *Round) error {
	S := r.Select(peek{s.seen}, 0)
	l := Local{Batch: 4, LR: 0.1}
	r.Train(Job{Clients: S, Start: s.State.X, Local: l})
	u := r.Train(Job{Clients: S, Start: s.State.X, Local: l, Pulls: []Pull{{Weights: []float64{0.5, 0.25, 1}}}})
	s.State.X = u.Models.Mean(nil)
	return r.Err()
}

func (s *picky) Serve(*Round) Serving { return Serving{Global: s.State.X, Clusters: nil} }

func TestPastIsWhatTheRecordsSay(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	var whole, resumed [][]ClientResult
	h := expect.Value(Run(context.Background(), fed, &picky{seen: &whole}, Options{Rounds: 4}))(t)
	for c, past := range whole {
		if len(past) != 3 {
			t.Fatalf("client %d: %+v, want three rounds", c, past)
		}
		for i, r := range h.Rounds[:3] {
			if len(r.Results) != 3 || r.Results[c].Steps != []int{2, 6, 2}[c] {
				t.Fatalf("two jobs in a round: %+v", r.Results)
			}
			if past[i] != r.Results[c] || past[i].Round != i+1 || past[i].Examples != []int{4, 9, 2}[c] || past[i].Mu != []Float{0.5, 0.25, 1}[c] {
				t.Errorf("client %d, round %d: %+v; the record says %+v", c, i+1, past[i], r.Results[c])
			}
			if s := past[i].Similarity; !(s > 0 && s <= 1+1e-6) {
				t.Errorf("client %d, round %d: similarity %v", c, i+1, s)
			}
		}
	}

	o := Options{Rounds: 4, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	upTo(t, fed, &picky{seen: &resumed}, o, 2)
	expect.Value(Run(context.Background(), fed, &picky{seen: &resumed}, o))(t)
	if !reflect.DeepEqual(whole, resumed) {
		t.Errorf("after a resume the past is %+v, want %+v", resumed, whole)
	}
}

// asks is a strategy that may have the past though the history leaves it out.
type asks struct {
	picky
	uses bool
}

func (s *asks) UsesPast() bool { return s.uses }

func TestPastIsThereForThoseWhoAsk(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	light := Options{Rounds: 3, Keep: Keep{Results: Never}}
	var seen [][]ClientResult
	if _, err := Run(context.Background(), fed, &asks{picky{seen: &seen}, true}, light); err != nil || len(seen[0]) != 2 {
		t.Errorf("%v, and the past is %+v", err, seen)
	}
	expect.Invalid(t, "Options.Keep.Results = -1: must be left out")(Run(context.Background(), fed, &asks{picky{seen: &seen}, false}, light))
}

// nudge moves what the last client sends by a number.
type nudge float64

func (n nudge) Intercept(u *Updates, rng *rand.Rand) *Matrix {
	last := len(u.Results) - 1
	shift := slices.Repeat([]float32{float32(n)}, u.Models.Cols())
	shift[0] += float32(rng.Float64())
	return u.Models.Put([]int{last}, u.Models.Take(last).Add(NewMatrix(shift, 1, len(shift))))
}

func (nudge) String() string { return "nudged" }

func TestIntercept(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	bad := fed.Intercept(nudge(2)).Intercept(nudge(3))
	if !strings.HasSuffix(bad.Rule, "; nudged; nudged") {
		t.Errorf("rule %q", bad.Rule)
	}
	l := Local{Batch: 4, LR: 0.1}
	var states [3][]float32
	var records [3]Record
	for i, f := range []*Federation{fed, bad, bad} {
		s := &mean{Local: l}
		h := expect.Value(Run(context.Background(), f, s, Options{Rounds: 1, Seed: 3, Concurrency: 1 + i}))(t)
		states[i] = expect.Value(s.State.X.Host())(t)
		records[i] = h.Rounds[0]
	}
	if !slices.Equal(states[1], states[2]) {
		t.Error("the same seed gives other bytes")
	}
	d := len(states[0])
	for j := 1; j < d; j++ { // the last client has 2 of 15 examples
		if got, want := float64(states[1][j]-states[0][j]), 5*2.0/15; math.Abs(got-want) > 1e-5 {
			t.Errorf("parameter %d moved by %v, want %v", j, got, want)
		}
	}
	if records[1].Results[1].Drift != records[0].Results[1].Drift || !(records[1].Results[2].Drift > 5) {
		t.Errorf("%+v, without interceptors %+v", records[1].Results, records[0].Results)
	}

	// NaN that arrives is found, whoever made it.
	expect.Error(t, "round 1: train: client 2 returned an update that is not finite")(
		Run(context.Background(), fed.Intercept(nudge(math.NaN())), &mean{Local: l}, Options{Rounds: 1}))
}

func TestWithData(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	d := *fed.Data
	d.Train.Labels = slices.Clone(d.Train.Labels)
	slices.Reverse(d.Train.Labels)
	other := expect.Value(fed.Intercept(nudge(1)).WithData(&d, "raised"))(t)
	if !strings.HasSuffix(other.Rule, "; nudged; raised") || len(other.interceptors) != 1 {
		t.Errorf("rule %q, %d interceptors", other.Rule, len(other.interceptors))
	}
	d.Shape = append([]int{1}, d.Shape...)
	expect.Error(t, "data = ")(fed.WithData(&d, "x"))
}

func TestMask(t *testing.T) {
	fed, _ := toy(t, 4)
	task := *fed.Task
	task.Params = []Param{{Name: "a/weights", Shape: []int{2, 1}}, {Name: "a/biases", Shape: []int{1}}, {Name: "ab/weights", Shape: []int{2}}}
	for want, layers := range map[string][]string{"[1 1 1 0 0]": {"a"}, "[0 0 1 0 0]": {"a/biases"}, "[1 1 1 1 1]": {"a", "ab"}, "[0 0 0 0 0]": nil} {
		if got, err := task.Mask(layers...); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%v: %v, %v; want %s", layers, got, err, want)
		}
	}
	expect.Error(t, `layer = "b": must be one of a/weights, a/biases, ab/weights, or the part of one before a slash`)(task.Mask("b"))
}

package strategy

import (
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit"
)

// FedEff is federated averaging in which each client trains for as many local epochs as fit into the round time. Client i
// receives a model in β_i seconds, takes σ_i for an epoch, and sends a model in δ_i; β_a, σ_a and δ_a are the means over all M
// clients:
//
//	E    = τ E_b                  the epochs of an average client
//	ERT  = ⌈E σ_a + β_a + δ_a⌉    the estimated round time
//	CT_i = ERT − (β_i + δ_i)      client i's time to compute
//	E_i  = ⌊CT_i/σ_i⌋
//	x    ← Σ_{i∈S} (n_i/N) w_i
//
// A client with E_i < 1 is excluded from the round, and is in Record.Absences. If no client is left, x does not change. E_i has
// no upper limit. With devices, each round notes ERT as "estimated seconds".
//
// With Initialize, the first round is the paper's initialization: all M clients train x for one epoch, x ← Σ_i (n_i/n) w_i, and
// β_i, σ_i and δ_i are the times that were measured. It costs the time, bytes and steps of any round, and E_i count from the second.
// Without it, and for clients that were lost in it, the three are those of the federation's devices while on. The paper's four
// classes of epochs are
//
//	EC     Equal                  the same for all clients and in all rounds, as in FedAvg
//	UEC    the default            they vary over clients
//	EIC    Equal, and a Schedule  they vary over rounds
//	UEIC   a Schedule             they vary over both: the server changes τ during training
//
// x is [1, d]. Identities: with Equal and τ = 1 it is FedAvg, after the initialization if there is one; also without Equal on equal
// clients, if ERT is not rounded or an epoch takes longer than a Unit.
//
// Source: Narmadha and Varalakshmi, "FedEff: efficient federated learning with optimal local epochs for heterogeneous clients",
// Algorithm 2 and Equations 11 to 14.
type FedEff struct {
	Fraction   float64           // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector   // chooses the cohort; default uniformly at random
	Local      fedkit.Local      // E_b, B, η; its Steps must stay 0
	Tau        float64           `range:"(0,1]" default:"1"` // τ, the epoch deciding factor: a smaller one shortens rounds
	Schedule   fedkit.Schedule   // multiplies τ by its factor of the round; default: constant τ
	Equal      bool              // all train for ⌊E⌋ epochs, at least one, on any device
	Initialize bool              // begin with the paper's initialization round, of one epoch by all clients
	Unit       float64           `range:"[0,inf)" default:"1"` // s, ERT is rounded up to a multiple; fedkit.Zero: not rounded. Keep it much shorter than an epoch, or all train longer than E
	Aggregator fedkit.Aggregator // default aggregate.Mean
	Weighting  Weighting         // default ByExamples, as in the paper
	State
}

// Check implements fedkit.Checker.
func (s *FedEff) Check(fed *fedkit.Federation, _ int) error {
	switch {
	case s.Local.Steps != 0:
		return fedkit.Invalid("Local.Steps", s.Local.Steps, "0: FedEff counts in epochs")
	case s.Equal || fed == nil:
		return nil
	case fed.Devices == nil:
		return fedkit.Invalid("Federation.Devices", "nil", "set by Federation.WithDevices, unless Equal is set")
	}
	for i, d := range fed.Devices {
		if d.PerExample == 0 {
			return fedkit.Invalid(fmt.Sprintf("Federation.Devices[%d].PerExample", i), 0, "> 0: an epoch that takes no time fits any number of times")
		}
	}
	return nil
}

// UsesPast implements fedkit.PastUser: the times measured in the first round.
func (s *FedEff) UsesPast() bool { return s.Initialize }

// Round implements fedkit.Strategy.
func (s *FedEff) Round(r *fedkit.Round) error {
	if s.Initialize && r.T == 1 {
		all := r.AllClients()
		u := r.Train(fedkit.Job{Clients: all, Start: s.X, Local: s.Local, Epochs: slices.Repeat([]int{1}, len(all))})
		s.X = combine(r, u, s.Aggregator, s.Weighting)
		return r.Err()
	}
	S := r.Select(s.Selector, s.Fraction)
	e := s.tau(r) * float64(s.Local.WithDefaults().Epochs)
	E := slices.Repeat([]int{max(1, whole(e))}, len(S))
	if r.Fed.Devices != nil { // always, unless Equal is set
		if ert := s.roundTime(r, e); !s.Equal {
			S, E = s.fitting(r, S, ert)
		}
	}
	if len(S) == 0 {
		return r.Err()
	}
	u := r.Train(fedkit.Job{Clients: S, Start: s.X, Local: s.Local, Epochs: E})
	s.X = combine(r, u, s.Aggregator, s.Weighting)
	return r.Err()
}

// tau returns τ of the round.
func (s *FedEff) tau(r *fedkit.Round) float64 {
	tau := s.Tau
	if s.Schedule != nil {
		t := r.T
		if s.Initialize {
			t--
		}
		tau *= s.Schedule.Factor(t)
	}
	if !(tau > 0 && tau <= 1) {
		r.Fail(fedkit.Invalid("Schedule", fmt.Sprintf("τ = %v in round %d", tau, r.T), "such that τ is in (0, 1]"))
	}
	return tau
}

// roundTime returns ERT for E epochs.
func (s *FedEff) roundTime(r *fedkit.Round, e float64) (ert float64) {
	for i := range r.Clients() {
		receive, epoch, send := s.times(r, i)
		ert += (e*epoch + receive + send) / float64(r.Clients())
	}
	if s.Unit > 0 {
		ert = s.Unit * math.Ceil(ert/s.Unit-roundOff)
	}
	r.Note("estimated seconds", ert)
	return ert
}

// times returns β_i, σ_i and δ_i of a client.
func (s *FedEff) times(r *fedkit.Round, i int) (receive, epoch, send float64) {
	receive, epoch, send = r.Estimate(i)
	if s.Initialize {
		if past := r.Past(i); len(past) > 0 && past[0].Round == 1 { // Pace.PartialWork may have cut the epoch short
			first := past[0]
			return float64(first.Received - first.Begin), max(epoch, float64(first.Finished-first.Received)), float64(first.Arrived - first.Finished)
		}
	}
	return receive, epoch, send
}

// fitting returns the clients with time for an epoch, and their E_i. It excludes the others from the round.
func (s *FedEff) fitting(r *fedkit.Round, some []int, ert float64) (S, E []int) {
	var slow []int
	for _, i := range some {
		receive, epoch, send := s.times(r, i)
		if n := whole((ert - (receive + send)) / epoch); n < 1 {
			slow = append(slow, i)
		} else {
			S, E = append(S, i), append(E, n)
		}
	}
	r.Exclude(slow...)
	return S, E
}

// roundOff is the tolerance for quotients of times: rounding must not cost an epoch.
const roundOff = 1e-9

// whole returns ⌊x⌋, capped beyond what any job can have.
func whole(x float64) int { return int(min(math.Floor(x+roundOff), 1<<40)) }

package fedkit

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fedkit.example/fedkit/cluster"
)

// grouped is a strategy that groups its clients by their models, and nothing else.
type grouped struct {
	mean
	by cluster.Func
}

func (g *grouped) Round(r *Round) error {
	r.Cluster(g.by, r.Points(r.Models(r.Clients())), 2)
	return r.Err()
}

// A clustering that takes long does not keep a run that was canceled.
func TestClusteringHearsACancel(t *testing.T) {
	fed, _ := toy(t, 4, 4, 4)
	ctx, cancel := context.WithCancel(t.Context())
	over, late := make(chan bool), make(chan bool, 1)
	s := &grouped{by: func(p *cluster.Points, _ int, _ *rand.Rand) ([]int, error) {
		cancel()
		select {
		case <-over:
		case <-time.After(20 * time.Second): // Run waits for this function
			late <- true
		}
		return make([]int, p.Len()), nil
	}}
	_, err := Run(ctx, fed, s, Options{Rounds: 1})
	close(over)
	if !errors.Is(err, context.Canceled) || len(late) > 0 {
		t.Errorf("error %v, and Run waited for the clusterer: %v", err, len(late) > 0)
	}
}

// A panic in a clusterer is an error that says where, as elsewhere in a strategy.
func TestPanicInAClusterer(t *testing.T) {
	fed, _ := toy(t, 4, 4, 4)
	s := &grouped{by: func(*cluster.Points, int, *rand.Rand) ([]int, error) { panic("no idea") }}
	_, err := Run(t.Context(), fed, s, Options{Rounds: 1})
	if err == nil || !strings.Contains(err.Error(), "cluster: panic: no idea\n\tcluster.Func.Cluster ") {
		t.Errorf("error %v", err)
	}
}

// Inner products of 100 rows take 12 bytes for each two of them. Too many are refused before they are computed, and by a strategy's Check
// before anything runs.
func TestPairsThatDoNotFitAreRefused(t *testing.T) {
	m := Zeros(100, 3)
	for _, bytes := range []float64{120_000, 119_999} {
		machine(t, bytes)
		_, points := m.Points()
		_, gram := m.Gram()
		for _, err := range []error{points, gram, new(Federation).FitsPairs("rows", 100)} {
			want := "invalid: rows = 100: must be at most 99: the products of each two take 120 kB, and 120 kB are free"
			if fits := bytes == 120_000; fits && err != nil || !fits && (err == nil || err.Error() != want) {
				t.Errorf("%.0f bytes: error %v, want %q", bytes, err, want)
			}
		}
	}
}

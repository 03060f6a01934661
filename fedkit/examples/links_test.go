package examples_test

import (
	"math"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// sameScores compares the clients' losses, up to the rounding of float32.
func sameScores(t *testing.T, name string, a, b *fedkit.Record) {
	t.Helper()
	for i, s := range a.Scores {
		if got, want := float64(s.Loss), float64(b.Scores[i].Loss); !(math.Abs(got-want) <= 1e-5*want) {
			t.Errorf("%s: client %d has a loss of %v, want %v", name, i, got, want)
		}
	}
}

// With κ2 = 1 the edges change nothing but the way of FedAvg's bytes, whatever their number, also under an attack.
func TestHierFAVGIsFedAvg(t *testing.T) {
	plain, _ := rivals()
	attacked := must.M1(attack.Apply(plain, 0.3, attack.SignFlip{}, 1))
	l, o := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}, fedkit.Options{Rounds: 3, Seed: 3}
	for name, fed := range map[string]*fedkit.Federation{"plain": plain, "attacked": attacked} {
		want := run(t, fed, &strategy.FedAvg{Fraction: 0.5, Local: l}, o).Last()
		for _, edges := range []int{1, 2, 5} {
			got := run(t, fed, &examples.HierFAVG{Fraction: 0.5, Local: l, Edges: edges, Kappa2: 1}, o).Last()
			sameScores(t, name, got, want)
			if got.BytesDown != 0 || got.BytesUp != 0 || int64(got.Links["edge_to_client"]) != want.BytesDown || int64(got.Links["client_to_edge"]) != want.BytesUp {
				t.Errorf("%s, %d edges: %+v, want the bytes of %+v", name, edges, got.Links, want)
			}
		}
	}
}

// On the complete graph, D-PSGD is FedAvg of all clients.
func TestDPSGDIsFedAvg(t *testing.T) {
	plain, _ := rivals() // clients of one size
	l, o := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}, fedkit.Options{Rounds: 3, Seed: 3}
	want := run(t, plain, &strategy.FedAvg{Local: l}, o).Last()
	got := run(t, plain, &examples.DPSGD{Local: l, Offsets: []int{1, 2, 3}}, o).Last()
	sameScores(t, "complete graph", got, want)
	if got.BytesDown+got.BytesUp != 0 || int64(got.Links["client_to_client"]) != 5*want.BytesUp {
		t.Errorf("%+v, want five times %d bytes", got.Links, want.BytesUp)
	}
	ring := run(t, plain, &examples.DPSGD{Local: l}, o).Last()
	if int64(ring.Links["client_to_client"]) != 2*want.BytesUp || ring.Global.Loss == ring.Mean().Loss {
		t.Errorf("%+v", ring)
	}
}

// On a ring of six, a client's model becomes the mean of its own and its two neighbors', and the mean of all stays where it is.
func TestDPSGDMixesNeighbors(t *testing.T) {
	plain, _ := rivals()
	l, o := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}, fedkit.Options{Rounds: 1, Seed: 3}
	alone, ring := &strategy.LocalOnly{Local: l}, &examples.DPSGD{Local: l}
	run(t, plain, alone, o)
	run(t, plain, ring, o)
	w, x, d := must.M1(alone.State.W.Host()), must.M1(ring.State.X.Host()), plain.Task.Dim()
	for i := range x {
		c, j := i/d, i%d
		if want := (w[(c+5)%6*d+j] + w[i] + w[(c+1)%6*d+j]) / 3; math.Abs(float64(x[i]-want)) > 1e-6 {
			t.Fatalf("client %d, parameter %d: %v, want %v", c, j, x[i], want)
		}
	}
	if far := must.M1(ring.State.X.Mean(nil).Sub(alone.State.W.Mean(nil)).Norms())[0]; far > 1e-6 {
		t.Errorf("the means are %v apart", far)
	}
}

// Seconds computed by hand. A client i trains for 24(i+1) s and sends or receives a model in 1 s; an edge receives one in 2 s from
// clients or the cloud, and sends one in 3 s.
func TestLinksTakeTheirTime(t *testing.T) {
	plain, _ := rivals()
	model := float64(plain.Task.Bytes())
	var devices sim.Given
	for i := range 6 {
		devices = append(devices, sim.Device{PerExample: float64(i + 1), Down: model, Up: model})
	}
	timed := must.M1(plain.WithDevices(devices))
	edged := must.M1(timed.WithEdges(2, sim.Devices{Down: sim.Constant(model / 2), Up: sim.Constant(model / 3)}))
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}
	for _, c := range []struct {
		name string
		fed  *fedkit.Federation
		s    fedkit.Strategy
		want float64
	}{
		// Client 5 sends two models, as each client does, and its neighbors wait for them.
		{"ring", timed, &examples.DPSGD{Local: l}, 24*6 + 2},
		{"complete graph", timed, &examples.DPSGD{Local: l, Offsets: []int{1, 2, 3}}, 24*6 + 5},
		{"FedAvg", timed, &strategy.FedAvg{Local: l}, 1 + 24*6 + 1},
		{"edges without limits", timed, &examples.HierFAVG{Local: l, Kappa2: 1}, 1 + 24*6 + 1},
		// Down: 2 s to the edge, 9 s for its three clients; the edge of client 5 has its model 2 s after it, and sends to the cloud for 3 s.
		{"edges", edged, &examples.HierFAVG{Local: l, Kappa2: 1}, 2 + 9 + 24*6 + 2 + 3},
		// The edges of clients 4 and 5 do not wait for each other: the slower one takes 9 + 144 + 2 s twice.
		{"two averages of the edges", edged, &examples.HierFAVG{Local: l, Kappa2: 2}, 2 + 2*(9+24*6+2) + 3},
	} {
		h := run(t, c.fed, c.s, fedkit.Options{Rounds: 2})
		if a, b := float64(h.Rounds[0].Clock), float64(h.Rounds[1].Clock); math.Abs(a-c.want) > 1e-6 || math.Abs(b-2*c.want) > 1e-6 {
			t.Errorf("%s: rounds end after %v and %v s, want %v and twice as many", c.name, a, b, c.want)
		}
	}
	expect.Error(t, "edges")(timed.WithEdges(0, sim.Devices{}))
}

// With a latency of 1 s and all else free, a round lasts as many seconds as messages follow one another: those without bytes are none.
func TestLatencyIsOfMessages(t *testing.T) {
	plain, twin := rivals()
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}
	for _, c := range []struct {
		fed   *fedkit.Federation
		s     fedkit.Strategy
		first fedkit.Float // s of the first round
		next  fedkit.Float // and of the second
	}{
		{plain, &strategy.LocalOnly{Local: l}, 0, 0},
		{plain, &strategy.FedAvg{Local: l}, 2, 2},
		{plain, &strategy.IFCA{Local: l}, 2, 2},
		{plain, &strategy.FedRep{Local: l}, 2, 2},
		{plain, &strategy.FedCluster{K: 2, Clusterer: cluster.KMeans{}, Local: l}, 1 + 4, 4}, // label shares, then two clusters in turn
		{plain, &strategy.FedSC{K: 2, Parallel: true, Local: l}, 2 + 2, 2},                   // a public key and label shares
		{plain, &examples.Ditto{Local: l}, 2, 2},
		{plain, &examples.PFedMe{Local: l}, 2, 2}, // R = 20
		{plain, &examples.FedEM{Local: l}, 1 + 3, 1 + 3},
		{plain, &examples.QFedAvg{Local: l}, 2, 2},
		{plain, &examples.FedProto{Local: l}, 2, 2},
		{plain, &examples.PACFL{Local: l}, 1 + 2, 2}, // subspaces
		{plain, &examples.DPSGD{Local: l}, 2, 2},     // one neighbor after the other
		{plain, &examples.HierFAVG{Local: l, Edges: 6, Kappa2: 3}, 6, 6},
		{plain, &examples.MOON{Local: l}, 2, 2},
		{plain, &examples.Partial{Local: l}, 2, 2},
		{twin, &examples.APFL{Local: l}, 2, 2},
	} {
		fed := must.M1(c.fed.WithDevices(sim.Devices{Latency: sim.Constant(1)}))
		h := must.M1(fedkit.Run(t.Context(), fed, c.s, fedkit.Options{Rounds: 2, EvalEvery: 2}))
		if a, b := h.Rounds[0].Clock, h.Rounds[1].Clock; a != c.first || b-a != c.next {
			t.Errorf("%T: %v and %v s, want %v and %v", c.s, a, b-a, c.first, c.next)
		}
	}
}

package partition

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
)

// Dirichlet is label and quantity skew. For every class c it draws the clients' shares
//
//	p_c ~ Dir(α·1)    [M]
//
// and splits the class's training rows and its test rows, each shuffled, by these same shares, so that a client is
// tested on the labels it trains on. Every row is assigned. E p_ci = 1/M and Var p_ci = (1/M)(1 − 1/M)/(αM + 1): a
// small α gives each class to a few clients, a large one gives all clients the same.
//
// A client short of MinTrain or MinTest is topped up, one row at a time, from the client that holds the most rows of
// the wanted label and can spare one. Nothing is redrawn. The wanted label is the one most missing from the client's
// own label distribution: its drawn shares n_c·p_ci for training rows and, for test rows, the training labels it ends
// up with. Only if no client can spare any of those is it another. So a topped-up client keeps its label distribution,
// but the smallest clients have MinTrain rows instead of Dirichlet's number, and large holders give up a little.
// MinTrain = 1 changes least. If αM is small, or there are few rows per client, many clients are topped up and MinTrain
// is the usual size.
//
// With Redraw, the shares are drawn again until every client has MinTrain training rows, and no training row is moved. A client that
// already has an equal share of all rows, N/M, gets none of the classes after that, so that sizes differ less. Such are the program of
// Li et al., Federated Learning on Non-IID Data Silos, 2022 (arXiv 2102.02079), and those that took it over.
//
// Source: T.-M. H. Hsu, H. Qi, M. Brown, Measuring the Effects of Non-Identical Data Distribution for Federated Visual
// Classification, 2019 (arXiv 1909.06335), who draw each client's labels from Dir(α·p), at equal sizes. Drawing per
// class, with unequal sizes, is from M. Yurochkin et al., Bayesian Nonparametric Federated Learning of Neural Networks,
// 2019 (arXiv 1905.12022).
type Dirichlet struct {
	Clients  int     // M; 1 to the number of rows, of training and of test rows
	Alpha    float64 `range:"(0,inf)"`                                                                            // α; 0.1 is very unequal, 1 unequal, 100 close to IID, the limit
	MinTrain int     `range:"[1,inf)" default:"10 rows, or half an equal share (but at least 1) if that is less"` // least training rows per client
	MinTest  int     `range:"[1,inf)" default:"1"`                                                                // least test rows per client
	Redraw   bool    // draw shares again instead of topping clients up to MinTrain
	Seed     uint64  // chooses shares and rows
}

// Partition returns M clients, each with its rows in ascending order. It fails if a field is out of range, there are
// too few rows for the minimum, or the data set has no labels or does not pass its Check.
func (r Dirichlet) Partition(d *datasets.Dataset) (*Partitioned, error) {
	r, err := r.checked(d)
	if err != nil {
		return nil, err
	}
	deal := r.topped
	if r.Redraw {
		deal = r.redrawn
	}
	train, logp, err := deal(d)
	if err != nil {
		return nil, err
	}
	test := handOut(d.Test.Labels, d.Classes, r.Clients, stream(r.Seed, "test"), func(c, i int) float64 { return math.Exp(logp[c][i]) }, r.MinTest,
		func(c, i int) float64 { return math.Log(float64(len(train.held[c][i]))) })
	return dealt(d, train.all(), test.all()), nil
}

// topped deals the training rows, tops clients up, and returns the shares, log p_ci.
func (r Dirichlet) topped(d *datasets.Dataset) (*hand, [][]float64, error) {
	src := stream(r.Seed, "shares")
	n, logp := make([]float64, d.Classes), make([][]float64, d.Classes) // n_c, log p_ci
	for c := range logp {
		logp[c] = logShares(r.Clients, r.Alpha, src)
	}
	for _, c := range d.Train.Labels {
		n[c]++
	}
	return handOut(d.Train.Labels, d.Classes, r.Clients, stream(r.Seed, "train"), func(c, i int) float64 { return math.Exp(logp[c][i]) }, r.MinTrain,
		func(c, i int) float64 { return logp[c][i] + math.Log(n[c]) }), logp, nil
}

// mostDraws bounds the draws of shares.
const mostDraws = 1000

// redrawn deals the training rows by shares that are drawn until every client has enough of them, and returns these, log p_ci.
func (r Dirichlet) redrawn(d *datasets.Dataset) (*hand, [][]float64, error) {
	shares, rows := stream(r.Seed, "shares"), stream(r.Seed, "train")
	for range mostDraws {
		h, logp := newHand(d.Train.Labels, d.Classes, r.Clients, rows), make([][]float64, d.Classes)
		for c := range logp {
			logp[c] = logShares(r.Clients, r.Alpha, shares)
			for i, n := range h.size {
				if n*r.Clients >= d.Train.Len() {
					logp[c][i] = math.Inf(-1)
				}
			}
			floats.AddConst(-floats.LogSumExp(logp[c]), logp[c])
			p := make([]float64, r.Clients)
			for i := range p {
				p[i] = math.Exp(logp[c][i])
			}
			h.deal(c, p)
		}
		if slices.Min(h.size) >= r.MinTrain {
			return h, logp, nil
		}
	}
	return nil, nil, fmt.Errorf("partition.Dirichlet: MinTrain = %d: must be less, as none of %d draws gave every client that many rows; or Redraw must be false",
		r.MinTrain, mostDraws)
}

// String returns "20 clients, Dirichlet α = 0.5", whether shares are redrawn, and the seed unless it is 0.
func (r Dirichlet) String() string {
	redraw := ""
	if r.Redraw {
		redraw = ", redrawn"
	}
	return fmt.Sprintf("%s, Dirichlet α = %v%s%s", count(r.Clients), r.Alpha, redraw, seeded(r.Seed))
}

// checked returns the rule with its defaults filled in, or an error.
func (r Dirichlet) checked(d *datasets.Dataset) (Dirichlet, error) {
	if err := checkLabeled(r, r.Clients, d); err != nil {
		return r, err
	}
	r = config.Defaults(r)
	r.MinTrain = cmp.Or(r.MinTrain, defaultMin(d.Train.Len(), r.Clients))
	if err := checkMin("Dirichlet", "MinTrain", r.MinTrain, r.Clients, "train", d.Train.Len()); err != nil {
		return r, err
	}
	return r, checkMin("Dirichlet", "MinTest", r.MinTest, r.Clients, "test", d.Test.Len())
}

// logShares draws p ~ Dir(α·1) and returns log p, [m].
//
// Gamma variables of shape α, divided by their sum, are such a p, and G(α) = G(α+1)·U^(1/α) in distribution. In logs
// nothing underflows, however small α is: the largest log U is subtracted first, so that one client's log p is finite.
func logShares(m int, alpha float64, src rand.Source) []float64 {
	gamma := distuv.Gamma{Alpha: alpha + 1, Beta: 1, Src: src}
	rng := rand.New(src)
	logp, logu := make([]float64, m), make([]float64, m)
	for i := range m {
		logp[i] = math.Log(gamma.Rand())
		logu[i] = -rng.ExpFloat64()
	}
	largest := slices.Max(logu)
	for i := range m {
		logp[i] += (logu[i] - largest) / alpha
	}
	floats.AddConst(-floats.LogSumExp(logp), logp)
	return logp
}

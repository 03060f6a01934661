package strategy

import (
	"cmp"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// FedPRISM keeps a global model w_g, K cluster models w_c and soft weights W [M, K], and gives each client a mixture of
// the models,
//
//	w_i ← α w_g + (1−α) Σ_c W_ic w_c            is sent to client i of S, which returns Δ_i
//	w_g ← w_g + (1/|S|) Σ_i Δ_i
//	w_c ← w_c + Σ_i W_ic Δ_i / Σ_i W_ic          (a cluster without a client in S keeps its model)
//
// Every C rounds the clients of the round are clustered by features x_i: their models w_i or, with Updates, their
// Δ_i, which makes cluster.Spectral the covariance method. C_c is the mean of x_i in cluster c. W_i becomes the softmax of
// cos(x_i, C_c) over the m greatest, or over all if fewer clusters have a client, and is 0 for the others. New clusters are
// matched to the old ones by greatest overlap. W starts uniform, and absent clients keep their weights. Cosines of models are
// all nearly 1: Center and Temperature spread them.
//
// With AlphaStep, α adapts to the client. A client of S receives w_g and Σ_c W_ic w_c, two models, and compares their losses on its
// training examples. If that of w_g is lower, its α_i grows by AlphaStep after the round, otherwise it shrinks, within [0, 1]. In
// the first C + 1 rounds both are the same model, and α_i stays. Each round notes the mean of all α_i.
//
// The author's program (github.com/shrey-004/YOLO_With_FEDPRISM) averages models, not updates: see Average. Its covariance method is
// cluster.Spectral{Affinity: cluster.ShiftedCosine{}} with Updates. Its α_i moves in the first rounds, too, by rounding.
//
// An unseen client trains once from the mixture with uniform weights, and gets its weights likewise from the last C_c.
// Identity: K = 1 with any α is FedAvg with equal weights.
type FedPRISM struct {
	K           int               `range:"[1,inf)" default:"3"` // clusters
	M           int               // m, clusters per client; default K
	Every       int               `range:"[1,inf)" default:"5"` // C, rounds between two clusterings
	Alpha       float64           `range:"[0,1]" default:"0.5"` // α, weight of the global model
	Clusterer   cluster.Clusterer // default cluster.KMeans
	Weighting   Weighting         // of Δ_i in w_g and, times W_ic, in w_c; default Equal
	Updates     bool              // the features are Δ_i; default w_i
	Center      bool              // subtract the mean of the features before computing cosines
	Temperature float64           `range:"(0,inf)" default:"1"` // of the softmax over the top m cosines
	AlphaStep   float64           `range:"[0,1]"`               // change of a client's α_i in a round, 0.05 in the author's plan; default 0, which keeps α
	Average     bool              // w_g and w_c become the weighted means of the w_i; default they move by those of the Δ_i
	Fraction    float64           // share of the clients in a round, in (0, 1]; default all
	Selector    fedkit.Selector   // chooses the cohort; default uniformly at random
	Local       fedkit.Local      // local solver: E epochs, B examples per batch, η
	State       struct {
		Models    *fedkit.Matrix // w_g and w_1 … w_K, [1+K, d]
		W         [][]float64    // each client's weights of the cluster models, [M, K]
		Centroids *fedkit.Matrix // C_c of the last clustering, 0 for an empty cluster, [K, d]; nil before the first
		Sizes     []float64      // cluster sizes in that clustering, [K]
		Alpha     []float64      // α_i, [M]; nil without AlphaStep
	}
}

// Check implements fedkit.Checker.
func (s *FedPRISM) Check(fed *fedkit.Federation, n int) error {
	if s.M < 0 || s.M > s.K {
		return fedkit.Invalid("M", s.M, "in [1, K], or 0 for K")
	}
	return cmp.Or(fed.AllTrained("strategy", "FedPRISM"), fed.Fits("K", s.K, 1+2*float64(s.K)), fed.FitsPairs("clients per round", n))
}

// Start draws one model for all, and uniform weights.
func (s *FedPRISM) Start(r *fedkit.Round) error {
	s.State.Models = r.Models(1).Repeat(1 + s.K)
	s.State.W, s.State.Centroids, s.State.Sizes, s.State.Alpha = uniform(r.Clients(), s.K), nil, nil, nil
	if s.AlphaStep > 0 {
		s.State.Alpha = slices.Repeat([]float64{s.Alpha}, r.Clients())
	}
	return r.Err()
}

// uniform returns equal weights, [n, k].
func uniform(n, k int) [][]float64 {
	return slices.Repeat([][]float64{slices.Repeat([]float64{1 / float64(k)}, k)}, n)
}

// ensemble returns the weights [n, 1+K] of the models in mixtures with weights w [n, K] of the cluster models, and α [n] of the global
// one; nil: Alpha.
func (s *FedPRISM) ensemble(w [][]float64, alpha []float64) [][]float64 {
	mix := make([][]float64, len(w))
	for i := range w {
		a := s.Alpha
		if alpha != nil {
			a = alpha[i]
		}
		mix[i] = append(mix[i], a)
		for _, v := range w[i] {
			mix[i] = append(mix[i], (1-a)*v)
		}
	}
	return mix
}

// alphas returns α of clients, nil if it is the same for all.
func (s *FedPRISM) alphas(clients []int) []float64 {
	if s.State.Alpha == nil {
		return nil
	}
	return take(s.State.Alpha, clients)
}

// Round implements fedkit.Strategy.
func (s *FedPRISM) Round(r *fedkit.Round) error {
	S := r.Select(s.Selector, s.Fraction)
	job := fedkit.Job{Clients: S, Start: s.State.Models.Mix(s.ensemble(take(s.State.W, S), s.alphas(S))), Local: s.Local}
	steps := s.steps(r, S)
	if steps != nil {
		job.Down = fedkit.Zero // clients mix the models that they have compared
	}
	u := r.Train(job)
	s.adapt(r, u, steps)
	mix := make([][]float64, s.State.Models.Rows()) // [1+K, n]
	p := Weights(r, u, s.Weighting, Equal{})
	for at, i := range u.Clients() {
		for c, w := range append([]float64{1}, s.State.W[i]...) {
			mix[c] = append(mix[c], w*p[at])
		}
	}
	for _, row := range mix {
		if sum := floats.Sum(row); sum > 0 {
			floats.Scale(1/sum, row)
		}
	}
	if s.Average {
		s.State.Models = remix(s.State.Models, u.Models, mix)
	} else {
		s.State.Models = s.State.Models.Add(u.Delta().Mix(mix))
	}
	if r.T%s.Every == 0 {
		s.updateClusters(r, u)
	}
	return r.Err()
}

// steps returns the changes of clients' α, towards the better of the models that they mix, [n]; nil: none.
func (s *FedPRISM) steps(r *fedkit.Round, clients []int) (steps []float64) {
	if s.State.Alpha == nil || s.State.Centroids == nil || r.T <= s.Every+1 || r.Err() != nil {
		return nil
	}
	global := s.State.Models.Take(0)
	mixed := s.State.Models.Mix(s.ensemble(take(s.State.W, clients), make([]float64, len(clients))))
	for at, i := range clients {
		step := -s.AlphaStep
		if r.LowestLoss(fedkit.StackRows(mixed.Take(at), global), []int{i})[0] == 1 { // not if they are equal
			step = s.AlphaStep
		}
		steps = append(steps, step)
	}
	return steps
}

// adapt changes α of the clients that have trained.
func (s *FedPRISM) adapt(r *fedkit.Round, u *fedkit.Updates, steps []float64) {
	alpha := s.State.Alpha
	if alpha == nil {
		return
	}
	for at, i := range u.Clients() {
		if steps != nil {
			alpha[i] = min(1, max(0, alpha[i]+steps[u.Positions[at]]))
		}
	}
	r.Note("mean α", floats.Sum(alpha)/float64(len(alpha)))
}

// features returns the clients' features x_i, [n, d].
func (s *FedPRISM) features(u *fedkit.Updates) *fedkit.Matrix {
	if s.Updates {
		return u.Delta()
	}
	return u.Models
}

// updateClusters clusters the clients of the round and sets their weights. With fewer clients than clusters, some clusters are
// empty and have no centroid: no client in the round gives them weight, but they keep their models.
func (s *FedPRISM) updateClusters(r *fedkit.Round, u *fedkit.Updates) {
	k, clients, x := s.State.Models.Rows()-1, u.Clients(), s.features(u)
	points := r.Points(x)
	labels := r.Cluster(cmp.Or[cluster.Clusterer](s.Clusterer, cluster.KMeans{}), points, k)
	if r.Err() != nil {
		return
	}
	labels = cluster.Align(labels, take(s.State.W, clients))
	gram, in := points.Gram(), cluster.Groups(labels)
	if s.Center {
		gram = points.Centered()
	}
	s.weigh(s.State.W, clients, gram, in)
	s.State.Sizes = nil
	for _, row := range in.Weights(k, nil) {
		s.State.Sizes = append(s.State.Sizes, floats.Sum(row))
	}
	s.State.Centroids = x.Mix(in.Means(k, nil))
}

// weigh sets the weights w of clients, the first points of gram, by their cosines with the means of the groups.
func (s *FedPRISM) weigh(w [][]float64, clients []int, gram *mat.SymDense, in cluster.Groups) {
	k := s.State.Models.Rows() - 1
	cosines := cluster.Cosines(gram, in, k)
	for at, i := range clients {
		w[i] = cluster.SoftTop(cosines[at], cmp.Or(s.M, k), s.Temperature)
	}
}

// Serve gives each client its mixture. A client's cluster is that of the greatest weight, or none while all are equal.
func (s *FedPRISM) Serve(*fedkit.Round) fedkit.Serving { return s.serving(s.State.W, s.State.Alpha) }

func (s *FedPRISM) serving(w [][]float64, alpha []float64) fedkit.Serving {
	models, k := s.State.Models, s.State.Models.Rows()-1
	clusters := cluster.Ungrouped(len(w))
	for i := range w {
		if most := slices.Max(w[i]); k == 1 || most > slices.Min(w[i]) {
			clusters[i] = slices.Index(w[i], most)
		}
	}
	own := make([]int, k)
	for c := range own {
		own[c] = 1 + c
	}
	return fedkit.Serving{Global: models.Take(0), Models: models, Mix: s.ensemble(w, alpha), Clusters: clusters, Centroids: models.Take(own...)}
}

// ServeUnseen gives each unseen client a mixture, by the cosines of its features with the last centroids.
func (s *FedPRISM) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	w := uniform(r.Clients(), s.State.Models.Rows()-1)
	if s.State.Centroids == nil {
		return s.serving(w, nil)
	}
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.State.Models.Mix(s.ensemble(w[:1], nil)), Local: s.Local})
	rows := fedkit.StackRows(s.features(u), s.State.Centroids)
	if s.Center {
		rows = rows.Sub(s.State.Centroids.Mean(s.State.Sizes))
	}
	gram := r.Points(rows).Gram()
	if r.Err() != nil {
		return fedkit.Serving{}
	}
	in := cluster.Ungrouped(len(u.Results)) // centroid c is group c
	for c, size := range s.State.Sizes {
		if size == 0 {
			c = cluster.None
		}
		in = append(in, c)
	}
	s.weigh(w, u.Clients(), gram, in)
	return s.serving(w, nil)
}

package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/internal/lines"
)

// Record is one round.
type Record struct {
	Round    int     `json:"round"`                  // 1, 2, …
	Seconds  float64 `json:"seconds"`                // wall time of the round without the evaluation
	EvalTime float64 `json:"eval_seconds,omitempty"` // s of wall time that the evaluation took; 0 if there was none

	Results   []ClientResult `json:"solves,omitempty"` // local solves, one row per participating client
	BytesDown int64          `json:"bytes_down"`       // server → clients, total
	BytesUp   int64          `json:"bytes_up"`         // clients → server, total
	// Links are the bytes that traveled on other links, by their ends: "client_to_client", "client_to_edge", "edge_to_client",
	// "edge_to_cloud", "cloud_to_edge", "edge_to_edge" (see fedkit.Round.Send).
	Links      map[string]Float `json:"links,omitempty"`
	StateBytes int64            `json:"kept,omitempty"` // bytes of all matrices and slices of numbers in the strategy's State between rounds, such as models [M, d], and of kept optimizer memory

	// Clock is when the round ended, in s of the simulated clock of a federation with devices; Absences are the stragglers, dropouts
	// and excluded clients.
	Clock    Float     `json:"clock,omitempty"`
	Absences []Absence `json:"missed,omitempty"` // see Clock

	// Server is the training at the server; nil if there was none.
	Server *ServerResult `json:"server,omitempty"`

	// Global is the score of the strategy's one global model on the whole test set; nil if there is no such model, or the
	// round was not evaluated.
	Global *Score `json:"global,omitempty"`
	// Scores are those of the M clients, each on its own test examples under its served model; nil if the round was not
	// evaluated, or if they were left out.
	Scores   []Score `json:"scores,omitempty"`
	Personal bool    `json:"personal,omitempty"` // Scores are of personalized models, not the global one
	// Unseen are the scores of the hold-out clients (fedkit.Federation.HoldOut), each on its own test examples under its served
	// model (see fedkit.UnseenServer); nil without such clients, or if the round was not evaluated.
	Unseen []Score `json:"unseen,omitempty"`
	// ChosenOnTest are the optimistic scores of fedkit.Options.ChooseOnTest, to be read beside Scores only.
	ChosenOnTest []Score `json:"chosen_on_test,omitempty"`
	// Validation has the scores on validation rows in place of test rows; nil without such rows (see partition.Validation), or if the
	// round was not evaluated.
	Validation *Validation `json:"validation,omitempty"`
	// FineTuned has the scores after each client has trained its model on its own: see fedkit.Options.FineTune; nil but in the last round.
	FineTuned *FineTuned `json:"fine_tuned,omitempty"`
	// Clusters are the clusters of the M clients, −1 for none yet; nil if the strategy does not cluster, or if it clusters by lowest
	// loss (fedkit.Serving.ByLoss) and the round was not evaluated.
	Clusters []int `json:"clusters,omitempty"`
	// Clustering is the quality of Clusters; nil if Clusters is.
	Clustering *Clustering `json:"clustering,omitempty"`
	// Notes are the strategy's own figures for the round.
	Notes map[string]Float `json:"notes,omitempty"`
	// Summary has the totals and means of Results and Scores that were left out: see fedkit.Keep and LoadLight. Training, Mean and
	// Spread work in both cases.
	Summary *Summary `json:"summary,omitempty"`
}

// LinkBytes returns the sum of Links.
func (r *Record) LinkBytes() (sum float64) {
	for _, name := range slices.Sorted(maps.Keys(r.Links)) {
		sum += float64(r.Links[name])
	}
	return sum
}

// Clients returns the participating clients; nil if Results were left out, unless the record is from a study's extract.
func (r *Record) Clients() []int {
	if r.Results == nil && r.Summary != nil {
		return r.Summary.Clients
	}
	clients := make([]int, len(r.Results))
	for i, s := range r.Results {
		clients[i] = s.Client
	}
	return clients
}

// Score is a model's loss and accuracy on Examples examples.
type Score struct {
	Loss     Float `json:"loss"`     // mean over the examples, natural logarithm
	Accuracy Float `json:"accuracy"` // share of the examples whose label is predicted, in [0, 1]; NaN for a regression, which has R², RMSE and MAE in Metrics
	Examples int   `json:"examples"` // number of examples, of those with a label; 0 if the client has none, and then there is no loss or accuracy

	Metrics map[string]Float `json:"metrics,omitempty"` // those of fedkit.Options.Metrics, and of a regression, by name; nil if Examples is 0
	Weights map[string]Float `json:"weights,omitempty"` // of a client's metrics in means, by name, if not Examples: see fedkit.WeightedMetric
}

// Absence is a client without a result in the round: a straggler, a dropout or an excluded client.
type Absence struct {
	Client     int   `json:"client"`            // index, from 0
	Begin      Float `json:"begin"`             // s of the clock at which its job began
	End        Float `json:"end"`               // s at which it dropped out, or its result would have arrived
	DroppedOut bool  `json:"lost,omitempty"`    // it dropped out
	Excluded   bool  `json:"sat_out,omitempty"` // it was excluded without a job, and End is Begin: see fedkit.Round.Exclude. If neither, it was late
}

// UnmarshalJSON reads a record, and refuses unknown fields.
func (r *Record) UnmarshalJSON(b []byte) error {
	err := lines.Strict(b, (*plainRecord)(r))
	r.setRounds()
	return err
}

// setRounds sets the round of each solve, which a file has once per record.
func (r *Record) setRounds() {
	for i := range r.Results {
		r.Results[i].Round = r.Round
	}
}

// Float is a float64 whose JSON form also has non-finite values: "NaN", "+Inf", "-Inf".
type Float float64

// MarshalJSON writes finite values as numbers, and others as strings.
func (f Float) MarshalJSON() ([]byte, error) {
	v := float64(f)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return json.Marshal(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return json.Marshal(v)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Float) UnmarshalJSON(b []byte) error {
	number := string(b)
	switch number {
	case `"NaN"`, `"+Inf"`, `"-Inf"`:
		number = strings.Trim(number, `"`)
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || b[0] > '9' {
		return fmt.Errorf("%.50s is not a number", b)
	}
	*f = Float(v)
	return nil
}

// Score returns Global or, if there is no global model, Mean; nil if there is neither.
func (r *Record) Score() *Score {
	if r.Global != nil {
		return r.Global
	}
	return r.Mean()
}

// Mean returns the mean over all clients' own test examples, each example counted once. A metric is the mean of the clients'
// values, weighted by the numbers of examples that it is of (Score.Weights, else Score.Examples); clients without a value, or with
// NaN, are left out. It is nil if the round was not evaluated, or no client has a test example.
func (r *Record) Mean() *Score { return cmp.Or(meanOf(r.Scores), r.sums().Mean) }

// MeanUnseen is Mean over the hold-out clients.
func (r *Record) MeanUnseen() *Score { return cmp.Or(meanOf(r.Unseen), r.sums().Unseen) }

// MeanChosenOnTest is Mean over ChosenOnTest.
func (r *Record) MeanChosenOnTest() *Score {
	return cmp.Or(meanOf(r.ChosenOnTest), r.sums().ChosenOnTest)
}

func meanOf(scores []Score) *Score {
	var loss, right, n float64
	for _, s := range scores {
		if s.Examples > 0 { // the loss of no example is NaN
			loss += float64(s.Loss) * float64(s.Examples)
			right += float64(s.Accuracy) * float64(s.Examples)
			n += float64(s.Examples)
		}
	}
	if n == 0 {
		return nil
	}
	return &Score{Loss: Float(loss / n), Accuracy: Float(right / n), Examples: int(n), Metrics: meanMetrics(scores)}
}

func meanMetrics(scores []Score) (mean map[string]Float) {
	weight := map[string]Float{}
	for _, s := range scores {
		for name, v := range s.Metrics {
			if mean == nil {
				mean = map[string]Float{}
			}
			n, own := s.Weights[name]
			if !own {
				n = Float(s.Examples)
			}
			if math.IsNaN(float64(v)) || n == 0 {
				n, v = 0, 0 // NaN if no client has a value
			}
			mean[name] += n * v
			weight[name] += n
		}
	}
	for name := range mean {
		mean[name] /= weight[name]
	}
	return mean
}

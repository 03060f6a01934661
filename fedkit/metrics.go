package fedkit

import (
	"strconv"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
)

// Metric is a figure that a run records at every evaluation, beside loss and accuracy: of the global model on the whole
// test part, and of each client's model on the client's own test examples. See package metric; metric.Func makes one from a
// function.
type Metric interface {
	// String returns the name in records.
	String() string
	// Measure returns the figure, NaN if it is not defined for these examples. It may change p, which is a copy.
	Measure(p *Predictions) float64
}

// checkMetrics refuses metrics that are nil, or whose names are empty or duplicate.
func checkMetrics(metrics []Metric) error {
	seen := map[string]bool{}
	for i, m := range metrics {
		field := "Options.Metrics[" + strconv.Itoa(i) + "]"
		if m == nil {
			return Invalid(field, "nil", "a metric, such as metric.MacroF1{}")
		}
		name := m.String()
		if name == "" || seen[name] {
			return Invalid(field, strconv.Quote(name), "a name that no other metric has, and not empty")
		}
		seen[name] = true
	}
	return nil
}

// measure returns the run's metrics, by name, on the examples at the given positions of s, which are the given rows of the test
// part.
func (r *Round) measure(s *engine.Scores, at, rows []int) map[string]Float {
	if len(r.opts.Metrics) == 0 || len(rows) == 0 || r.err != nil {
		return nil
	}
	values := map[string]Float{}
	for _, m := range r.opts.Metrics {
		own := make([][]float32, len(at))
		for i, j := range at {
			own[i] = append(own[i], s.Outputs[0][j]...)
		}
		p := r.Fed.predictions(TestPart, rows, own)
		v, err := measured(m, &p)
		if err != nil {
			r.Fail(err)
			return nil
		}
		values[m.String()] = Float(v)
	}
	return values
}

// measured turns a panic in a metric into an error.
func measured(m Metric, p *Predictions) (v float64, err error) {
	defer fault.Recovered("metric "+m.String(), &err)
	return m.Measure(p), nil
}

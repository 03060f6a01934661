package export

import (
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"fedkit.example/fedkit/history"
)

// Server is the client of a row about the server, or about all clients together.
const Server = -1

// Row is one number of a history.
type Row struct {
	Run    string  // name of the run, from the caller
	Round  int     // from 1
	Client int     // or Server
	Metric string  // see Rows
	Value  float64 // 0 or 1 for false or true
}

// Rows returns every number of a history, round by round. Metrics have the names of a history's file, prefixed with what they are
// about:
//
//	seconds, bytes_up, …             the server's: fields of history.Record
//	global_accuracy, global_loss, …  the global model's on the whole test part
//	mean_accuracy, mean_loss, …      Record.Mean: over the clients' own test examples
//	spread_worst, spread_median, …   Record.Spread: how accuracy, or R², is spread over the clients
//	unseen_accuracy, …               Record.MeanUnseen: clients that never took part
//	chosen_on_test_accuracy, …       Record.MeanChosenOnTest
//	validation_global_accuracy, validation_mean_loss, validation_spread_worst, …
//	                                 the same on validation rows: Record.OnValidation
//	clustering_count, clustering_ari, …  Record.Clustering
//	note_…                           the strategy's own figures, under their names
//	train_loss, train_steps, …       a client's that took part: fields of history.ClientResult
//	missed_begin, missed_end, …      a client's whose result was late or lost: fields of history.Absence
//	test_accuracy, test_loss, …      a client's model on its own test examples: fields of history.Score
//	validation_accuracy, …           the same on its own validation rows
//	cluster                          a client's
//
// Of a run on a federation with devices, clock is the server's, and train_begin, train_received, train_finished and
// train_arrived are a client's, in s. In an asynchronous round a client can be lost more than once, and then has the rows of
// each time, in their order.
//
// Figures of Options.Metrics stand beside accuracy, under their names: "global_macro F1". A regression has "global_R²", "global_RMSE"
// and "global_MAE" instead of "global_accuracy", and so on. Figures that a history's file
// leaves out when they are 0, such as train_mu, have rows if one of them is not. A history without what is per client has
// rows of the server only.
func Rows(run string, h *history.History) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		if h == nil {
			return
		}
		used := map[string]bool{}
		for f := range figures(h) {
			none := math.IsNaN(f.Value) && strings.HasSuffix(f.Metric, "_accuracy") // of a regression
			used[f.Metric] = used[f.Metric] || !none && (!f.optional || f.Value != 0)
		}
		for f := range figures(h) {
			if f.Run = run; used[f.Metric] && !yield(f.Row) {
				return
			}
		}
	}
}

// figure is a row, before it is known which are left out.
type figure struct {
	Row
	optional bool // left out if it is 0 in all rounds, for all clients
}

// figures returns all there are.
func figures(h *history.History) iter.Seq[figure] {
	return func(yield func(figure) bool) {
		for i := range h.Rounds {
			if !figuresOf(&h.Rounds[i], yield) {
				return
			}
		}
	}
}

func figuresOf(r *history.Record, yield func(figure) bool) bool {
	of := func(client int, prefix string, v any) bool {
		return walk(reflect.ValueOf(v), prefix, false, func(metric string, value float64, optional bool) bool {
			return yield(figure{Row{Round: r.Round, Client: client, Metric: metric, Value: value}, optional})
		})
	}
	on := r.OnValidation()
	if !of(Server, "", r) || !of(Server, "mean_", r.Mean()) || !of(Server, "spread_", r.Spread()) ||
		!of(Server, "unseen_", r.MeanUnseen()) || !of(Server, "chosen_on_test_", r.MeanChosenOnTest()) ||
		!of(Server, "validation_global_", on.Global) || !of(Server, "validation_mean_", on.Mean()) || !of(Server, "validation_spread_", on.Spread()) {
		return false
	}
	for i := range r.Results {
		if !of(r.Results[i].Client, "train_", &r.Results[i]) {
			return false
		}
	}
	for i := range r.Absences {
		if !of(r.Absences[i].Client, "missed_", &r.Absences[i]) {
			return false
		}
	}
	for c := range r.Scores {
		if !of(c, "test_", &r.Scores[c]) {
			return false
		}
	}
	for c := range on.Scores {
		if !of(c, "validation_", &on.Scores[c]) {
			return false
		}
	}
	for c, cluster := range r.Clusters {
		if !of(c, "cluster", cluster) {
			return false
		}
	}
	return true
}

// walk yields the numbers that v is or holds, under the names that they have in JSON.
func walk(v reflect.Value, name string, optional bool, yield func(metric string, value float64, optional bool) bool) bool {
	switch {
	case v.Kind() == reflect.Pointer:
		return v.IsNil() || walk(v.Elem(), name, optional, yield)
	case v.Kind() == reflect.Struct:
		return walkFields(v, name, yield)
	case v.Kind() == reflect.Map:
		figures, _ := v.Interface().(map[string]history.Float)
		for _, key := range slices.Sorted(maps.Keys(figures)) {
			if !yield(name+key, float64(figures[key]), false) {
				return false
			}
		}
	case v.Kind() == reflect.Bool:
		value := 0.0
		if v.Bool() {
			value = 1
		}
		return yield(name, value, optional)
	case v.CanInt():
		return yield(name, float64(v.Int()), optional)
	case v.CanFloat():
		return yield(name, v.Float(), optional)
	}
	return true // lists are per client
}

// columns are fields that have a column of their own; maps are what the names in a map begin with.
var (
	columns = []string{"-", "round", "client", "summary", "validation"}
	inMap   = map[string]string{"metrics": "", "notes": "note_", "links": "bytes_"}
)

func walkFields(v reflect.Value, prefix string, yield func(metric string, value float64, optional bool) bool) bool {
	for f, in := range v.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || slices.Contains(columns, name) {
			continue
		}
		switch short, isMap := inMap[name]; {
		case isMap:
			name = short
		case in.Kind() == reflect.Pointer, in.Kind() == reflect.Struct, in.Kind() == reflect.Map:
			name += "_"
		}
		if !walk(in, prefix+name, options == "omitempty", yield) {
			return false
		}
	}
	return true
}

// Package export writes histories for other programs, as long tables that pandas reads:
//
//	err := export.Table("runs/table/avg-1.csv.gz", "avg-1", h)
//
// and in Python
//
//	t = pd.concat(map(pd.read_csv, glob.glob("runs/table/*.csv.gz")))
//	t[t.client == -1].pivot(index="round", columns=["metric", "run"], values="value").global_accuracy.plot()
//
// Tables that compare runs have their own Save, with a line per run: see table.Table.
//
//	err := compare.Table(hs...).Save("runs.csv")
//
// TensorBoard writes event files while a run goes on. Package weights writes models.
package export

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/file"
	"fedkit.example/fedkit/internal/text"
)

// Table writes every number of a history, round by round, to a compressed CSV file with the columns run, round, client, metric and value.
// Run is the name of its rows in a table of several runs; client is −1 for the server, and for all clients together; value is 0 or 1
// for false or true. Metrics have the names of a history's file, prefixed with what they are about:
//
//	seconds, bytes_up, …             the server's: fields of history.Record
//	global_accuracy, global_loss, …  the global model's on the whole test part
//	mean_accuracy, mean_loss, …      Record.Mean: over the clients' own test examples
//	spread_worst, spread_median, …   Record.Spread: how accuracy, or R², is spread over the clients
//	unseen_accuracy, …               Record.MeanUnseen: clients that never took part
//	validation_global_accuracy, validation_mean_loss, validation_spread_worst, …
//	                                 the same on validation rows: Record.OnValidation
//	fine_tuned_mean_accuracy, …      Record.FineTuned, with fine_tuned_mean_unseen_accuracy
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
//
// Numbers have as many digits as they need to be read back exactly, in pandas with float_precision="round_trip". Names that a
// spreadsheet would compute, because they begin with =, +, -, − or @, are prefixed with an apostrophe, and so are those that begin
// with one: in pandas, table.run.str.removeprefix("'") restores them. The version of the columns and names is in the gzip header, as
// the comment "fedkit table 1". The file is written atomically, always with the same bytes; folders are made as needed.
func Table(path, run string, h *history.History) error {
	switch {
	case h == nil:
		return fmt.Errorf("export: %w", fault.Invalid("history", "nil", "a history"))
	case !strings.HasSuffix(path, ".csv.gz"):
		return fmt.Errorf("export: %w", fault.Invalid("path", strconv.Quote(path), "a name that ends in .csv.gz"))
	}
	err := file.Stream(path, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		z.Comment = "fedkit table 1"
		if err := write(z, run, h); err != nil {
			return err
		}
		return z.Close()
	})
	if err != nil {
		return fmt.Errorf("export: table %s: %w", path, err)
	}
	return nil
}

func write(w io.Writer, run string, h *history.History) error {
	used := map[string]bool{}
	each(h, func(_, _ int, metric string, value float64, optional bool) {
		none := math.IsNaN(value) && strings.HasSuffix(metric, "_accuracy") // of a regression
		used[metric] = used[metric] || !none && (!optional || value != 0)
	})
	c := csv.NewWriter(w)
	err := c.Write([]string{"run", "round", "client", "metric", "value"})
	each(h, func(round, client int, metric string, value float64, _ bool) {
		if used[metric] && err == nil {
			err = c.Write([]string{text.Cell(run), strconv.Itoa(round), strconv.Itoa(client), text.Cell(metric), strconv.FormatFloat(value, 'g', -1, 64)})
		}
	})
	c.Flush()
	return c.Error()
}

// each visits all numbers; an optional metric is left out if it is 0 in all rounds, for all clients.
func each(h *history.History, visit func(round, client int, metric string, value float64, optional bool)) {
	for i := range h.Rounds {
		r := &h.Rounds[i]
		of := func(client int, prefix string, v any) {
			walk(reflect.ValueOf(v), prefix, false, func(metric string, value float64, optional bool) { visit(r.Round, client, metric, value, optional) })
		}
		on := r.OnValidation()
		of(-1, "", r)
		of(-1, "mean_", r.Mean())
		of(-1, "spread_", r.Spread())
		of(-1, "validation_global_", on.Global)
		of(-1, "validation_mean_", on.Mean())
		of(-1, "validation_spread_", on.Spread())
		for i := range r.Results {
			of(r.Results[i].Client, "train_", &r.Results[i])
		}
		for i := range r.Absences {
			of(r.Absences[i].Client, "missed_", &r.Absences[i])
		}
		for c := range r.Scores {
			of(c, "test_", &r.Scores[c])
		}
		for c := range on.Scores {
			of(c, "validation_", &on.Scores[c])
		}
		for c, cluster := range r.Clusters {
			of(c, "cluster", cluster)
		}
	}
}

// columns are fields that have a column of their own; maps are what the names in a map begin with.
var (
	columns = []string{"-", "round", "client", "summary", "validation"}
	inMap   = map[string]string{"metrics": "", "notes": "note_", "links": "bytes_"}
)

// walk visits the numbers that v is or holds, under the names that they have in JSON. Lists are per client.
func walk(v reflect.Value, name string, optional bool, visit func(metric string, value float64, optional bool)) {
	switch figures, isMap := v.Interface().(map[string]history.Float); {
	case isMap:
		for _, key := range slices.Sorted(maps.Keys(figures)) {
			visit(name+key, float64(figures[key]), false)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		walk(v.Elem(), name, optional, visit)
	case v.Kind() == reflect.Struct:
		for f, in := range v.Fields() {
			field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || slices.Contains(columns, field) {
				continue
			}
			if short, isMap := inMap[field]; isMap {
				field = short
			} else if slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Struct, reflect.Map}, in.Kind()) {
				field += "_"
			}
			walk(in, name+field, options == "omitempty", visit)
		}
	case v.Kind() == reflect.Bool:
		visit(name, map[bool]float64{true: 1}[v.Bool()], optional)
	case v.CanInt():
		visit(name, float64(v.Int()), optional)
	case v.CanFloat():
		visit(name, v.Float(), optional)
	}
}

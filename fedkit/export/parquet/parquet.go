// Package parquet writes histories as one long table in Parquet, which pandas, Polars, DuckDB and R read by themselves:
//
//	t = pd.read_parquet("runs.parquet")
//	t[(t.metric == "global_accuracy") & (t["α"] == "0.1")].pivot_table("value", "round", "run").plot()
//
// It is a package of its own, which only the command links (fedkit results export): a cell would take 0.8 s longer to link, and be 6 MB
// larger. That is why extracts (see study.Runs.Extract) are columns of JSON in zstd, and not Parquet.
package parquet

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"fedkit.example/fedkit/export"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/file"
)

// fixed are the columns of every table, and their types.
var fixed = parquet.Group{
	"run": words, "seed": parquet.Uint(64), "round": parquet.Int(64), "client": parquet.Int(64), "metric": words, "value": parquet.Leaf(parquet.DoubleType),
}

var words = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)

// Table writes all numbers of histories to a file whose name ends in ".parquet", a row for each: run (its name), a column of words for each
// label of a study, seed, round, client, metric and value, as in export.Rows. A run without a label has an empty word there. A label that
// has the name of another column gets the column "label …". The file is written atomically; folders are made as needed.
//
// Errors: another ending, no history, a nil one.
func Table(path string, h ...*history.History) error {
	switch {
	case !strings.HasSuffix(path, ".parquet"):
		return fmt.Errorf("export: %w", fault.Invalid("path", strconv.Quote(path), "a name that ends in .parquet"))
	case len(h) == 0 || slices.Contains(h, nil):
		return fmt.Errorf("export: %w", fault.Invalid("history", "nil or none", "histories"))
	}
	if err := file.Stream(path, func(w io.Writer) error { return write(w, h) }); err != nil {
		return fmt.Errorf("export: table %s: %w", path, err)
	}
	return nil
}

func write(w io.Writer, all []*history.History) error {
	group := maps.Clone(fixed)
	for _, h := range all {
		for _, l := range h.Labels {
			if l.Key != "name" {
				group[column(l)] = words
			}
		}
	}
	names := slices.Sorted(maps.Keys(group)) // the order of a group
	to := parquet.NewWriter(w, parquet.NewSchema("runs", group), parquet.Compression(&parquet.Zstd))
	row := make(parquet.Row, len(names))
	set := func(name string, v any) {
		i, _ := slices.BinarySearch(names, name)
		row[i] = parquet.ValueOf(v).Level(0, 0, i)
	}
	for _, h := range all {
		for _, name := range names {
			set(name, "")
		}
		for _, l := range h.Labels {
			if l.Key != "name" {
				set(column(l), l.Value)
			}
		}
		name, _ := h.Value("name")
		set("run", name)
		set("seed", h.Seed)
		for r := range export.Rows(name, h) {
			set("round", int64(r.Round))
			set("client", int64(r.Client))
			set("metric", r.Metric)
			set("value", r.Value)
			if _, err := to.WriteRows([]parquet.Row{row}); err != nil {
				return err
			}
		}
	}
	return to.Close()
}

// column names the column of a label.
func column(l history.Label) string {
	if fixed[l.Key] != nil {
		return "label " + l.Key
	}
	return l.Key
}

package export

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/file"
	"fedkit.example/fedkit/internal/text"
)

// Columns are those of a table, in their order. See Row.
var Columns = []string{"run", "round", "client", "metric", "value"}

// TableSchema is the version of the columns, and of the names of the metrics. A compressed table has it in its gzip header,
// as the comment "fedkit table 1".
const TableSchema = 1

// CSV writes the rows of a history as comma-separated values, after a header. Numbers have as many digits as they need to be read
// back exactly, in pandas with float_precision="round_trip". Names that a spreadsheet would compute, because they begin with =,
// +, -, − or @, are prefixed with an apostrophe, and so are those that begin with one: in pandas, table.run.str.removeprefix("'")
// restores them.
func CSV(w io.Writer, run string, h *history.History) error {
	if h == nil {
		return fmt.Errorf("export: %w", fault.Invalid("history", "nil", "a history"))
	}
	if w == nil {
		return fmt.Errorf("export: %w", fault.Invalid("w", "nil", "an io.Writer"))
	}
	c := csv.NewWriter(w)
	if err := c.Write(Columns); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	for r := range Rows(run, h) {
		value := strconv.FormatFloat(r.Value, 'g', -1, 64)
		if err := c.Write([]string{text.Cell(r.Run), strconv.Itoa(r.Round), strconv.Itoa(r.Client), text.Cell(r.Metric), value}); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	if c.Flush(); c.Error() != nil {
		return fmt.Errorf("export: %w", c.Error())
	}
	return nil
}

// Table writes the rows of a history (see CSV) to a file that pandas.read_csv reads: compressed if its name ends in ".csv.gz",
// and as it is if it ends in ".csv". Run is the name of its rows in a table of several runs. The file is written atomically,
// always with the same bytes; folders are made as needed.
func Table(path, run string, h *history.History) error {
	content := func(w io.Writer) error { return CSV(w, run, h) }
	switch {
	case strings.HasSuffix(path, ".csv"):
	case strings.HasSuffix(path, ".csv.gz"):
		content = func(w io.Writer) error { return compressed(w, run, h) }
	default:
		return fmt.Errorf("export: %w", fault.Invalid("path", strconv.Quote(path), "a name that ends in .csv or .csv.gz"))
	}
	if err := file.Stream(path, content); err != nil {
		return fmt.Errorf("export: table %s: %w", path, err)
	}
	return nil
}

func compressed(w io.Writer, run string, h *history.History) error {
	z := gzip.NewWriter(w)
	z.Comment = fmt.Sprintf("fedkit table %d", TableSchema)
	if err := CSV(z, run, h); err != nil {
		return err
	}
	return z.Close()
}

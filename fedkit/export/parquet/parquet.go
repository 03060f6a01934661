// Package parquet writes histories as Parquet files, the table that export.Table writes as comma-separated values. In
// Python, a folder of them is one frame:
//
//	t = pd.read_parquet("runs/table")
//
// It is a package of its own because it makes a program 8 MB larger, and takes half a second longer to link.
package parquet

import (
	"fmt"
	"io"
	"strconv"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/export"
	"fedkit.example/fedkit/export/internal/file"
	"github.com/parquet-go/parquet-go"
)

// row is an export.Row as the file has it.
type row struct {
	Run    string  `parquet:"run,dict"`
	Round  int32   `parquet:"round,delta"`
	Client int32   `parquet:"client,delta"`
	Metric string  `parquet:"metric,dict"`
	Value  float64 `parquet:"value"`
}

// Write writes the rows of a history (see export.Rows), compressed with Zstandard. The file's metadata have
// export.TableSchema under "fedkit.schema". The file appears whole or not at all; folders are made as needed.
func Write(path, run string, h *fedkit.History) error {
	if h == nil {
		return fmt.Errorf("parquet: %w", fedkit.Invalid("history", "nil", "a history"))
	}
	if err := file.Write(path, func(w io.Writer) error { return write(w, run, h) }); err != nil {
		return fmt.Errorf("parquet: %s: %w", path, err)
	}
	return nil
}

func write(to io.Writer, run string, h *fedkit.History) error {
	w := parquet.NewGenericWriter[row](to, parquet.Compression(&parquet.Zstd), parquet.KeyValueMetadata("fedkit.schema", strconv.Itoa(export.TableSchema)))
	var few []row
	for r := range export.Rows(run, h) {
		few = append(few, row{r.Run, int32(r.Round), int32(r.Client), r.Metric, r.Value})
		if len(few) < 1<<12 {
			continue
		}
		if _, err := w.Write(few); err != nil {
			return err
		}
		few = few[:0]
	}
	if _, err := w.Write(few); err != nil {
		return err
	}
	return w.Close()
}

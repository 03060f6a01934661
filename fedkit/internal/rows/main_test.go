package rows

import (
	"syscall"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/precision"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

func rowsOf(t testing.TB, m *Matrix) [][]float64 {
	t.Helper()
	v := expect.Value(m.Host())(t)
	rows := make([][]float64, m.Rows())
	for i := range rows {
		rows[i] = precision.Double(v[i*m.Cols() : (i+1)*m.Cols()])
	}
	return rows
}

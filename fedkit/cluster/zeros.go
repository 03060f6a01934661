package cluster

// zeros returns a table of zeros [rows][columns] in one allocation.
func zeros(rows, columns int) [][]float64 {
	t, all := make([][]float64, rows), make([]float64, rows*columns)
	for i := range t {
		t[i] = all[i*columns : (i+1)*columns : (i+1)*columns]
	}
	return t
}

package fleet

import (
	"fmt"
)

func size(n uint64) string {
	for _, u := range []struct {
		name string
		n    float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if float64(n) >= u.n {
			return fmt.Sprintf("%.1f %s", float64(n)/u.n, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

package text

import "fmt"

var byteUnits = []string{"B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}

// ByteUnit returns the unit in which a number of bytes has at most three digits before the point, and how many bytes that
// is: "MB" and 1e6.
func ByteUnit(n float64) (unit string, size float64) {
	u := 0
	for size = 1; n >= 999.5*size && u < len(byteUnits)-1; u++ {
		size *= 1000
	}
	return byteUnits[u], size
}

// Bytes writes a number of bytes with two or three digits: "812 B", "8.1 GB", "36 TB".
func Bytes(n float64) string {
	unit, size := ByteUnit(n)
	if n /= size; n >= 9.95 || size == 1 {
		return fmt.Sprintf("%.0f %s", n, unit)
	}
	return fmt.Sprintf("%.1f %s", n, unit)
}

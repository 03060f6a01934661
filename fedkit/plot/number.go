package plot

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

func finite(v float64) bool { return v-v == 0 }

// meanStd returns the mean and the sample standard deviation (divisor n−1; 0 for one value, for which stat has NaN).
func meanStd(v []float64) (mean, std float64) {
	if len(v) == 1 {
		return v[0], 0
	}
	return stat.MeanStdDev(v, nil)
}

// percent writes a share: "93.1 %".
func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// byteCount writes a number of bytes: "1.2 MB".
func byteCount(v float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if v < 999.5 {
			return threeDigits(v) + " " + unit
		}
		v /= 1000
	}
	return threeDigits(v) + " TB"
}

// duration writes seconds: "1.2 s", "3 min 20 s", "2 h 05 min".
func duration(s float64) string {
	switch n := int(s + 0.5); {
	case s < 99.95:
		return threeDigits(s) + " s"
	case n < 3600:
		return fmt.Sprintf("%d min %02d s", n/60, n%60)
	default:
		return fmt.Sprintf("%d h %02d min", n/3600, n%3600/60)
	}
}

// threeDigits writes 1.23, 12.3, 123, but 12 for a whole number.
func threeDigits(v float64) string {
	switch {
	case v == math.Trunc(v) || v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

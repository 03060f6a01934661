package chart

import "testing"

func TestUnits(t *testing.T) {
	for v, want := range map[float64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 1234567: "1.23 MB", 9.9996e8: "1.00 GB", 2e13: "20 TB", 4e15: "4000 TB"} {
		if got := Bytes(v); got != want {
			t.Errorf("%g bytes: %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0.25: "0.25 s", 12.34: "12.3 s", 99.96: "1 min 40 s", 3599.6: "1 h 00 min", 7500: "2 h 05 min", 2*86400 - 31: "47 h 59 min", 4*86400 + 3*3600 - 60: "4 d 03 h"} {
		if got := Seconds(v); got != want {
			t.Errorf("%g s: %q, want %q", v, got, want)
		}
	}
}

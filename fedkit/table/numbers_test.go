package table

import (
	"strings"
	"testing"
)

func TestUnits(t *testing.T) {
	for v, want := range map[float64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 1234567: "1.23 MB", 9.9996e8: "1.00 GB", 2e13: "20 TB", 4e15: "4 PB", -1234567: "−1.23 MB"} {
		if got := Bytes(v); got != want {
			t.Errorf("%g bytes: %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0.25: "0.25 s", 12.34: "12.3 s", 99.96: "1 min 40 s", 3599.6: "1 h 00 min", 7500: "2 h 05 min", 2*86400 - 31: "47 h 59 min", 4*86400 + 3*3600 - 60: "4 d 03 h", -0.25: "−0.25 s", -0.001: "0.00 s", -389: "−6 min 29 s"} {
		if got := Seconds(v); got != want {
			t.Errorf("%g s: %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{-0.0004: "0.0 %", -0.0006: "−0.1 %", -1e-9: "0.0 %", 0.1: "10.0 %"} {
		if got := Percent(v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
}

// Readers see a true minus, no negative zero and powers of ten.
func TestMinus(t *testing.T) {
	for text, want := range map[string]string{"-0.5": "−0.5", "-0.0": "0.0", "-0.0 %": "0.0 %", "-0": "0", "-Inf": "−Inf", "NaN": "NaN", "5": "5",
		"1e-06": "10⁻⁶", "-1e-06": "−10⁻⁶", "1.5e+20": "1.5×10²⁰", "-0e+00": "0×10⁰", "1.0e-09": "1.0×10⁻⁹", "-3 of a cohort": "−3 of a cohort"} {
		if got := Minus(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestNoBreak(t *testing.T) {
	for words, want := range map[string]string{
		"rounds to 90 % of FedAvg":   "rounds to 90~% of FedAvg",
		"60.0 ± 1.4 %":               "60.0~±~1.4~%",
		"band: ± 1 standard":         "band: ±~1 standard",
		"3 min 22 s ± 25.4 s, later": "3~min~22~s~±~25.4~s, later",
		"5 seeds, 12 methods":        "5 seeds, 12 methods",
		"1.2 MB of 3 hosts in 5 h":   "1.2~MB of 3 hosts in 5~h",
		"a % b":                      "a % b",
	} {
		if got := strings.ReplaceAll(NoBreak(words), "\u00a0", "~"); got != want {
			t.Errorf("%q becomes %q, want %q", words, got, want)
		}
	}
}

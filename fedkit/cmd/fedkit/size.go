package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// size is an option such as 500MB or 1.5GiB.
type size int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *size) UnmarshalText(text []byte) error {
	number := strings.TrimRight(string(text), "kKMGTiB")
	unit, known := map[string]float64{"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[string(text)[len(number):]]
	n, err := strconv.ParseFloat(number, 64)
	if n *= unit; err != nil || !known || !(n >= 1 && n < math.MaxInt64) {
		return errors.New("must be a size, such as 500MB or 4GiB")
	}
	*s = size(n)
	return nil
}

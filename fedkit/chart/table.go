package chart

import "fedkit.example/fedkit/table"

// Tables and the units of numbers are in package table, which links nothing that draws.
type (
	Table = table.Table // lines of cells
	At    = table.At    // a place in them
)

// Percent writes a share: "93.1 %".
func Percent(v float64) string { return table.Percent(v) }

// Bytes writes a number of bytes: "1.23 MB".
func Bytes(v float64) string { return table.Bytes(v) }

// Seconds writes a duration: "1.23 s", "3 min 20 s", "2 h 05 min", "4 d 03 h".
func Seconds(s float64) string { return table.Seconds(s) }

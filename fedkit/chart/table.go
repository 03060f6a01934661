package chart

import "fedkit.example/fedkit/table"

// Tables are in package table, which links nothing that draws.
type (
	Table = table.Table // lines of cells
	At    = table.At    // a place in them
)

// Numbers with units, as tables have them.
var (
	Percent = table.Percent // a share: "93.1 %"
	Bytes   = table.Bytes   // "1.23 MB"
	Seconds = table.Seconds // a duration: "1.23 s", "3 min 20 s", "2 h 05 min", "4 d 03 h"
)

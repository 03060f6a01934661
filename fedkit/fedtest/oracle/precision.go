package oracle

import "fedkit.example/fedkit/internal/precision"

// Double returns values as float64.
func Double(v []float32) []float64 { return precision.Double(v) }

// Single returns values rounded to float32.
func Single(v []float64) []float32 { return precision.Single(v) }

package fleet

import "fedkit.example/fedkit/internal/text"

func size(n uint64) string { return text.Bytes(float64(n)) }

package partition

import (
	"fmt"
	"strings"
)

// several returns "1 class" or "2 classes".
func several(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "s"):
		what += "es"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// count returns "1 client" or "20 clients".
func count(clients int) string { return several(clients, "client") }

// listed writes "0, 0.5".
func listed[T any](values []T) string {
	text := make([]string, len(values))
	for i, v := range values {
		text[i] = fmt.Sprint(v)
	}
	return strings.Join(text, ", ")
}

// seeded returns ", seed 7", or nothing for seed 0.
func seeded(seed uint64) string {
	if seed == 0 {
		return ""
	}
	return fmt.Sprintf(", seed %d", seed)
}

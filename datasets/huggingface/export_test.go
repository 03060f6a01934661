package huggingface

import (
	"testing"
	"time"
)

// StallAfter sets how long a hub may send nothing during a test.
func StallAfter(t testing.TB, d time.Duration) {
	was := stalled
	stalled = d
	t.Cleanup(func() { stalled = was })
}

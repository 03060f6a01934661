// Package bounds tests that readers take no more memory and time than the size of what they read allows.
package bounds

import (
	"runtime"
	"testing"
	"time"
)

// Check fails the test if do, which reads that many bytes, allocates more than 64 MiB and 1000 times as many, or takes more
// than 5 seconds, a thousand times what it takes of the files that fuzzing makes.
func Check(t testing.TB, size int, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	do()
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	if all := after.TotalAlloc - before.TotalAlloc; all > 64<<20+1000*uint64(size) {
		t.Errorf("%d bytes are allocated to read %d", all, size)
	}
	if took > 5*time.Second {
		t.Errorf("%v to read %d bytes", took, size)
	}
}

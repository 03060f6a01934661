// Package bounds tests that readers take no more memory and time than the size of what they read allows.
package bounds

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Check fails the test if do, which reads that many bytes, allocates more than 64 MiB and 1000 times as many, or takes the
// processor for more than 10 seconds, a thousand times what it takes for the files that fuzzing makes.
func Check(t testing.TB, size int, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := used()
	do()
	took := used() - begin
	runtime.ReadMemStats(&after)
	if all := after.TotalAlloc - before.TotalAlloc; all > 64<<20+1000*uint64(size) {
		t.Errorf("%d bytes are allocated to read %d", all, size)
	}
	if took > 10*time.Second {
		t.Errorf("%v to read %d bytes", took, size)
	}
}

// used returns the processor time of the program, which does not depend on others, as that of the clock does.
func used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Package memory estimates how many bytes are free, and refuses what takes more.
package memory

/*
#define _GNU_SOURCE
#include <stdlib.h>
#ifdef __GLIBC__
#include <dlfcn.h>
#include <malloc.h>

// mallctl calls jemalloc's function of that name, where scripts/malloc has preloaded it, and says whether it did. It is asked for by name,
// since Go's own linker, which links cells, makes a weak symbol one that has to be there.
static int mallctl(const char *name, void *value, size_t size) {
	int (*f)(const char *name, void *old, size_t *old_len, void *new, size_t new_len) = dlsym(RTLD_DEFAULT, "mallctl");
	return f && !f(name, NULL, NULL, value, size);
}

// release returns memory that nobody uses to the system.
static void release(void) {
	if (!mallctl("arena.4096.purge", NULL, 0)) // of all arenas
		malloc_trim(0);
}

// keep lets jemalloc's first arena keep large blocks for as long as the others do. It is made before jemalloc has read that there is no
// oversize_threshold, and else returns what a program took to the system at once.
static void keep(void) {
	size_t most = (size_t)1 << 60;
	mallctl("arena.0.oversize_threshold", &most, sizeof most);
}
#else
static void release(void) {}
static void keep(void) {}
#endif
*/
import "C"

import (
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/internal/xla"
)

func init() { C.keep() }

// bytesPerPair is the memory of a Gram matrix per ordered pair of rows: a float32 on the device, another on the host, and half of
// the float64 that the pair shares in a symmetric matrix.
const bytesPerPair = 4 + 4 + 8/2

// FitsPairs refuses n rows if their Gram matrix takes more bytes than are free.
func FitsPairs(field string, n int) error {
	most := func(free float64) float64 { return math.Sqrt(free / bytesPerPair) }
	return fits(field, n, bytesPerPair*float64(n)*float64(n), 0, "the products of all pairs", most)
}

// Fits refuses an option's value if it takes more bytes than are free; the bytes are proportional to size.
func Fits(field string, value any, size, bytes float64, what string) error {
	return FitsBeside(field, value, size, bytes, 0, 0, what)
}

// FitsBeside is Fits beside a program that takes so many bytes for each of its lanes, of which a smaller size than theirs needs fewer.
func FitsBeside(field string, value any, size, bytes, lanes, perLane float64, what string) error {
	return fits(field, value, bytes, lanes*perLane, what, func(free float64) float64 {
		return max(size*(free-lanes*perLane)/bytes, min(lanes, free/(bytes/size+perLane)))
	})
}

// fits refuses a value that takes more bytes than are free, beside those of programs. most is the largest value that some bytes hold.
func fits(field string, value any, bytes, programs float64, what string, most func(free float64) float64) error {
	free, enough := room.Enough(bytes+programs, Available, Settle)
	if enough {
		return nil
	}
	beside := ""
	if programs > 0 {
		beside = fmt.Sprintf(" beside %s for programs", text.Bytes(programs))
	}
	return fault.Invalid(field, value, fmt.Sprintf("at most %.0f: %s take %s, and %s are free%s", math.Floor(most(free)), what, text.Bytes(bytes), text.Bytes(max(0, free-programs)), beside))
}

// Available returns how many bytes can still be allocated, roughly: see room.Free. A round asks many times. Tests replace it.
var Available = func() float64 {
	if !xla.OnCPU() {
		return room.Unknown // the device's memory, which go-xla does not report
	}
	return room.Free()
}

// Settle collects garbage and returns memory to the system. Finalizers, which free the device's memory, run concurrently.
func Settle() {
	for range 2 {
		debug.FreeOSMemory()
		time.Sleep(20 * time.Millisecond)
	}
	C.release()
}

// Package memory estimates how many bytes are free, and refuses what takes more.
package memory

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/internal/xla"
)

// bytesPerPair is the memory of a Gram matrix per ordered pair of rows: a float32 on the device, another on the host, and half of
// the float64 that the pair shares in a symmetric matrix.
const bytesPerPair = 4 + 4 + 8/2

// FitsPairs refuses n rows if their Gram matrix takes more bytes than are free.
func FitsPairs(field string, n int) error {
	most := func(free float64) float64 { return math.Sqrt(free / bytesPerPair) }
	return fits(field, n, bytesPerPair*float64(n)*float64(n), 0, "the products of each two", most)
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

// fits measures anew for what takes a good part of the memory, and after a garbage collection if too few bytes are free. most is
// the largest value that some bytes hold.
func fits(field string, value any, bytes, programs float64, what string, most func(free float64) float64) error {
	free := Available()
	if bytes+programs > free/8 {
		forget()
		free = Available()
	}
	if bytes+programs > free {
		Settle()
		free = Available()
	}
	if !(bytes+programs > free) {
		return nil
	}
	beside := ""
	if programs > 0 {
		beside = fmt.Sprintf(" beside %s for programs", text.Bytes(programs))
	}
	return fault.Invalid(field, value, fmt.Sprintf("at most %.0f: %s take %s, and %s are free%s", math.Floor(most(free)), what, text.Bytes(bytes), text.Bytes(max(0, free-programs)), beside))
}

// Available returns how many bytes can still be allocated, roughly: as it was in the last tenth of a second, since measuring takes
// up to a millisecond in a container, and a round asks many times. Tests replace it.
var Available = func() float64 {
	last.Lock()
	defer last.Unlock()
	if time.Since(last.at) > time.Second/10 {
		last.at, last.free = time.Now(), measure()
	}
	return last.free
}

// last is what was measured last, and when.
var last struct {
	sync.Mutex
	at   time.Time
	free float64
}

func forget() {
	last.Lock()
	defer last.Unlock()
	last.at = time.Time{}
}

func measure() float64 {
	if !xla.OnCPU() {
		return Unknown // the device's memory, which go-xla does not report
	}
	free := Unknown
	if kB, known := number("/proc/meminfo", "MemAvailable:"); known {
		free = 1024 * kB
	}
	return min(free, cgroupsLeave("/"))
}

// Unknown stands for a device's memory that is not reported: more than any one device has.
const Unknown = float64(1 << 40)

// cgroupFiles are the files for memory in one version of Linux's control groups.
type cgroupFiles struct{ root, limit, used, idle string }

var (
	cgroupV1 = cgroupFiles{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	cgroupV2 = cgroupFiles{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
)

// cgroupsLeave is how many bytes the process's control groups, such as a container's, still allow; +Inf without a limit. Their
// files are under root, which is "/" except in tests.
func cgroupsLeave(root string) float64 {
	left := math.Inf(1)
	for line := range strings.Lines(readFile(filepath.Join(root, "proc/self/cgroup"))) {
		_, group, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(group, ":")
		g := cgroupV2
		if slices.Contains(strings.Split(controllers, ","), "memory") {
			g = cgroupV1
		} else if controllers != "" {
			continue
		}
		for parent := ""; path != parent; parent, path = path, filepath.Dir(path) {
			left = min(left, g.left(filepath.Join(root, g.root, path)))
		}
	}
	return left
}

// left is what the limit of the group in a folder leaves. File pages that were not read lately do not count as used: Linux
// reclaims them when memory is short.
func (g cgroupFiles) left(folder string) float64 {
	limit, known := number(filepath.Join(folder, g.limit), "")
	if !known { // "max", or no such group
		return math.Inf(1)
	}
	used, _ := number(filepath.Join(folder, g.used), "")
	idle, _ := number(filepath.Join(folder, "memory.stat"), g.idle+" ")
	return max(0, limit-max(0, used-idle))
}

// number returns the number that follows a prefix in the first such line of a system file; false if there is none.
func number(path, prefix string) (v float64, known bool) {
	for line := range strings.Lines(readFile(path)) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return v, err == nil
		}
	}
	return 0, false
}

// readFile returns the content of a system file, "" if there is none.
func readFile(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// Settle collects garbage and returns memory to the system. Finalizers, which free the device's memory, run concurrently.
func Settle() {
	for range 2 {
		debug.FreeOSMemory()
		time.Sleep(20 * time.Millisecond)
	}
	xla.EmptyBlocks()
	forget()
}

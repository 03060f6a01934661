// Package memory says how many bytes are free, and refuses what takes more.
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
	"time"

	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/internal/xla"
)

// bytesPerPair is what the product of two rows takes, by ordered pair: a float32 on the device, another one on the host, and half of the
// float64 that the two of them have in a symmetric matrix.
const bytesPerPair = 4 + 4 + 8/2

// FitsPairs refuses n rows if the products of each two take more bytes than there are.
func FitsPairs(field string, n int) error {
	bytes := bytesPerPair * float64(n) * float64(n)
	free := room(bytes)
	if !(bytes > free) {
		return nil
	}
	return fault.Invalid(field, n, fmt.Sprintf("at most %.0f: the products of each two take %s, and %s are free", math.Floor(math.Sqrt(free/bytesPerPair)), text.Bytes(bytes), text.Bytes(free)))
}

// room returns how many bytes are free. If they are too few, it looks again after what is no longer used was given back.
func room(bytes float64) (free float64) {
	if free = Available(); bytes > free {
		Settle()
		free = Available()
	}
	return free
}

// Fits refuses an option if what it stands for takes more bytes than there are; they are proportional to size.
func Fits(field string, value any, size, bytes float64, what string) error {
	free := room(bytes)
	if !(bytes > free) {
		return nil
	}
	return fault.Invalid(field, value, fmt.Sprintf("at most %.0f: %s take %s, and %s are free", math.Floor(size*free/bytes), what, text.Bytes(bytes), text.Bytes(free)))
}

// Available returns how many bytes can still be allocated, roughly. Tests replace it.
var Available = func() float64 {
	if !xla.OnCPU() {
		return Unknown // the device's own, which go-xla cannot tell
	}
	free := Unknown
	for line := range strings.Lines(readFile("/proc/meminfo")) {
		if value, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kB, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			free = 1024 * kB
		}
	}
	return min(free, groupsLeave("/"))
}

// Unknown stands for the memory of a device that does not tell: more than any one device has.
const Unknown = float64(1 << 40)

// controlGroups are the names that a version of Linux's control groups has for a group's memory.
type controlGroups struct{ root, limit, used, idle string }

var (
	groupsOne = controlGroups{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	groupsTwo = controlGroups{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
)

// groupsLeave is how many bytes the process's control groups, such as a container's, still allow it; +Inf without a limit. The files
// are under a root, which is "/" except in tests.
func groupsLeave(root string) float64 {
	left := math.Inf(1)
	for line := range strings.Lines(readFile(filepath.Join(root, "proc/self/cgroup"))) {
		_, group, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(group, ":")
		g := groupsTwo
		if slices.Contains(strings.Split(controllers, ","), "memory") {
			g = groupsOne
		} else if controllers != "" {
			continue
		}
		for parent := ""; path != parent; parent, path = path, filepath.Dir(path) {
			left = min(left, g.left(filepath.Join(root, g.root, path)))
		}
	}
	return left
}

// left is what the limit of the group in a folder leaves. Pages of files that were not read lately are not counted as used: Linux
// takes them back when memory is short.
func (g controlGroups) left(folder string) float64 {
	limit, err := strconv.ParseFloat(strings.TrimSpace(readFile(filepath.Join(folder, g.limit))), 64)
	if err != nil { // "max", or no such group
		return math.Inf(1)
	}
	used, _ := strconv.ParseFloat(strings.TrimSpace(readFile(filepath.Join(folder, g.used))), 64)
	for line := range strings.Lines(readFile(filepath.Join(folder, "memory.stat"))) {
		if value, ok := strings.CutPrefix(line, g.idle+" "); ok {
			idle, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
			used -= idle
		}
	}
	return max(0, limit-max(0, used))
}

// readFile returns what a file of the system says, "" if there is none.
func readFile(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// Settle gives the memory of what is no longer used back. Finalizers, which free the device's, run beside the program.
func Settle() {
	for range 2 {
		debug.FreeOSMemory()
		time.Sleep(20 * time.Millisecond)
	}
}

// Package room says how many bytes of the machine's memory are free, and refuses what takes more before it is allocated.
package room

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Unknown stands for memory that is not reported: more than any one machine has.
const Unknown = float64(1 << 40)

// Free returns how many bytes can still be allocated, roughly: as it was in the last tenth of a second, since measuring takes
// up to a millisecond in a container. Tests replace it.
var Free = func() float64 {
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

// Forget makes Free measure again.
func Forget() {
	last.Lock()
	defer last.Unlock()
	last.at = time.Time{}
}

// Enough returns how many bytes are free, and whether as many are as given. It measures again for what takes a good part of the
// memory, and after settle if too few bytes are free.
func Enough(bytes float64, measure func() float64, settle func()) (free float64, enough bool) {
	if free = measure(); bytes > free/8 {
		Forget()
		free = measure()
	}
	if bytes > free {
		settle()
		Forget()
		free = measure()
	}
	return free, !(bytes > free)
}

// For refuses an allocation of more bytes than are free.
func For(bytes float64) error {
	if free, enough := Enough(bytes, Free, debug.FreeOSMemory); !enough {
		return fmt.Errorf("takes %s of memory: must be at most the %s that are free", size(bytes), size(free))
	}
	return nil
}

func size(bytes float64) string {
	if bytes < 1e9 {
		return fmt.Sprintf("%.0f MB", bytes/1e6)
	}
	return fmt.Sprintf("%.1f GB", bytes/1e9)
}

// Growing counts the bytes in lists that grow by a quarter, for which they are copied, while a file is read.
type Growing struct{ bytes, checked float64 }

// Add counts more bytes, and refuses to go on if too few are free for the lists to grow.
func (g *Growing) Add(bytes int) error {
	if g.bytes += float64(bytes); g.bytes <= g.checked {
		return nil
	}
	g.checked = 1.25*g.bytes + 1<<20
	return For(1.25 * g.checked)
}

// ReadFile returns the content of a regular file. It refuses one that does not fit into memory the given number of times.
func ReadFile(path string, times float64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if err := For(times * float64(info.Size())); err != nil {
		return nil, fmt.Errorf("%s has %d bytes and %w", path, info.Size(), err)
	}
	b := make([]byte, info.Size())
	_, err = io.ReadFull(f, b)
	return b, err
}

func measure() float64 {
	free := Unknown
	if kB, known := number("/proc/meminfo", "MemAvailable:"); known {
		free = 1024 * kB
	}
	return min(free, cgroupsLeave("/"))
}

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

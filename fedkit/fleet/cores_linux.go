package fleet

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"fedkit.example/fedkit"
	"golang.org/x/sys/unix"
)

// coresVariable marks a process whose processors have been chosen.
const coresVariable = "FEDKIT_CORES"

// UseCores pins the whole process to some processors: "2", the first two of those that it may run on, or "4-7,9", by their index
// among them. The plugin starts as many threads as the process has processors when it is opened, so the program executes itself
// again, with the same arguments: call it first.
func UseCores(which string) error {
	if os.Getenv(coresVariable) == which {
		return nil
	}
	var may, want unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return fmt.Errorf("fleet: cores: %w", err)
	}
	var all []int
	for cpu := range len(may) * 64 {
		if may.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	places, err := places(which)
	if err != nil {
		return err
	}
	for _, at := range places {
		if at >= len(all) {
			return fedkit.Invalid("cores", which, fmt.Sprintf("among the %d processors that the process may run on, 0 to %d", len(all), len(all)-1))
		}
		want.Set(all[at])
	}
	runtime.LockOSThread() // the program that replaces this one inherits the thread's processors
	if err := unix.SchedSetaffinity(0, &want); err != nil {
		return fmt.Errorf("fleet: cores %q: %w", which, err)
	}
	err = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), coresVariable+"="+which))
	return fmt.Errorf("fleet: cores %q: %w", which, err)
}

// places parses "2" or "4-7,9".
func places(which string) (list []int, err error) {
	if n, err := strconv.Atoi(which); err == nil && n > 0 {
		for i := range n {
			list = append(list, i)
		}
		return list, nil
	}
	for some := range strings.SplitSeq(which, ",") {
		first, last, isRange := strings.Cut(some, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 0 || to < from || to > 1<<16 {
			return nil, fedkit.Invalid("cores", which, "how many, such as 2, or which, such as 4-7,9")
		}
		for i := from; i <= to; i++ {
			list = append(list, i)
		}
	}
	return list, nil
}

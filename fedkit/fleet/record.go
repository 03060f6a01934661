package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"fedkit.example/fedkit/internal/file"
)

// Local records the processes that it starts, each in a file PID.process beside the fleet's. The file holds a unique token, which
// is also an argument of the process: both together identify it, since PIDs are reused.
const recordExtension = ".process"

// remember records a process, and removes the records of those that have ended.
func remember(dir string, pid int, token string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*"+recordExtension))
	if err != nil {
		return err
	}
	for _, file := range old {
		if p, err := recorded(file); p == nil && err == nil {
			_ = os.Remove(file) // or next time
		}
	}
	return file.WriteSecret(filepath.Join(dir, strconv.Itoa(pid)+recordExtension), []byte(token))
}

// recorded returns the process of a record; nil if it has ended.
func recorded(file string) (*os.Process, error) {
	pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(file), recordExtension))
	if err != nil || pid <= 1 {
		return nil, nil // not a record
	}
	token, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) { // another process has removed it
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := os.FindProcess(pid) // first, so that p stays this process even if its PID is reused while arguments are compared
	if err != nil || len(token) == 0 || !slices.Contains(arguments(pid), string(token)) {
		return nil, nil // no such process
	}
	return p, nil
}

// arguments returns the command line of a process; empty if there is no such process.
func arguments(pid int) []string {
	if runtime.GOOS == "linux" {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return strings.Split(string(b), "\x00")
	}
	b, _ := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return strings.Fields(string(b))
}

// end asks the process of a record to end, if it has not.
func end(file string) error {
	p, err := recorded(file)
	if p != nil {
		err = p.Signal(syscall.SIGTERM)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("fleet: stop: %s: %w", file, err)
	}
	return nil
}

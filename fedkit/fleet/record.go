package fleet

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Local records the PID of each process that it starts, in a file beside the fleet's. The process inherits a lock on the file, which
// ends with it, so that it is not mistaken for another one whose PID is the same.
const recordExtension = ".process"

// newRecord returns the record of a process that is to be started, and removes those of processes that have ended.
func newRecord(dir, name string) (*os.File, error) {
	old, err := filepath.Glob(filepath.Join(dir, "*"+recordExtension))
	if err != nil {
		return nil, err
	}
	for _, file := range old {
		if recorded(file) == nil {
			_ = os.Remove(file) // or next time
		}
	}
	f, err := os.CreateTemp(dir, name+"-*"+recordExtension)
	if err != nil {
		return nil, err
	}
	return f, syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

// recorded returns the process of a record; nil if it has ended.
func recorded(file string) *os.Process {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, _ := io.ReadAll(f)
	pid, err := strconv.Atoi(string(b))
	if err != nil || pid <= 1 {
		return nil
	}
	p, err := os.FindProcess(pid) // first, so that p stays this process even if its PID is reused after the lock was tried
	if err != nil || syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return nil
	}
	return p
}

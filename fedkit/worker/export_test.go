package worker

import (
	"bytes"
	"time"
)

// KeepAll makes workers keep all results, so that small models take the path of large ones.
func KeepAll() { small = 0 }

// Restartable says whether this program calls Main.
func Restartable(is bool) { restartable = is }

// Silence is how long a worker that had a call may send nothing, until the function that it returns is called.
func Silence(d time.Duration) (mend func()) {
	before := silence
	silence = d
	return func() { silence = before }
}

// Received reads a message, as an answer that has a number.
func Received(b []byte) (size uint64, failed bool, err error) {
	f, size, err := receive(bytes.NewReader(b))
	if err == nil {
		err = f.check(size, 4)
	}
	return size, f != nil && f.Error != "", err
}

package study

import (
	"bytes"
	"os"
	"time"
)

// Race lets the clock by which locks are stale run a thousand times as fast, until the function is called.
func Race() func() {
	begin := time.Now()
	now = func() time.Time { return begin.Add(1000 * time.Since(begin)) }
	return func() { now = time.Now }
}

// Renew renews locks at this interval.
func Renew(every time.Duration) { renewal = every }

// Hurry shortens the pauses between looks at other processes, not the time after which a lock is stale.
func Hurry() { poll, glance = 20*time.Millisecond, 20*time.Millisecond }

// SealExtract adds the last line to the others of an extract.
func SealExtract(lines []byte) []byte {
	return append(lines[:len(lines):len(lines)], lastLine(lines)...)
}

// AlterEntry replaces a text in an entry, and seals the entry again.
func AlterEntry(path, old, by string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	entry, err := unseal(b)
	if err != nil {
		return err
	}
	return os.WriteFile(path, seal(bytes.Replace(entry, []byte(old), []byte(by), 1)), 0o600)
}

// AddFrom is add.
var AddFrom = (*Study).add

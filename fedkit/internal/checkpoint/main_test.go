package checkpoint

import (
	"syscall"
	"testing"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

package fleet

import (
	"slices"
	"sync"
	"time"
)

// times records how long programs take, to detect stragglers.
type times struct {
	mu      sync.Mutex
	seconds map[string][]float64 // by program, the latest
}

func (t *times) add(program string, seconds float64) {
	const most = 16
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seconds == nil {
		t.seconds = map[string][]float64{}
	}
	list := append(t.seconds[program], seconds)
	t.seconds[program] = list[max(0, len(list)-most):]
}

// compiling is the limit for the first call of a program, which includes compilation. Tests change it.
var compiling = 2 * time.Minute

// slow returns how long a call of a program may take until a second worker is asked too: four times the median, plus a second.
func (t *times) slow(program string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.Sorted(slices.Values(t.seconds[program]))
	if len(list) == 0 {
		return compiling
	}
	return time.Second + time.Duration(4*list[len(list)/2]*float64(time.Second))
}
